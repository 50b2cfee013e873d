/**
 * Domain names in wire form, and the hashes that every table of names uses.
 *
 * A name here is its labels, each with its length byte, lower case, WITHOUT the root label:
 * "ads.example" is 03 'a' 'd' 's' 07 'e' 'x' 'a' 'm' 'p' 'l' 'e'. The root is the empty sequence.
 * Lower case means ASCII A-Z folded (RFC 4343 §3); other bytes stay as they are.
 *
 * The hash runs over the bytes from the last to the first, so that the hash of every suffix falls
 * out of one pass: at each length byte the running value, mixed, is the hash of the suffix that
 * begins there. The reader (query.ts) and the table builder (lists/) must agree on it.
 */

/** Start value of the running hash. FNV-1a, 32 bits. */
export const HASH_SEED = 0x811c9dc5 | 0;
const HASH_PRIME = 0x01000193;

/** Takes one more byte, towards the front of the name, into the running hash. */
export function hashByte(running: number, byte: number): number {
  return Math.imul(running ^ byte, HASH_PRIME);
}

/** Spreads the running hash over all 32 bits (the MurmurHash3 finaliser). Signed result. */
export function hashMix(running: number): number {
  let mixed = running ^ (running >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}

/** The hash of a whole name in wire form, bytes[start, end). Signed 32 bits. */
export function hashName(bytes: Uint8Array, start: number, end: number): number {
  let running = HASH_SEED;
  for (let at = end - 1; at >= start; at--) running = hashByte(running, bytes[at] as number);
  return hashMix(running);
}

/**
 * A hash that nobody outside can aim at, for tables that live in memory only: names with equal
 * hashes cannot be found without the key, as they can for `hashName`. Four bytes at a time from the
 * last one on. Signed 32 bits.
 *
 * @param bytes  labels in lower case, bytes[start, end)
 * @param key    unpredictable, 32 bits, the same for all names of a table
 * Allocates nothing.
 */
export function keyedHash(bytes: Uint8Array, start: number, end: number, key: number): number {
  // The odd multiplier depends on the key as well: differences cannot be made to cancel out.
  const factor = (key << 1) | 1;
  let running = Math.imul(key ^ (end - start), 0x9e3779b1);
  let at = end - 4;
  for (; at >= start; at -= 4) {
    const word =
      (bytes[at] as number) |
      ((bytes[at + 1] as number) << 8) |
      ((bytes[at + 2] as number) << 16) |
      ((bytes[at + 3] as number) << 24);
    running = Math.imul(running ^ word, factor);
    running ^= running >>> 15;
  }
  for (at += 3; at >= start; at--) {
    running = Math.imul(running ^ (bytes[at] as number), factor);
    running ^= running >>> 15;
  }
  return hashMix(running);
}

/**
 * Writes a name in presentation form as lower-case wire labels.
 *
 * Accepts an optional trailing dot and the escapes \. \\ and \DDD of RFC 1035 §5.1. Characters
 * beyond ASCII are written as UTF-8; IDNs must be A-labels already.
 *
 * @param out    room for 254 bytes from `start`
 * @returns      bytes written; 0 for the root; -1 when a label is empty or above 63 bytes, or the
 *               name above 255 with its root label
 */
export function writeName(text: string, out: Uint8Array, start: number): number {
  if (text === '' || text === '.') return 0;
  let at = start;
  for (const label of labelsOf(text)) {
    if (label.length < 1 || label.length > 63 || at + 1 + label.length > start + 254) return -1;
    out[at] = label.length;
    out.set(label, at + 1);
    at += 1 + label.length;
  }
  return at - start;
}

const TEXT_PART = /\\(\d{3})|\\([^])|(\.)|([^\\.]+)|(\\)$/g;

/** Splits presentation form into label bytes; a label that cannot be comes out empty. */
function labelsOf(text: string): number[][] {
  const labels: number[][] = [[]];
  const body = /(^|[^\\])(\\\\)*\.$/.test(text) ? text.slice(0, -1) : text;
  for (const [, decimal, escaped, dot, plain] of body.matchAll(TEXT_PART)) {
    if (dot !== undefined) {
      labels.push([]);
      continue;
    }
    const bytes = decimal === undefined ? textBytes(escaped ?? plain) : [Number(decimal)];
    if (bytes === null || bytes[0] === undefined || bytes[0] > 255) return [[]];
    (labels[labels.length - 1] as number[]).push(...bytes);
  }
  return labels;
}

function textBytes(text: string | undefined): number[] | null {
  return text === undefined ? null : [...Buffer.from(text)].map(lowerCase);
}

/** ASCII A-Z to a-z; every other byte unchanged. */
export function lowerCase(byte: number): number {
  return byte >= 0x41 && byte <= 0x5a ? byte + 32 : byte;
}

/**
 * Reads wire labels bytes[start, end) into presentation form: no trailing dot, "." for the root,
 * dots and backslashes in labels escaped, bytes outside 0x21..0x7e as \DDD (RFC 1035 §5.1).
 */
export function readName(bytes: Uint8Array, start: number, end: number): string {
  if (start >= end) return '.';
  let text = '';
  let at = start;
  while (at < end) {
    const labelEnd = at + 1 + (bytes[at] as number);
    if (text !== '') text += '.';
    for (at++; at < labelEnd && at < end; at++) {
      const byte = bytes[at] as number;
      if (byte === 0x2e || byte === 0x5c) text += `\\${String.fromCharCode(byte)}`;
      else if (byte > 0x20 && byte < 0x7f) text += String.fromCharCode(byte);
      else text += `\\${String(byte).padStart(3, '0')}`;
    }
  }
  return text;
}

/**
 * Hashes every suffix of a name in one pass from its last byte to its first.
 *
 * @param name           folded wire labels without root, name[0, length)
 * @param labelStarts    offset of each label's length byte, labelStarts[0, labels)
 * @param suffixHashes   gets the hash of the suffix that starts at label i
 * Allocates nothing.
 */
export function hashSuffixes(
  name: Uint8Array,
  length: number,
  labelStarts: Uint8Array,
  labels: number,
  suffixHashes: Int32Array,
): void {
  let running = HASH_SEED;
  let at = length - 1;
  for (let label = labels - 1; label >= 0; label--) {
    const labelStart = labelStarts[label] as number;
    for (; at >= labelStart; at--) running = hashByte(running, name[at] as number);
    suffixHashes[label] = hashMix(running);
  }
}

/** A parsed name, as what compares names needs it; the engine's Query is one. */
export interface NameView {
  /** Lower-case wire labels without root, name[0, nameLength). */
  readonly name: Uint8Array;
  readonly nameLength: number;
  readonly labelCount: number;
  /** Offset in `name` of each label's length byte, first label first. */
  readonly labelStarts: Uint8Array;
  /** Hash (name.ts) of the suffix that starts at label i. */
  readonly suffixHashes: Int32Array;
}
