/** Reads networks as settings write them: 192.168.0.0/16, fd00::/8, 10.0.0.1. */
import { isIP } from 'node:net';
import type { Network } from '../../engine/filter/engine-config.ts';
import { parseAddress } from '../../net/listen/client-address.ts';

/** Bits of an IPv4 address in its 16-byte form that come before it. RFC 4291 §2.5.5.2. */
const V4_OFFSET_BITS = 96;

/** The network; undefined when the text is none. Bits behind the prefix may be set. */
export function parseNetwork(text: string): Network | undefined {
  const [address = '', prefix] = text.split('/');
  const family = isIP(address);
  if (family === 0 || address.includes('%')) return undefined;
  const most = family === 4 ? 32 : 128;
  const length = prefix === undefined ? most : Number(prefix);
  if (!Number.isInteger(length) || length > most) return undefined;
  const bytes = new Uint8Array(16);
  parseAddress(address, bytes);
  return { bytes, bits: family === 4 ? V4_OFFSET_BITS + length : length };
}

/** Those of the texts that are networks; the settings check has told of the others. */
export function parseNetworks(texts: readonly string[]): Network[] {
  return texts.map(parseNetwork).filter((network) => network !== undefined);
}

/** Whether all of one network lies in another. */
export function isInside(inner: Network, outer: Network): boolean {
  if (inner.bits < outer.bits) return false;
  const whole = outer.bits >> 3;
  for (let at = 0; at < whole; at++) if (inner.bytes[at] !== outer.bytes[at]) return false;
  const rest = outer.bits & 7;
  if (rest === 0) return true;
  const mask = (0xff00 >> rest) & 0xff;
  return ((inner.bytes[whole] as number) & mask) === ((outer.bytes[whole] as number) & mask);
}
