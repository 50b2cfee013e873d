/**
 * Builds a domain table (engine/domain-table.ts) name by name, in growable typed arrays.
 *
 * Used by the compile thread for lists, and by rules.ts for user rules. No string or object is kept
 * per name. Peak memory: about twice the finished table (the growing arrays, then the table beside
 * them), plus half of an array while it grows.
 *
 *   record of 5 words per entry: name offset | line | tag | hash | index + 1 of the next entry of
 *   the same name (0: none). Entries that are such a next one have CHAINED set in the tag, those that
 *   were taken out REMOVED.
 *
 * The result depends on the sequence of `add` calls only: same lists in the same order, same bytes.
 */
import {
  ENTRY_WORDS,
  FLAG_ALLOW,
  FLAG_BELOW,
  FLAG_BLOCK,
  FLAG_EXACT,
  FLAG_IMPORTANT,
  FLAG_MORE,
  FLAG_RULE,
  TABLE_HEADER_BYTES,
  sealTable,
  tableLayout,
} from '../engine/domain-table.ts';
import { LIMITS } from '../contract/limits.ts';
import { release } from './release.ts';

const RECORD_WORDS = 5;
const OFFSET = 0;
const LINE = 1;
const TAG = 2;
const HASH = 3;
const NEXT = 4;
const CHAINED = 1 << 30;
const REMOVED = 1 << 29;
const FLAGS_OF_IDENTITY = FLAG_BLOCK | FLAG_ALLOW | FLAG_EXACT | FLAG_BELOW | FLAG_IMPORTANT;
const IS_RULE = FLAG_RULE << 16;
/**
 * Longest probe of an insertion. Chance does not reach it at 3/4 load (a few hundred at most); names
 * chosen to collide do, and would make every lookup slow.
 */
const PROBES_MAX = 4_096;

/** A bound that one list too many, or one made to hurt, has run into. */
export class TableFull extends Error {}

export class TableBuilder {
  /** Distinct names so far. */
  nameCount = 0;
  /** Name-and-list pairs so far. */
  entryCount = 0;
  #nameBytes = 0;
  #hasTops = false;
  #removedEntries = 0;
  #slots: Int32Array;
  #records: Int32Array;
  #names: Uint8Array;

  /**
   * @param textBytes  size of the lists to come, which saves growing; 0 is fine. Memory that is not
   *                   used in the end is reserved, but never touched.
   */
  constructor(textBytes = 0) {
    const names = Math.max(64, Math.min(Math.ceil(textBytes / 24), LIMITS.tableEntriesMax));
    this.#slots = new Int32Array(slotsFor(names));
    // Growing would need both; what is not used is never touched, and costs nothing.
    const records = Math.max(64, Math.min(Math.ceil(textBytes / 12), LIMITS.tableEntriesMax));
    this.#records = new Int32Array(records * RECORD_WORDS);
    this.#names = new Uint8Array(Math.max(1_024, Math.min(textBytes, LIMITS.tableNameBytesMax)));
  }

