/**
 * Reads what clients are known by: an address, a network or a MAC address; and what a policy may
 * name beside clients and groups. Used by the settings check and by client-regions.ts; pure.
 */
import type { Network } from '../../engine/filter/engine-config.ts';
import { parseNetwork } from './networks.ts';

export type ClientId =
  | { readonly kind: 'network'; readonly network: Network }
  /** Twelve lower-case hexadecimal digits. */
  | { readonly kind: 'mac'; readonly mac: string };

/** Six bytes in hexadecimal, all separated by ":" or all by "-". */
const MAC = /^[0-9a-f]{2}([:-])[0-9a-f]{2}(\1[0-9a-f]{2}){4}$/i;

/** What an id says; undefined when it is none. */
export function parseClientId(text: string): ClientId | undefined {
  const mac = parseMac(text);
  if (mac !== undefined) return { kind: 'mac', mac };
  const network = parseNetwork(text);
  return network && { kind: 'network', network };
}

/** A MAC address as twelve lower-case digits; undefined when the text is none. */
export function parseMac(text: string): string | undefined {
  return MAC.test(text) ? text.replace(/[:-]/g, '').toLowerCase() : undefined;
}

/** One text for one id, however it was written. */
export function clientIdKey(id: ClientId): string {
  return id.kind === 'mac' ? id.mac : networkKey(id.network);
}

/** One text for one network: bits behind the prefix do not count. */
export function networkKey({ bytes, bits }: Network): string {
  return `${Buffer.from(maskedBytes(bytes, bits)).toString('hex')}/${String(bits)}`;
}

/** A copy with the bits behind the prefix cleared. */
export function maskedBytes(bytes: Uint8Array, bits: number): Uint8Array {
  const masked = bytes.slice();
  for (let index = 0; index < masked.length; index++) {
    const left = Math.max(0, Math.min(8, bits - index * 8));
    masked[index] = (masked[index] as number) & (0xff00 >>> left);
  }
  return masked;
}
