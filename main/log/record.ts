/**
 * The fixed-size binary record of one answer: written by the data plane into the log ring
 * (ring.ts), read by the log writer, without an object in between.
 *
 *     offset  0        8           12     14     16      18       19
 *             timeMs   durationUs  type   rcode  listId  outcome  reason
 *             f64      u32         u16    u16    u16     u8       u8
 *     offset 20             21             22         23
 *             matchedLabels  transport      upstream   nameLength
 *             u8             u8 (1 = TCP)   u8 (+1)    u8
 *     offset 24        40                                                296
 *             address  name: wire labels, lower case, no root
 *             16 bytes nameLength bytes, at most 254
 *
 * With reason cname the name that a rule named is another one: it stands behind the name, with a
 * length byte in front, when both fit; otherwise that length is 0 and the name is not told.
 *
 * `upstream` is the index plus one, so that 0 means none. The class is not kept: whatever is not IN
 * shows as rejected. Little-endian, as every machine that Node and Electron are built for (but
 * s390x, which is refused); records never leave the process.
 */
import { LIMITS } from '../contract/limits.ts';
import { OUTCOMES, REASON, REASONS } from '../contract/outcome.ts';
import type { QueryEvent } from '../contract/query-event.ts';
import { readName } from '../dns/name.ts';
import { LIST_ID_NONE, LIST_ID_RULES } from '../engine/filter/engine-config.ts';
import type { LogFacts } from '../engine/query/ports.ts';
import { addressText } from '../dns/address-text.ts';
import { typeName } from '../dns/type-names.ts';

/** Bytes of one record; a multiple of 8, so that every number is aligned. */
export const RECORD_BYTES = 296;

/** Longest name in a record: a full name without its root label. RFC 1035 §2.3.4. */
const NAME_BYTES_MAX = LIMITS.nameBytesMax - 1;
const ADDRESS_AT = 24;
const NAME_AT = 40;

if (NAME_AT + NAME_BYTES_MAX > RECORD_BYTES) throw new Error('record: the name does not fit');

if (new Uint8Array(new Uint16Array([1]).buffer)[0] !== 1) throw new Error('record: big-endian');

/** What the list that decided is called when the user's own rules did. */
export const RULES_LIST_NAME = 'rules';

/**
 * An array of records in (shared) memory. Slots are numbered from 0; they are not checked here.
 * Threads: any; who may touch a slot when is the business of the ring.
 */
export class RecordMemory {
  readonly #u8: Uint8Array;
  readonly #u16: Uint16Array;
  readonly #u32: Uint32Array;
  readonly #f64: Float64Array;

  /**
   * @param start  byte offset of slot 0, a multiple of 8
   * @param slots  how many records there are
   */
  constructor(buffer: SharedArrayBuffer | ArrayBuffer, start: number, slots: number) {
    const bytes = slots * RECORD_BYTES;
    this.#u8 = new Uint8Array(buffer, start, bytes);
    this.#u16 = new Uint16Array(buffer, start, bytes / 2);
    this.#u32 = new Uint32Array(buffer, start, bytes / 4);
    this.#f64 = new Float64Array(buffer, start, bytes / 8);
  }

  /**
   * Writes one record. Hot path: plain stores and two copy loops, no allocation; `subarray` for a
   * block copy would allocate (bench/micro/log-ring.bench.ts).
   */
  write(slot: number, facts: LogFacts): void {
    const at = slot * RECORD_BYTES;
    const u8 = this.#u8;
    this.#f64[at >>> 3] = facts.timeMs;
    const durationUs = facts.durationUs;
    this.#u32[(at + 8) >>> 2] = durationUs < 0xffffffff ? durationUs : 0xffffffff;
    const u16At = at >>> 1;
    this.#u16[u16At + 6] = facts.type;
    this.#u16[u16At + 7] = facts.rcode;
    this.#u16[u16At + 8] = facts.listId;
    u8[at + 18] = facts.outcome;
    u8[at + 19] = facts.reason;
    u8[at + 20] = facts.matchedLabels;
    u8[at + 21] = facts.transport === 'tcp' ? 1 : 0;
    u8[at + 22] = facts.upstream + 1;
    const nameLength = facts.nameLength < NAME_BYTES_MAX ? facts.nameLength : NAME_BYTES_MAX;
    u8[at + 23] = nameLength;
    this.#writeBytes(at + ADDRESS_AT, facts.address, 16);
    this.#writeBytes(at + NAME_AT, facts.name, nameLength);
    if (facts.reason === REASON.cname) this.#writeMatched(at + NAME_AT + nameLength, at, facts);
  }

