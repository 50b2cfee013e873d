/**
 * The compiled form of block lists and user rules: a set of domain names in one immutable buffer,
 * with list, action and source line of each entry.
 *
 * Built by lists/compile/table-builder.ts, saved and loaded by lists/store.ts, read by every data-plane
 * thread at once (a SharedArrayBuffer is passed by reference and never written again).
 *
 *   word  0  magic "SLDT"          word  4  names (distinct)
 *         1  version | tops << 16        5  bytes of the names part
 *         2  slots, a power of two       6  bytes of the whole buffer
 *         3  entries                     7  checksum of everything else
 *         8..15  key of the inputs, 32 bytes, free for the owner
 *
 *   +--------+----------------+----------------------------------+---------------------------+
 *   | header | slots          | entries, 12 bytes each           | names                     |
 *   | 64 B   | 4 B each       | name offset | line | tag          | wire labels, 0, wire ...  |
 *   +--------+----------------+----------------------------------+---------------------------+
 *
 *   tops = 1 when there are names of one label, which are then looked for, too
 *   slot = high 8 bits of the hash | 24 bits of (entry index + 1); 0 is an empty slot
 *   tag  = flags << 16 | list id
 *
 * Open addressing, linear probing, at most 3/4 full. The 8 hash bits in the slot spare nearly every
 * look at an entry that is not the one sought, so that a miss touches one cache line per suffix.
 * Entries of one name lie side by side, all but the last with FLAG_MORE, so that a name in several
 * lists keeps every attribution for 12 bytes and is stored once. Index cost: 4/0.75 to 8/0.75 bytes
 * for slots, 12 for the entry, 1 for the terminator: at most 23.7 bytes a name beside its labels.
 * Words are in the machine's byte order; the magic word tells a foreign one.
 */
import type { NameView } from '../../dns/name.ts';

/** Flags of an entry. One of the first two is set, unless the entry is a node (FLAG_CLOSEST). */
export const FLAG_BLOCK = 1;
export const FLAG_ALLOW = 2;
/** Names only itself, not what lies below. */
export const FLAG_EXACT = 4;
/** Wins over the rules that are not important. */
export const FLAG_IMPORTANT = 8;
/** Has conditions or an answer of its own: the line word is the index of a rule in the program. */
export const FLAG_RULE = 16;
/** Names only what lies below, not itself. */
export const FLAG_BELOW = 32;
/**
 * Of the entries of its list with this flag, only those of the closest name count, as in a zone. One
 * that neither blocks nor allows is a node: a name that exists and hides wildcards above it from the
 * names below (RFC 4592 §3.3.1).
 */
export const FLAG_CLOSEST = 64;
/** The next entry is of the same name. */
export const FLAG_MORE = 128;

export const TABLE_MAGIC = 0x54444c53;
export const TABLE_VERSION = 1;
export const TABLE_HEADER_BYTES = 64;
/** Int32 words of one entry. */
export const ENTRY_WORDS = 3;
/** Entry indexes take 24 bits of a slot, and 0 means empty. */
export const TABLE_ENTRIES_MAX = 0xff_ff_fe;

const TOPS = 1 << 16;
const WORD_TOTAL_BYTES = 6;
/** Names that are touched at once, and the suffixes of each. */
const AHEAD_MAX = 16;
const TOUCH_LABELS = 8;

const WORD_CHECKSUM = 7;
const WORD_KEY = 8;
export const TABLE_KEY_BYTES = 32;

/** Where the parts of a table with these counts begin, in bytes. */
export interface TableLayout {
  readonly entriesAt: number;
  readonly namesAt: number;
  /** Size of the whole buffer, a multiple of 4. */
  readonly totalBytes: number;
}

export function tableLayout(slots: number, entries: number, nameBytes: number): TableLayout {
  const entriesAt = TABLE_HEADER_BYTES + slots * 4;
  const namesAt = entriesAt + entries * ENTRY_WORDS * 4;
  return { entriesAt, namesAt, totalBytes: Math.ceil((namesAt + nameBytes) / 4) * 4 };
}

/** Size of the whole table that begins with these TABLE_HEADER_BYTES bytes; unchecked. */
export function tableBytesOf(header: Uint8Array): number {
  return new Int32Array(header.slice(0, TABLE_HEADER_BYTES).buffer)[WORD_TOTAL_BYTES] as number;
}

/** The checksum of nothing. */
export const CHECKSUM_START = 0x811c9dc5 | 0;

/** The checksum `sum` of what came before, carried on over more words. */
export function addToChecksum(sum: number, words: Int32Array): number {
  let carried = sum;
  for (let at = 0; at < words.length; at++) {
    carried = Math.imul(carried ^ (words[at] as number), 0x01000193);
    carried ^= carried >>> 15;
  }
  return carried;
}

