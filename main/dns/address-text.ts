/**
 * Text form of a client's address, as the log shows it: dotted for IPv4, RFC 5952 for IPv6.
 *
 * Addresses are 16 bytes; IPv4 comes as ::ffff:a.b.c.d (engine/query/ports.ts). Called by the log writer.
 */

/**
 * Reads 16 bytes into text, without port or brackets.
 *
 * @param bytes  may be shared memory
 * @param start  where the address begins
 */
export function addressText(bytes: Uint8Array, start: number): string {
  if (isMappedIpv4(bytes, start)) {
    const at = start + 12;
    return `${bytes[at]}.${bytes[at + 1]}.${bytes[at + 2]}.${bytes[at + 3]}`;
  }
  return ipv6Text(bytes, start);
}

function isMappedIpv4(bytes: Uint8Array, start: number): boolean {
  for (let index = 0; index < 10; index++) if (bytes[start + index] !== 0) return false;
  return bytes[start + 10] === 0xff && bytes[start + 11] === 0xff;
}

/** Lower case, the first longest run of two or more zero groups as "::". RFC 5952 §4. */
function ipv6Text(bytes: Uint8Array, start: number): string {
  const groups: number[] = [];
  for (let at = start; at < start + 16; at += 2) {
    groups.push(((bytes[at] as number) << 8) | (bytes[at + 1] as number));
  }
  const run = longestZeroRun(groups);
  const hex = (from: number, to: number): string =>
    groups
      .slice(from, to)
      .map((group) => group.toString(16))
      .join(':');
  if (run.length < 2) return hex(0, 8);
  return `${hex(0, run.start)}::${hex(run.start + run.length, 8)}`;
}

function longestZeroRun(groups: readonly number[]): { start: number; length: number } {
  const best = { start: 0, length: 0 };
  let length = 0;
  for (let index = 0; index < groups.length; index++) {
    length = groups[index] === 0 ? length + 1 : 0;
    if (length > best.length) {
      best.length = length;
      best.start = index - length + 1;
    }
  }
  return best;
}
