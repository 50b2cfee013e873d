/**
 * Numbers of the DNS wire format, and the few operations on bytes that all of the engine shares.
 *
 * Everything here works on plain offsets, allocates nothing and checks only what its docstring
 * says. Used by the engine in a data-plane thread, and by net for its own messages.
 */

/** Fixed part of a message. RFC 1035 §4.1.1. */
export const HEADER_BYTES = 12;
/** Type, class, TTL and RDLENGTH of a record. RFC 1035 §4.1.3. */
export const RECORD_FIXED_BYTES = 10;
/** An OPT record without options: root, type, size, TTL, RDLENGTH. RFC 6891 §6.1.2. */
export const OPT_BYTES = 11;
/** Longest question: a name, type and class. */
export const QUESTION_BYTES_MAX = 255 + 4;

/** Record types with a meaning for us. IANA "Resource Record (RR) TYPEs". */
export const TYPE = {
  a: 1,
  ns: 2,
  cname: 5,
  soa: 6,
  hinfo: 13,
  txt: 16,
  aaaa: 28,
  dname: 39,
  opt: 41,
  ds: 43,
  rrsig: 46,
  nsec: 47,
  nsec3: 50,
  svcb: 64,
  https: 65,
  tkey: 249,
  tsig: 250,
  ixfr: 251,
  axfr: 252,
  mailb: 253,
  maila: 254,
  any: 255,
} as const;

/** Classes. RFC 1035 §3.2.4, RFC 2136 §1.3. */
export const CLASS = { internet: 1, chaos: 3, hesiod: 4, none: 254, any: 255 } as const;

/** Response codes; those above 15 need an OPT record. RFC 6895 §2.3. */
export const RCODE = {
  noError: 0,
  formErr: 1,
  servFail: 2,
  nxDomain: 3,
  notImp: 4,
  refused: 5,
  badVers: 16,
} as const;

/** Keys of SVCB parameters. RFC 9460 §14.3.2. */
export const SVCB_KEY = { mandatory: 0, ipv4hint: 4, ipv6hint: 6 } as const;

/** Extended error codes that we send. RFC 8914 §4. */
export const EDE = {
  none: -1,
  other: 0,
  staleAnswer: 3,
  forgedAnswer: 4,
  cachedError: 13,
  blocked: 15,
  prohibited: 18,
  staleNxDomain: 19,
  noReachableAuthority: 22,
  networkError: 23,
} as const;

/** EDNS option codes. RFC 7828 §3.1, RFC 8914 §2. */
export const OPTION_KEEPALIVE = 11;
export const OPTION_EDE = 15;

/** Bits of the third and fourth header byte. RFC 1035 §4.1.1, RFC 4035 §3.1.6, §3.2.2. */
export const FLAG = {
  response: 0x80,
  opcode: 0x78,
  authoritative: 0x04,
  truncated: 0x02,
  recursionDesired: 0x01,
  recursionAvailable: 0x80,
  authenticated: 0x20,
  checkingDisabled: 0x10,
} as const;

/** Two bytes, big-endian. Bounds are the caller's. */
export function readUint16(bytes: Uint8Array, at: number): number {
  return ((bytes[at] as number) << 8) | (bytes[at + 1] as number);
}

/** Four bytes, big-endian, unsigned. Bounds are the caller's. */
export function readUint32(bytes: Uint8Array, at: number): number {
  return ((readUint16(bytes, at) << 16) | readUint16(bytes, at + 2)) >>> 0;
}

/** Writes the low 16 bits, big-endian. */
export function writeUint16(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 8;
  bytes[at + 1] = value;
}

/** Writes the low 32 bits, big-endian. */
export function writeUint32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 24;
  bytes[at + 1] = value >>> 16;
  bytes[at + 2] = value >>> 8;
  bytes[at + 3] = value;
}

/**
 * Copies bytes one by one: `set(subarray())` would allocate a view, which the paths of blocked and
 * cached answers may not (bench/micro/engine.bench.ts). The ranges must not overlap.
 */
export function copyBytes(
  from: Uint8Array,
  fromStart: number,
  to: Uint8Array,
  toStart: number,
  length: number,
): void {
  for (let index = 0; index < length; index++) {
    to[toStart + index] = from[fromStart + index] as number;
  }
}

/**
 * Steps over a name without following pointers.
 *
 * @returns  the offset behind it, or -1 when it does not end before `end` or has a label type
 *           other than length and pointer
 */
export function skipName(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end) {
    const size = bytes[at] as number;
    if (size === 0) return at + 1;
    if (size >= 0xc0) return at + 2 <= end ? at + 2 : -1;
    if (size > 63) return -1;
    at += size + 1;
  }
  return -1;
}

/**
 * Steps over type, class, TTL and RDATA of a record.
 *
 * @param fixed  offset behind the owner name; -1, as from `skipName`, is passed on
 * @returns      the offset behind the record, or -1 when it does not end before `end`
 */
export function recordEnd(bytes: Uint8Array, fixed: number, end: number): number {
  if (fixed < 0 || fixed + RECORD_FIXED_BYTES > end) return -1;
  const next = fixed + RECORD_FIXED_BYTES + readUint16(bytes, fixed + 8);
  return next <= end ? next : -1;
}

/**
 * Checks the options of an OPT record: codes and lengths fill bytes[start, end) exactly.
 * RFC 6891 §6.1.2.
 */
export function optionsAreWhole(bytes: Uint8Array, start: number, end: number): boolean {
  let at = start;
  while (at + 4 <= end) at += 4 + readUint16(bytes, at + 2);
  return at === end;
}

/** Offset behind the question of a query made by the engine or by bootstrap.ts. */
export function questionEnd(query: Uint8Array, length: number): number {
  return skipName(query, HEADER_BYTES, length) + 4;
}