  /**
   * Adds one entry.
   *
   * @param name    holds the lower-case wire labels name[0, length), without root
   * @param hash    hashName of them
   * @param flags   FLAG_BLOCK or FLAG_ALLOW, with FLAG_EXACT where it applies
   * @param line    1-based line in the list; with FLAG_RULE the index of the rule
   * @returns       false when this list has this very entry already; the first line counts. Rules
   *                are never alike
   * @throws TableFull  when a bound of LIMITS is reached
   */
  add(
    name: Uint8Array,
    length: number,
    hash: number,
    listId: number,
    flags: number,
    line: number,
  ): boolean {
    const at = this.#findSlot(name, length, hash);
    const slot = this.#slots[at] as number;
    if (slot !== 0) return this.#chain((slot & 0xffffff) - 1, listId, flags, line);
    if (name[0] === length - 1) this.#hasTops = true;
    const offset = this.#store(name, length);
    const entry = this.#append(offset, line, listId | (flags << 16), hash);
    this.#slots[at] = (hash & 0xff000000) | (entry + 1);
    this.nameCount++;
    if (this.nameCount > this.#slots.length * 0.75) this.#growSlots();
    return true;
  }

  /** Visits the entries of one name; `visit` returns whether to keep the entry. */
  filter(
    name: Uint8Array,
    length: number,
    hash: number,
    visit: (tag: number, line: number) => boolean,
  ): void {
    const slot = this.#slots[this.#findSlot(name, length, hash)] as number;
    let next = (slot & 0xffffff) - 1;
    while (next >= 0) {
      const record = next * RECORD_WORDS;
      const tag = this.#records[record + TAG] as number;
      next = (this.#records[record + NEXT] as number) - 1;
      if ((tag & REMOVED) !== 0) continue;
      if (visit(tag & ~CHAINED, this.#records[record + LINE] as number)) continue;
      this.#records[record + TAG] = tag | REMOVED;
      this.#removedEntries++;
    }
  }

  /** The slot of a name, or the empty one where it belongs. */
  #findSlot(name: Uint8Array, length: number, hash: number): number {
    const mask = this.#slots.length - 1;
    let at = hash & mask;
    for (let probes = 0; ; probes++, at = (at + 1) & mask) {
      if (probes > PROBES_MAX) throw new TableFull('too many names with the same hash');
      const slot = this.#slots[at] as number;
      if (slot === 0) return at;
      if ((slot ^ hash) >>> 24 !== 0) continue;
      if (this.#isNamed((slot & 0xffffff) - 1, name, length)) return at;
    }
  }

  /**
   * Makes the table. The builder is empty afterwards.
   *
   * @param key  32 bytes kept in the header
   */
  finish(key?: Uint8Array): SharedArrayBuffer {
    release(this.#slots);
    this.#slots = new Int32Array(0);
    const counts = {
      slots: slotsFor(this.nameCount),
      entries: this.entryCount - this.#removedEntries,
      names: this.nameCount - this.#countRemovedNames(),
      nameBytes: this.#nameBytes,
      hasTops: this.#hasTops,
    };
    const layout = tableLayout(counts.slots, counts.entries, counts.nameBytes);
    const buffer = new SharedArrayBuffer(layout.totalBytes);
    new Uint8Array(buffer, layout.namesAt).set(this.#names.subarray(0, this.#nameBytes));
    release(this.#names);
    this.#names = new Uint8Array(0);
    this.#layOut(
      new Int32Array(buffer, TABLE_HEADER_BYTES, counts.slots),
      new Int32Array(buffer, layout.entriesAt, counts.entries * ENTRY_WORDS),
    );
    sealTable(buffer, counts, key);
    release(this.#records);
    this.#records = new Int32Array(0);
    this.nameCount = this.entryCount = this.#nameBytes = this.#removedEntries = 0;
    return buffer;
  }

  /** Copies the records so that entries of one name are neighbours, and fills the slots. */
  #layOut(slots: Int32Array, entries: Int32Array): void {
    const records = this.#records;
    const mask = slots.length - 1;
    let entry = 0;
    for (let head = 0; head < this.entryCount; head++) {
      if (((records[head * RECORD_WORDS + TAG] as number) & CHAINED) !== 0) continue;
      const first = entry;
      for (let next = head; next >= 0;) {
        const record = next * RECORD_WORDS;
        next = (records[record + NEXT] as number) - 1;
        const tag = records[record + TAG] as number;
        if ((tag & REMOVED) !== 0) continue;
        entries[entry * ENTRY_WORDS] = records[record + OFFSET] as number;
        entries[entry * ENTRY_WORDS + 1] = records[record + LINE] as number;
        entries[entry * ENTRY_WORDS + 2] = (tag & ~CHAINED) | (FLAG_MORE << 16);
        entry++;
      }
      if (entry === first) continue;
      const last = (entry - 1) * ENTRY_WORDS + 2;
      entries[last] = (entries[last] as number) & ~(FLAG_MORE << 16);
      const hash = records[head * RECORD_WORDS + HASH] as number;
      let at = hash & mask;
      while (slots[at] !== 0) at = (at + 1) & mask;
      slots[at] = (hash & 0xff000000) | (first + 1);
    }
  }

  /** Names none of whose entries is left. */
  #countRemovedNames(): number {
    if (this.#removedEntries === 0) return 0;
    let count = 0;
    for (let head = 0; head < this.entryCount; head++) {
      if (((this.#records[head * RECORD_WORDS + TAG] as number) & CHAINED) !== 0) continue;
      let isLeft = false;
      for (let next = head; next >= 0 && !isLeft;) {
        isLeft = ((this.#records[next * RECORD_WORDS + TAG] as number) & REMOVED) === 0;
        next = (this.#records[next * RECORD_WORDS + NEXT] as number) - 1;
      }
      if (!isLeft) count++;
    }
    return count;
  }

  /** Hangs another entry behind those of the same name, unless an equal one is there. */
  #chain(first: number, listId: number, flags: number, line: number): boolean {
    const tag = listId | (flags << 16);
    const identity = 0xffff | (FLAGS_OF_IDENTITY << 16);
    const isRule = (flags & FLAG_RULE) !== 0;
    let last = first;
    for (let next = first; next >= 0;) {
      const there = this.#records[next * RECORD_WORDS + TAG] as number;
      if (((there ^ tag) & identity) === 0 && !isRule && (there & IS_RULE) === 0) return false;
      last = next;
      next = (this.#records[next * RECORD_WORDS + NEXT] as number) - 1;
    }
    const offset = this.#records[first * RECORD_WORDS + OFFSET] as number;
    const hash = this.#records[first * RECORD_WORDS + HASH] as number;
    const entry = this.#append(offset, line, tag | CHAINED, hash);
    this.#records[last * RECORD_WORDS + NEXT] = entry + 1;
    return true;
  }

  #append(offset: number, line: number, tag: number, hash: number): number {
    if (this.entryCount >= LIMITS.tableEntriesMax) {
      throw new TableFull(`more than ${String(LIMITS.tableEntriesMax)} names in all lists`);
    }
    const at = this.entryCount * RECORD_WORDS;
    if (at === this.#records.length) {
      const grown = new Int32Array(Math.ceil(this.entryCount * 1.5) * RECORD_WORDS);
      grown.set(this.#records);
      release(this.#records);
      this.#records = grown;
    }
    this.#records[at + OFFSET] = offset;
    this.#records[at + LINE] = line;
    this.#records[at + TAG] = tag;
    this.#records[at + HASH] = hash;
    this.#records[at + NEXT] = 0;
    return this.entryCount++;
  }

  /** Copies a name behind the others, with a root label as its end. Returns its offset. */
  #store(name: Uint8Array, length: number): number {
    const offset = this.#nameBytes;
    const end = offset + length + 1;
    if (end > LIMITS.tableNameBytesMax) {
      throw new TableFull(`more than ${String(LIMITS.tableNameBytesMax)} bytes of names`);
    }
    if (end > this.#names.length) {
      const grown = new Uint8Array(Math.max(end, Math.ceil(this.#names.length * 1.5)));
      grown.set(this.#names);
      release(this.#names);
      this.#names = grown;
    }
    for (let at = 0; at < length; at++) this.#names[offset + at] = name[at] as number;
    this.#names[end - 1] = 0;
    this.#nameBytes = end;
    return offset;
  }

  #isNamed(entry: number, name: Uint8Array, length: number): boolean {
    const names = this.#names;
    const offset = this.#records[entry * RECORD_WORDS + OFFSET] as number;
    for (let at = 0; at < length; at++) {
      if (names[offset + at] !== name[at]) return false;
    }
    return names[offset + length] === 0;
  }

  #growSlots(): void {
    const slots = new Int32Array(this.#slots.length * 2);
    const mask = slots.length - 1;
    for (let entry = 0; entry < this.entryCount; entry++) {
      if (((this.#records[entry * RECORD_WORDS + TAG] as number) & CHAINED) !== 0) continue;
      const hash = this.#records[entry * RECORD_WORDS + HASH] as number;
      let at = hash & mask;
      while (slots[at] !== 0) at = (at + 1) & mask;
      slots[at] = (hash & 0xff000000) | (entry + 1);
    }
    release(this.#slots);
    this.#slots = slots;
  }
}

/** The smallest power of two that `names` fill to at most 3/4. */
function slotsFor(names: number): number {
  let slots = 2;
  while (names > slots * 0.75) slots *= 2;
  return slots;
}