/** Checksum over the whole buffer but the checksum word itself. Detects damage, not malice. */
export function tableChecksum(buffer: SharedArrayBuffer | ArrayBuffer): number {
  const words = new Int32Array(buffer);
  const sum = addToChecksum(CHECKSUM_START, words.subarray(0, WORD_CHECKSUM));
  return addToChecksum(sum, words.subarray(WORD_CHECKSUM + 1));
}

/** Counts that the header records. */
export interface TableCounts {
  readonly slots: number;
  readonly entries: number;
  readonly names: number;
  readonly nameBytes: number;
  /** Whether there are names of one label. */
  readonly hasTops?: boolean;
}

/**
 * The header of a table, TABLE_HEADER_BYTES bytes; its checksum is still 0. For builders only.
 *
 * @param key  TABLE_KEY_BYTES bytes
 */
export function tableHeader(counts: TableCounts, key?: Uint8Array): Int32Array {
  const { slots, entries, names, nameBytes } = counts;
  const { totalBytes } = tableLayout(slots, entries, nameBytes);
  const header = new Int32Array(TABLE_HEADER_BYTES / 4);
  const version = TABLE_VERSION | ((counts.hasTops ?? false) ? TOPS : 0);
  header.set([TABLE_MAGIC, version, slots, entries, names, nameBytes, totalBytes]);
  if (key) new Uint8Array(header.buffer, WORD_KEY * 4, TABLE_KEY_BYTES).set(key);
  return header;
}

/** Puts the checksum into a header that has none yet. @param sum  of header and parts */
export function sealHeader(header: Int32Array, sum: number): void {
  header[WORD_CHECKSUM] = sum;
}

/** The checksum of a header, to be carried on over slots, entries and names. */
export function headerChecksum(header: Int32Array): number {
  const sum = addToChecksum(CHECKSUM_START, header.subarray(0, WORD_CHECKSUM));
  return addToChecksum(sum, header.subarray(WORD_CHECKSUM + 1));
}

/** The parts of a table, for who reads all of it. */
export interface TableParts {
  readonly slots: Int32Array;
  /** ENTRY_WORDS words each. */
  readonly entries: Int32Array;
  readonly names: Uint8Array;
}

/** @throws Error  on damaged sizes */
export function tableParts(buffer: SharedArrayBuffer | ArrayBuffer): TableParts {
  const header = new Int32Array(buffer, 0, TABLE_HEADER_BYTES / 4);
  const [, , slots, entries, , nameBytes, totalBytes] = header;
  const layout = checkedLayout(slots as number, entries as number, nameBytes as number);
  if (totalBytes !== buffer.byteLength || layout?.totalBytes !== buffer.byteLength) {
    throw new Error(`domain table of ${String(buffer.byteLength)} bytes has damaged sizes`);
  }
  return {
    slots: new Int32Array(buffer, TABLE_HEADER_BYTES, slots),
    entries: new Int32Array(buffer, layout.entriesAt, (entries as number) * ENTRY_WORDS),
    names: new Uint8Array(buffer, layout.namesAt, nameBytes),
  };
}

export class DomainTable {
  readonly buffer: SharedArrayBuffer | ArrayBuffer;
  /** Distinct names. */
  readonly nameCount: number;
  /** Name-and-list pairs; at least nameCount. */
  readonly entryCount: number;

  /** Fewest labels of a name. */
  readonly #labelsMin: number;
  readonly #mask: number;
  readonly #slots: Int32Array;
  readonly #entries: Int32Array;
  readonly #names: Uint8Array;
  /** Of the name being matched; 127 labels at most. */
  readonly #firstSlots = new Int32Array(128);
  /** Of the suffixes that are touched: hash, and what was loaded for it. */
  readonly #touchHashes = new Int32Array(AHEAD_MAX * TOUCH_LABELS);
  readonly #touchFound = new Int32Array(AHEAD_MAX * TOUCH_LABELS);

  /**
   * @param buffer  a table as the builder made it, or as read from disk and then `verify`d
   * @throws Error  on a wrong magic, version or size; the checksum is not looked at here
   */
  constructor(buffer: SharedArrayBuffer | ArrayBuffer) {
    if (buffer.byteLength < TABLE_HEADER_BYTES || buffer.byteLength % 4 !== 0) {
      throw new Error(`a domain table cannot have ${String(buffer.byteLength)} bytes`);
    }
    const header = new Int32Array(buffer, 0, TABLE_HEADER_BYTES / 4);
    const [magic, version, , entries, names] = header;
    if (magic !== TABLE_MAGIC) throw new Error('not a domain table');
    if (((version as number) & ~TOPS) !== TABLE_VERSION) {
      throw new Error(`domain table of version ${String(version)}, not ${String(TABLE_VERSION)}`);
    }
    const parts = tableParts(buffer);
    this.buffer = buffer;
    this.nameCount = names as number;
    this.entryCount = entries as number;
    this.#labelsMin = ((version as number) & TOPS) === 0 ? 2 : 1;
    this.#mask = parts.slots.length - 1;
    this.#slots = parts.slots;
    this.#entries = parts.entries;
    this.#names = parts.names;
  }

