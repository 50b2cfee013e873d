/**
 * Which addresses have no business in the answer for a public name: with them a page from outside
 * would speak to devices inside (DNS rebinding). Used by answer-inspector.ts.
 */

/** Whether bytes[at, at + 4) is such an IPv4 address. RFC 6890 §2.2.2. */
export function isPrivateV4(bytes: Uint8Array, at: number, withSharedSpace: boolean): boolean {
  const first = bytes[at] as number;
  const second = bytes[at + 1] as number;
  switch (first) {
    case 0: // this network, unspecified
    case 10:
    case 127:
      return true;
    case 100: // RFC 6598, carrier-grade NAT
      return withSharedSpace && second >= 64 && second < 128;
    case 169:
      return second === 254;
    case 172:
      return second >= 16 && second < 32;
    case 192:
      return second === 168;
    case 255:
      return isAll(bytes, at, 4, 255);
    default:
      return false;
  }
}

/** Whether bytes[at, at + 16) is such an IPv6 address. RFC 6890 §2.2.3. */
export function isPrivateV6(bytes: Uint8Array, at: number, withSharedSpace: boolean): boolean {
  const first = bytes[at] as number;
  const second = bytes[at + 1] as number;
  if (first >= 0xfc) {
    if (first <= 0xfd) return true; // fc00::/7, RFC 4193
    return first === 0xfe && second >= 0x80; // fe80::/10 link-local, fec0::/10 site-local
  }
  if (first !== 0) return false;
  if (isAll(bytes, at, 10, 0)) {
    const isMapped = bytes[at + 10] === 0xff && bytes[at + 11] === 0xff;
    const isCompatible = bytes[at + 10] === 0 && bytes[at + 11] === 0;
    // ::, ::1 and the IPv4-compatible ::a.b.c.d look like 0.0.0.x.
    if (isMapped || isCompatible) return isPrivateV4(bytes, at + 12, withSharedSpace);
    return false;
  }
  // 64:ff9b::/96, an IPv4 address behind NAT64. RFC 6052 §2.1.
  const isTranslated =
    second === 0x64 &&
    bytes[at + 2] === 0xff &&
    bytes[at + 3] === 0x9b &&
    isAll(bytes, at + 4, 8, 0);
  return isTranslated && isPrivateV4(bytes, at + 12, withSharedSpace);
}

function isAll(bytes: Uint8Array, at: number, length: number, value: number): boolean {
  for (let index = 0; index < length; index++) if (bytes[at + index] !== value) return false;
  return true;
}
