/**
 * The cache as bytes, for a file that outlives the process: written and read by Engine.saveCache
 * and Engine.restoreCache, kept on disk by dataplane/cache-file.ts.
 *
 *   header, 32 bytes: magic, version, entries, whole size, saved at (ms since 1970, f64),
 *                     key of the rules the answers were cut by, checksum of all that follows
 *   entry:  size u32 | age i32 | life i32 (both in ticks) | type u16 | class u16 | name length u8 |
 *           key bits u8 | rcode u8 | flags u8 | body length u16 | records u16 | answers u16 |
 *           authorities u16 | additionals u16 | name | body | TTL offsets
 *
 * Little-endian. The file is not trusted: every length is checked, and every answer is walked to
 * its end before it is used.
 */
import { LIMITS } from '../../contract/limits.ts';
import { Answer, hasTarget } from '../answer/answer.ts';
import {
  copyBytes,
  FLAG,
  HEADER_BYTES,
  OPT_BYTES,
  readUint16,
  recordEnd,
  skipName,
  TYPE,
  writeUint16,
} from '../../dns/wire.ts';

const MAGIC = 0x43444c53;
const VERSION = 1;
const IMAGE_HEADER_BYTES = 32;
const ENTRY_FIXED_BYTES = 30;
const AUTHENTICATED = 1;
const STRIPPED = 2;

/** One kept answer with its question. */
export interface ImageEntry {
  readonly type: number;
  readonly qclass: number;
  readonly keyBits: number;
  /** Folded labels, name[nameAt, nameAt + nameLength). */
  readonly bytes: Uint8Array;
  readonly nameAt: number;
  readonly nameLength: number;
  readonly answer: Answer;
  readonly ageTicks: number;
  readonly lifeTicks: number;
}

/** Puts entries into bytes. */
export function writeImage(
  entries: readonly ImageEntry[],
  savedMs: number,
  key: number,
): Uint8Array {
  const sizes = entries.map(entrySize);
  const total = sizes.reduce((sum, size) => sum + size, IMAGE_HEADER_BYTES);
  const image = new Uint8Array(total);
  const view = new DataView(image.buffer);
  let at = IMAGE_HEADER_BYTES;
  for (const [index, entry] of entries.entries()) {
    writeEntry(image, view, at, entry, sizes[index] as number);
    at += sizes[index] as number;
  }
  view.setUint32(0, MAGIC, true);
  view.setUint32(4, VERSION, true);
  view.setUint32(8, entries.length, true);
  view.setUint32(12, total, true);
  view.setFloat64(16, savedMs, true);
  view.setInt32(24, key, true);
  view.setInt32(28, checksum(image), true);
  return image;
}

/** What the header of an image says. */
export interface Image {
  readonly savedMs: number;
  readonly entries: ImageEntry[];
}

/** Reads an image; null when it is damaged, of another version or of other rules. */
export function readImage(image: Uint8Array, key: number): Image | null {
  const view = new DataView(image.buffer, image.byteOffset, image.byteLength);
  if (!isHeaderRight(image, view, key)) return null;
  const count = view.getUint32(8, true);
  const entries: ImageEntry[] = [];
  let at = IMAGE_HEADER_BYTES;
  for (let index = 0; index < count; index++) {
    if (at + ENTRY_FIXED_BYTES > image.length) return null;
    const size = view.getUint32(at, true);
    if (size < ENTRY_FIXED_BYTES || at + size > image.length) return null;
    const entry = readEntry(image, view, at, size);
    if (entry === null) return null;
    entries.push(entry);
    at += size;
  }
  return { savedMs: view.getFloat64(16, true), entries };
}

function isHeaderRight(image: Uint8Array, view: DataView, key: number): boolean {
  if (image.length < IMAGE_HEADER_BYTES) return false;
  const isOurs = view.getUint32(0, true) === MAGIC && view.getUint32(4, true) === VERSION;
  if (!isOurs || view.getUint32(12, true) !== image.length) return false;
  return view.getInt32(24, true) === key && view.getInt32(28, true) === checksum(image);
}

/** A query that asks the entry's question, to be read by Query.read. */
export function questionOf(entry: ImageEntry): Uint8Array {
  const { bytes, nameAt, nameLength, keyBits } = entry;
  const hasEdns = (keyBits & 1) !== 0;
  const end = HEADER_BYTES + nameLength + 5;
  const packet = new Uint8Array(end + (hasEdns ? OPT_BYTES : 0));
  packet[3] = (keyBits & 2) !== 0 ? FLAG.checkingDisabled : 0;
  packet[5] = 1;
  copyBytes(bytes, nameAt, packet, HEADER_BYTES, nameLength);
  writeUint16(packet, end - 4, entry.type);
  writeUint16(packet, end - 2, entry.qclass);
  if (hasEdns) {
    packet[11] = 1;
    writeUint16(packet, end + 1, TYPE.opt);
    packet[end + 7] = 0x80;
  }
  return packet;
}

