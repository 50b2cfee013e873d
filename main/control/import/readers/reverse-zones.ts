/**
 * The reverse zones of a network: the names under in-addr.arpa and ip6.arpa below which the names of
 * its addresses are. RFC 1035 §3.5, RFC 3596 §2.5. Zones end at whole octets and nibbles, so that a
 * network between two of them has several.
 */
import { isIP } from 'node:net';
import { parseNetwork } from '../../policy/networks.ts';

/** Bits of one label of a reverse name. */
const OCTET_BITS = 8;
const NIBBLE_BITS = 4;
/** Where the IPv4 address begins in the 16 bytes that `parseNetwork` gives. */
const IPV4_AT = 12;

/**
 * @param network  "192.168.4.0/22", "fd00::/8", or one address
 * @returns        "4.168.192.in-addr.arpa" to "7.168.192.in-addr.arpa"; none for what is no network
 */
export function reverseZones(network: string): string[] {
  const [address = '', prefixText] = network.trim().split('/');
  const family = isIP(address);
  const parsed = parseNetwork(network.trim());
  if (family === 0 || parsed === undefined || prefixText === '') return [];
  const prefix = family === 4 ? parsed.bits - IPV4_AT * 8 : parsed.bits;
  if (prefix === 0) return [];
  const labels = family === 4 ? octets(parsed.bytes) : nibbles(parsed.bytes);
  return zonesOf(labels, prefix, family === 4 ? OCTET_BITS : NIBBLE_BITS);
}

function octets(bytes: Uint8Array): number[] {
  return [...bytes.subarray(IPV4_AT)];
}

function nibbles(bytes: Uint8Array): number[] {
  return [...bytes].flatMap((byte) => [byte >> NIBBLE_BITS, byte & 0xf]);
}

function zonesOf(labels: readonly number[], prefix: number, labelBits: number): string[] {
  const isIpv4 = labelBits === OCTET_BITS;
  const depth = Math.ceil(prefix / labelBits);
  const count = 2 ** (depth * labelBits - prefix);
  const fixed = labels.slice(0, depth - 1);
  const last = labels[depth - 1] as number;
  const first = last - (last % count);
  return Array.from({ length: count }, (_, index) => {
    const path = [...fixed, first + index].map((label) => label.toString(isIpv4 ? 10 : 16));
    return `${path.reverse().join('.')}.${isIpv4 ? 'in-addr' : 'ip6'}.arpa`;
  });
}

/** Networks of homes and links, whose reverse names the public DNS does not know. RFC 6303 §4. */
export const PRIVATE_NETWORKS = [
  ...['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16'],
  ...['fc00::/7', 'fe80::/10'],
];