  /** A table without names. */
  static empty(): DomainTable {
    const header = tableHeader({ slots: 1, entries: 0, names: 0, nameBytes: 0 });
    const buffer = new SharedArrayBuffer(tableLayout(1, 0, 0).totalBytes);
    const words = new Int32Array(buffer);
    words.set(header);
    sealHeader(words, tableChecksum(buffer));
    return new DomainTable(buffer);
  }

  /** Whether the checksum holds. Reads the whole buffer: about 0.3 ms per MiB. */
  verify(): boolean {
    return new Int32Array(this.buffer)[WORD_CHECKSUM] === tableChecksum(this.buffer);
  }

  /** The key of the inputs that the owner stored; TABLE_KEY_BYTES bytes. */
  get key(): Uint8Array {
    return new Uint8Array(this.buffer, WORD_KEY * 4, TABLE_KEY_BYTES);
  }

  /**
   * Makes ready for `find` of the suffixes of a name.
   *
   * Reads the first slot of every suffix, without a branch between, so that the processor fetches
   * their cache lines side by side: a table is far larger than its caches.
   *
   * @returns  the last label at which to look: a suffix has two labels or more, unless `tops`
   */
  prepare(view: NameView): number {
    const last = view.labelCount - this.#labelsMin;
    for (let label = 0; label <= last; label++) {
      const hash = view.suffixHashes[label] as number;
      this.#firstSlots[label] = this.#slots[hash & this.#mask] as number;
    }
    return last;
  }

  /**
   * Loads what stands in the table about some names, for many of them side by side, so that `find`
   * need not wait for it: their slots, then the entries there, then the names of those.
   *
   * @returns  of no meaning, but it has to be used
   */
  touch(views: readonly NameView[], count: number): number {
    const hashes = this.#touchHashes;
    const found = this.#touchFound;
    const mask = this.#mask;
    let size = 0;
    for (let index = 0; index < count; index++) {
      const view = views[index] as NameView;
      const last = Math.min(view.labelCount - 2, TOUCH_LABELS - 1);
      for (let label = 0; label <= last; label++) {
        hashes[size++] = view.suffixHashes[label] as number;
      }
    }
    for (let at = 0; at < size; at++) {
      found[at] = this.#slots[(hashes[at] as number) & mask] as number;
    }
    for (let at = 0; at < size; at++) {
      const slot = found[at] as number;
      // All ones when the hash bits agree: no branch, which would have to wait for the slot.
      const agrees = (((slot ^ (hashes[at] as number)) >>> 24) - 1) >> 31;
      const entry = Math.max((slot & agrees & 0xffffff) - 1, 0);
      found[at] = this.#entries[entry * ENTRY_WORDS] as number;
    }
    let sum = 0;
    for (let at = 0; at < size; at++) sum ^= this.#names[found[at] as number] as number;
    return sum;
  }

  /** Flags << 16 | list id of an entry that `find` returned, or of one behind it. */
  tagOf(entry: number): number {
    return this.#entries[entry * ENTRY_WORDS + 2] as number;
  }

  /** 1-based line of an entry in its list, or the index of its rule; see FLAG_RULE. */
  lineOf(entry: number): number {
    return this.#entries[entry * ENTRY_WORDS + 1] as number;
  }

  /**
   * First entry of the suffix that starts at `label` of the name that was prepared; -1 when it is
   * not listed. The entries behind it up to one without FLAG_MORE are of the same name.
   * Cost: no allocation (bench/micro/domain-table.bench.ts).
   */
  find(view: NameView, label: number): number {
    if (this.#firstSlots[label] === 0) return -1;
    const hash = view.suffixHashes[label] as number;
    const slots = this.#slots;
    const mask = this.#mask;
    let at = hash & mask;
    let slot = slots[at] as number;
    while (slot !== 0) {
      if ((slot ^ hash) >>> 24 === 0) {
        const entry = (slot & 0xffffff) - 1;
        if (this.#isNamed(entry, view, view.labelStarts[label] as number)) return entry;
      }
      at = (at + 1) & mask;
      slot = slots[at] as number;
    }
    return -1;
  }

  /** Whether the entry's stored name is view.name[start, nameLength). */
  #isNamed(entry: number, view: NameView, start: number): boolean {
    const names = this.#names;
    const name = view.name;
    const end = view.nameLength;
    let stored = this.#entries[entry * ENTRY_WORDS] as number;
    for (let at = start; at < end; at++, stored++) {
      if (names[stored] !== name[at]) return false;
    }
    return names[stored] === 0;
  }
}

/** The layout, or null when the counts cannot be those of a table (no free slot, for one). */
function checkedLayout(slots: number, entries: number, nameBytes: number): TableLayout | null {
  const isPowerOfTwo = slots > 0 && (slots & (slots - 1)) === 0;
  if (!isPowerOfTwo || entries < 0 || entries > TABLE_ENTRIES_MAX || nameBytes < 0) return null;
  return tableLayout(slots, entries, nameBytes);
}