function entrySize({ nameLength, answer }: ImageEntry): number {
  return ENTRY_FIXED_BYTES + nameLength + answer.bodyLength + 2 * answer.recordCount;
}

function writeEntry(
  image: Uint8Array,
  view: DataView,
  at: number,
  entry: ImageEntry,
  size: number,
): void {
  const { answer, nameLength } = entry;
  view.setUint32(at, size, true);
  view.setInt32(at + 4, entry.ageTicks, true);
  view.setInt32(at + 8, entry.lifeTicks, true);
  view.setUint16(at + 12, entry.type, true);
  view.setUint16(at + 14, entry.qclass, true);
  image[at + 16] = nameLength;
  image[at + 17] = entry.keyBits;
  image[at + 18] = answer.rcode;
  image[at + 19] =
    (answer.isAuthenticated ? AUTHENTICATED : 0) | (answer.isStripped ? STRIPPED : 0);
  view.setUint16(at + 20, answer.bodyLength, true);
  view.setUint16(at + 22, answer.recordCount, true);
  view.setUint16(at + 24, answer.answerCount, true);
  view.setUint16(at + 26, answer.authorityCount, true);
  view.setUint16(at + 28, answer.additionalCount, true);
  const nameTo = at + ENTRY_FIXED_BYTES;
  copyBytes(entry.bytes, entry.nameAt, image, nameTo, nameLength);
  const kept = answer.bodyLength + 2 * answer.recordCount;
  copyBytes(answer.bytes, answer.bodyAt, image, nameTo + nameLength, kept);
}

function readEntry(image: Uint8Array, view: DataView, at: number, size: number): ImageEntry | null {
  const nameLength = image[at + 16] as number;
  const nameAt = at + ENTRY_FIXED_BYTES;
  const answer = new Answer();
  answer.bytes = image;
  answer.bodyAt = nameAt + nameLength;
  answer.rcode = (image[at + 18] as number) & 0x0f;
  const flags = image[at + 19] as number;
  answer.isAuthenticated = (flags & AUTHENTICATED) !== 0;
  answer.isStripped = (flags & STRIPPED) !== 0;
  answer.bodyLength = view.getUint16(at + 20, true);
  answer.recordCount = view.getUint16(at + 22, true);
  answer.answerCount = view.getUint16(at + 24, true);
  answer.authorityCount = view.getUint16(at + 26, true);
  answer.additionalCount = view.getUint16(at + 28, true);
  const entry = {
    type: view.getUint16(at + 12, true),
    qclass: view.getUint16(at + 14, true),
    keyBits: (image[at + 17] as number) & 3,
    ...{ bytes: image, nameAt, nameLength, answer },
    ageTicks: view.getInt32(at + 4, true),
    lifeTicks: view.getInt32(at + 8, true),
  };
  if (entrySize(entry) !== size || entry.ageTicks < 0 || entry.lifeTicks < 0) return null;
  return isNameWhole(image, nameAt, nameLength) && isAnswerWhole(answer) ? entry : null;
}

function isNameWhole(image: Uint8Array, from: number, length: number): boolean {
  let at = from;
  while (at < from + length) {
    const size = image[at] as number;
    if (size === 0 || size > LIMITS.labelBytesMax) return false;
    at += size + 1;
  }
  return at === from + length && length < LIMITS.nameBytesMax;
}

/** Walks the records, checks the TTL offsets against them, and finds out about targets. */
function isAnswerWhole(answer: Answer): boolean {
  const { bytes, bodyAt, bodyLength, recordCount } = answer;
  const end = bodyAt + bodyLength;
  const counts = answer.answerCount + answer.authorityCount + answer.additionalCount;
  if (counts !== recordCount) return false;
  let at = bodyAt;
  for (let index = 0; index < recordCount; index++) {
    const fixed = skipName(bytes, at, end);
    const next = recordEnd(bytes, fixed, end);
    if (next < 0) return false;
    const offsetAt = end + 2 * index;
    const offset = (bytes[offsetAt] as number) | ((bytes[offsetAt + 1] as number) << 8);
    if (offset !== fixed + 4 - bodyAt) return false;
    if (index < answer.answerCount && hasTarget(readUint16(bytes, fixed))) answer.hasTargets = true;
    at = next;
  }
  return at === end;
}

/** FNV-1a over everything behind the header, and the entries' count. Detects damage, not malice. */
function checksum(image: Uint8Array): number {
  let sum = 0x811c9dc5 | 0;
  for (let at = 8; at < image.length; at++) {
    if (at >= 28 && at < IMAGE_HEADER_BYTES) continue;
    sum = Math.imul(sum ^ (image[at] as number), 0x01000193);
  }
  return sum;
}