  #writeMatched(lengthAt: number, at: number, facts: LogFacts): void {
    const fits = lengthAt + 1 + facts.matchedLength <= at + RECORD_BYTES;
    const length = fits ? facts.matchedLength : 0;
    this.#u8[lengthAt] = length;
    for (let index = 0; index < length; index++) {
      this.#u8[lengthAt + 1 + index] = facts.matched[index] as number;
    }
  }

  /** Copies four bytes a store: three times faster than single bytes into shared memory. */
  #writeBytes(at: number, from: Uint8Array, length: number): void {
    const words = length >>> 2;
    const wordAt = at >>> 2;
    for (let word = 0, index = 0; word < words; word++, index += 4) {
      this.#u32[wordAt + word] =
        (from[index] as number) |
        ((from[index + 1] as number) << 8) |
        ((from[index + 2] as number) << 16) |
        ((from[index + 3] as number) << 24);
    }
    for (let index = words << 2; index < length; index++) {
      this.#u8[at + index] = from[index] as number;
    }
  }

  /** Copies a record of another memory; of the name only what is used. No allocation. */
  copy(slot: number, from: RecordMemory, fromSlot: number): void {
    const at = slot * RECORD_BYTES;
    const fromAt = fromSlot * RECORD_BYTES;
    const nameEnd = NAME_AT + (from.#u8[fromAt + 23] as number);
    const hasMatched = from.#u8[fromAt + 19] === REASON.cname;
    const words = hasMatched ? RECORD_BYTES >>> 2 : (nameEnd + 3) >>> 2;
    for (let word = 0; word < words; word++) {
      this.#u32[(at >>> 2) + word] = from.#u32[(fromAt >>> 2) + word] as number;
    }
  }

  /** When the query arrived, whole milliseconds since 1970. */
  timeMs(slot: number): number {
    return Math.floor(this.#f64[(slot * RECORD_BYTES) >>> 3] as number);
  }

  durationUs(slot: number): number {
    return this.#u32[(slot * RECORD_BYTES + 8) >>> 2] as number;
  }

  type(slot: number): number {
    return this.#u16[(slot * RECORD_BYTES + 12) >>> 1] as number;
  }

  rcode(slot: number): number {
    return this.#u16[(slot * RECORD_BYTES + 14) >>> 1] as number;
  }

  listId(slot: number): number {
    return this.#u16[(slot * RECORD_BYTES + 16) >>> 1] as number;
  }

  /** Index into OUTCOMES. */
  outcome(slot: number): number {
    return this.#u8[slot * RECORD_BYTES + 18] as number;
  }

  /** Index into REASONS. */
  reason(slot: number): number {
    return this.#u8[slot * RECORD_BYTES + 19] as number;
  }

  matchedLabels(slot: number): number {
    return this.#u8[slot * RECORD_BYTES + 20] as number;
  }

  /** 0 for UDP, 1 for TCP. */
  transport(slot: number): number {
    return this.#u8[slot * RECORD_BYTES + 21] as number;
  }

  /** Index into the configured upstreams; -1 for none. */
  upstream(slot: number): number {
    return (this.#u8[slot * RECORD_BYTES + 22] as number) - 1;
  }

  /** Text form of the client's address, without port. */
  clientText(slot: number): string {
    return addressText(this.#u8, slot * RECORD_BYTES + ADDRESS_AT);
  }

  /** Presentation form; "." for the root, "" when the query did not parse far enough. */
  nameText(slot: number): string {
    const at = slot * RECORD_BYTES;
    const length = this.#u8[at + 23] as number;
    if (length === 0 && this.#u8[at + 19] === REASON.malformed) return '';
    return nameText(this.#u8, at + NAME_AT, length);
  }

  /** With reason cname only. */
  matchedTargetText(slot: number): string {
    const lengthAt = slot * RECORD_BYTES + NAME_AT + (this.#u8[slot * RECORD_BYTES + 23] as number);
    const length = this.#u8[lengthAt] as number;
    return length === 0 ? '' : nameText(this.#u8, lengthAt + 1, length);
  }
}

/** The listed name that decided, when it is not a suffix of the name itself; "" otherwise. */
export function matchedTargetText(records: RecordMemory, slot: number): string {
  return records.reason(slot) === REASON.cname ? records.matchedTargetText(slot) : '';
}

/** Names for the numbers in a record. */
export interface RecordNames {
  /** By list id; ids 0 and 65535 are not looked up. */
  readonly lists: ReadonlyMap<number, string>;
  /** By index. */
  readonly upstreams: readonly string[];
}

/** The name of the list that decided; "" when none did, or its id is not known. */
export function listText(listId: number, lists: ReadonlyMap<number, string>): string {
  if (listId === LIST_ID_NONE) return '';
  return listId === LIST_ID_RULES ? RULES_LIST_NAME : (lists.get(listId) ?? '');
}

/**
 * Turns a record into what people and doors see. Allocates; for live rows and tests.
 *
 * @param id  the row's number in the database; 0 while it is not stored
 */
export function toQueryEvent(
  records: RecordMemory,
  slot: number,
  names: RecordNames,
  id: number,
): QueryEvent {
  const name = records.nameText(slot);
  const type = records.type(slot);
  const matchedLabels = records.matchedLabels(slot);
  return {
    id,
    timeMs: records.timeMs(slot),
    client: records.clientText(slot),
    clientName: '',
    name,
    type,
    typeName: typeName(type),
    outcome: OUTCOMES[records.outcome(slot)] ?? 'failed',
    reason: REASONS[records.reason(slot)] ?? 'none',
    rcode: records.rcode(slot),
    list: listText(records.listId(slot), names.lists),
    matchedName:
      records.reason(slot) === REASON.cname
        ? records.matchedTargetText(slot)
        : matchedNameText(name, matchedLabels),
    upstream: names.upstreams[records.upstream(slot)] ?? '',
    durationUs: records.durationUs(slot),
    transport: records.transport(slot) === 1 ? 'tcp' : 'udp',
  };
}

/**
 * The suffix of a name that a rule named: its last `labels` labels.
 *
 * @param name    presentation form; an escaped dot does not end a label
 * @param labels  0 gives ""
 */
export function matchedNameText(name: string, labels: number): string {
  if (labels <= 0) return '';
  let left = labels;
  for (let at = name.length - 1; at >= 0; at--) {
    if (name.charCodeAt(at) !== 0x2e || isEscaped(name, at)) continue;
    if (--left === 0) return name.slice(at + 1);
  }
  return name;
}

/** Whether an odd number of backslashes stands before the character. */
function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text.charCodeAt(at - 1 - backslashes) === 0x5c) backslashes++;
  return backslashes % 2 === 1;
}

const scratch = Buffer.alloc(NAME_BYTES_MAX);

/** `readName` with a short cut for ordinary names, five times faster: one copy, one string. */
function nameText(bytes: Uint8Array, start: number, length: number): string {
  if (length === 0) return '.';
  let labelEnd = 0;
  for (let index = 0; index < length; index++) {
    const byte = bytes[start + index] as number;
    if (index === labelEnd) {
      labelEnd = index + 1 + byte;
      scratch[index] = 0x2e;
      continue;
    }
    if (byte <= 0x20 || byte >= 0x7f || byte === 0x2e || byte === 0x5c) {
      return readName(bytes, start, start + length);
    }
    scratch[index] = byte;
  }
  return scratch.toString('latin1', 1, length);
}
