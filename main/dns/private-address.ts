/**
 * Which addresses have no business in the answer for a public name: with them a page from outside
 * would speak to devices inside (DNS rebinding). Used by answer-inspector.ts.
 */

/** Whether bytes[at, at + 4) is such an IPv4 address. RFC 6890 §2.2.2. */
export function isPrivateV4(bytes: Uint8Array, at: number, withSharedSpace: boolean): boolean {
  const first = bytes[at] as number;
  const second = bytes[at + 1] as number;
  // 0: this network and the unspecified address.
  if (first === 0 || first === 10 || first === 127) return true;
  if (first === 172) return second >>> 4 === 1; // 172.16.0.0/12
  if (first === 192) return second === 168;
  if (first === 169) return second === 254;
  // 100.64.0.0/10, RFC 6598, carrier-grade NAT.
  if (first === 100) return withSharedSpace && second >>> 6 === 1;
  return isAll(bytes, at, 4, 255);
}

/** Whether bytes[at, at + 16) is such an IPv6 address. RFC 6890 §2.2.3. */
export function isPrivateV6(bytes: Uint8Array, at: number, withSharedSpace: boolean): boolean {
  const first = bytes[at] as number;
  if (first === 0) return holdsV4(bytes, at) && isPrivateV4(bytes, at + 12, withSharedSpace);
  if (first >>> 1 === 0xfc >>> 1) return true; // fc00::/7, RFC 4193
  // fe80::/10 link-local, fec0::/10 site-local.
  return first === 0xfe && (bytes[at + 1] as number) >= 0x80;
}

/**
 * Whether an IPv4 address is in the last four bytes: mapped (::ffff:0:0/96), compatible (::/96, which
 * :: and ::1 are of, as 0.0.0.x), or behind NAT64 (64:ff9b::/96, RFC 6052 §2.1).
 */
function holdsV4(bytes: Uint8Array, at: number): boolean {
  if (isAll(bytes, at, 10, 0)) {
    return isAll(bytes, at + 10, 2, 0xff) || isAll(bytes, at + 10, 2, 0);
  }
  const isPrefix = bytes[at + 1] === 0x64 && bytes[at + 2] === 0xff && bytes[at + 3] === 0x9b;
  return isPrefix && isAll(bytes, at + 4, 8, 0);
}

function isAll(bytes: Uint8Array, at: number, length: number, value: number): boolean {
  for (let index = 0; index < length; index++) if (bytes[at + index] !== value) return false;
  return true;
}
