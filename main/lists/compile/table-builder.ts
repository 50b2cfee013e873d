/**
 * Builds a domain table (engine/filter/domain-table.ts) name by name, in growable typed arrays.
 *
 * Used by the compile thread for lists, and by rules.ts for user rules. No string or object is kept
 * per name. The arrays are reserved so large that lists seldom make them grow, and cost what is
 * written into them: about as much as the finished table. `write` hands that out in parts, to a file
 * for one, without making it; `finish` makes it beside the arrays.
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
  FLAG_CLOSEST,
  FLAG_EXACT,
  FLAG_IMPORTANT,
  FLAG_MORE,
  FLAG_RULE,
  TABLE_HEADER_BYTES,
  addToChecksum,
  headerChecksum,
  sealHeader,
  tableHeader,
  tableLayout,
  type TableCounts,
} from '../../engine/filter/domain-table.ts';
import { LIMITS } from '../../contract/limits.ts';
import { release } from './release.ts';
import { ZoneNodes } from './zone-nodes.ts';

const RECORD_WORDS = 5;
const OFFSET = 0;
const LINE = 1;
const TAG = 2;
const HASH = 3;
const NEXT = 4;
const CHAINED = 1 << 30;
const REMOVED = 1 << 29;
const FLAGS_OF_IDENTITY =
  FLAG_BLOCK | FLAG_ALLOW | FLAG_EXACT | FLAG_BELOW | FLAG_IMPORTANT | FLAG_CLOSEST;
const IS_RULE = FLAG_RULE << 16;
const IS_BELOW = FLAG_BELOW << 16;
const SAYS_SOMETHING = (FLAG_BLOCK | FLAG_ALLOW) << 16;
/**
 * Longest probe of an insertion. Chance does not reach it at 3/4 load (a few hundred at most); names
 * chosen to collide do, and would make every lookup slow.
 */
const PROBES_MAX = 4_096;

/** Entries that are handed out at a time. */
const WRITE_ENTRIES = 16_384;

/** Takes some bytes of a table to their place; they are overwritten afterwards. */
export type PutBytes = (bytes: Uint8Array, at: number) => void;

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
    const records = Math.max(64, Math.min(Math.ceil(textBytes / 8), LIMITS.tableEntriesMax));
    this.#records = new Int32Array(records * RECORD_WORDS);
    // A name takes a byte more than its line.
    const bytes = Math.ceil(textBytes * 1.25);
    this.#names = new Uint8Array(
      wholeWords(Math.max(1_024, Math.min(bytes, LIMITS.tableNameBytesMax))),
    );
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

  /**
   * Adds the nodes of a zone: for each name below a wildcard, the name itself and those between the
   * two. RFC 4592 §3.3.1: the closest encloser decides.
   *
   * @param from     the zone's first entry; it reaches to the last one
   * @param hasRoot  all names are below a wildcard
   * @returns        entries added
   */
  addNodes(listId: number, from: number, hasRoot: boolean): number {
    const before = this.entryCount;
    const zone = new ZoneNodes((name, hash) => this.#isWildcard(name, hash, listId), hasRoot);
    for (let entry = from; entry < before; entry++) {
      const offset = this.#records[entry * RECORD_WORDS + OFFSET] as number;
      for (const [name, hash] of zone.nodesOf(this.#names, offset)) {
        this.add(name, name.length, hash, listId, FLAG_CLOSEST, 0);
      }
    }
    return this.entryCount - before;
  }

  /** Whether the list has something to say of what is below a name, or a node there. */
  #isWildcard(name: Uint8Array, hash: number, listId: number): boolean {
    let isFound = false;
    this.filter(name, name.length, hash, (tag) => {
      const isNode = (tag & SAYS_SOMETHING) === 0;
      isFound ||= (tag & 0xffff) === listId && (isNode || (tag & IS_BELOW) !== 0);
      return true;
    });
    return isFound;
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
   * Makes the table. The builder is of no more use.
   *
   * @param key  32 bytes kept in the header
   */
  finish(key?: Uint8Array): SharedArrayBuffer {
    const counts = this.#counts();
    const buffer = new SharedArrayBuffer(totalBytesOf(counts));
    const target = new Uint8Array(buffer);
    this.write((bytes, at) => {
      target.set(bytes, at);
    }, key);
    this.clear();
    return buffer;
  }

  /**
   * Hands out the table in parts, the header last. Nothing can be added afterwards, but it can be
   * written again, and finished.
   *
   * @param key  32 bytes kept in the header
   * @returns    bytes of the table
   */
  write(put: PutBytes, key?: Uint8Array): number {
    const counts = this.#counts();
    const layout = tableLayout(counts.slots, counts.entries, counts.nameBytes);
    const header = tableHeader(counts, key);
    release(this.#slots);
    this.#slots = this.#layOutSlots(counts.slots);
    put(bytesOf(this.#slots), TABLE_HEADER_BYTES);
    let sum = addToChecksum(headerChecksum(header), this.#slots);
    let at = layout.entriesAt;
    this.#layOutEntries((words) => {
      put(bytesOf(words), at);
      sum = addToChecksum(sum, words);
      at += words.byteLength;
    });
    const names = new Int32Array(this.#names.buffer, 0, wholeWords(counts.nameBytes) / 4);
    put(bytesOf(names), layout.namesAt);
    sealHeader(header, addToChecksum(sum, names));
    put(bytesOf(header), 0);
    return layout.totalBytes;
  }

  /** Gives the memory back at once. The builder is of no more use. */
  clear(): void {
    release(this.#slots);
    release(this.#records);
    release(this.#names);
    this.#slots = new Int32Array(2);
    this.#records = new Int32Array(0);
    this.#names = new Uint8Array(0);
    this.nameCount = this.entryCount = this.#nameBytes = this.#removedEntries = 0;
  }

  #counts(): TableCounts {
    return {
      slots: slotsFor(this.nameCount),
      entries: this.entryCount - this.#removedEntries,
      names: this.nameCount - this.#countRemovedNames(),
      nameBytes: this.#nameBytes,
      hasTops: this.#hasTops,
    };
  }

  /** Slots that name the first entry of each name, as `#layOutEntries` orders them. */
  #layOutSlots(count: number): Int32Array {
    const slots = new Int32Array(count);
    const records = this.#records;
    const mask = count - 1;
    let first = 0;
    for (let head = 0; head < this.entryCount; head++) {
      if (((records[head * RECORD_WORDS + TAG] as number) & CHAINED) !== 0) continue;
      const entries = this.#countEntries(head);
      if (entries === 0) continue;
      const hash = records[head * RECORD_WORDS + HASH] as number;
      let at = hash & mask;
      while (slots[at] !== 0) at = (at + 1) & mask;
      slots[at] = (hash & 0xff000000) | (first + 1);
      first += entries;
    }
    return slots;
  }

  /** Entries of the name of a head that are left. */
  #countEntries(head: number): number {
    let count = 0;
    for (let next = head; next >= 0;) {
      const record = next * RECORD_WORDS;
      if (((this.#records[record + TAG] as number) & REMOVED) === 0) count++;
      next = (this.#records[record + NEXT] as number) - 1;
    }
    return count;
  }

  /** Hands out the entries, those of one name as neighbours. `put` must not keep the words. */
  #layOutEntries(put: (words: Int32Array) => void): void {
    const records = this.#records;
    const words = new Int32Array(WRITE_ENTRIES * ENTRY_WORDS);
    let used = 0;
    for (let head = 0; head < this.entryCount; head++) {
      if (((records[head * RECORD_WORDS + TAG] as number) & CHAINED) !== 0) continue;
      let left = this.#countEntries(head);
      for (let next = head; left > 0;) {
        const record = next * RECORD_WORDS;
        next = (records[record + NEXT] as number) - 1;
        const tag = records[record + TAG] as number;
        if ((tag & REMOVED) !== 0) continue;
        left--;
        if (used === words.length) {
          put(words);
          used = 0;
        }
        words[used++] = records[record + OFFSET] as number;
        words[used++] = records[record + LINE] as number;
        words[used++] = (tag & ~CHAINED) | (left > 0 ? FLAG_MORE << 16 : 0);
      }
    }
    put(words.subarray(0, used));
  }

  /** Names none of whose entries is left. */
  #countRemovedNames(): number {
    if (this.#removedEntries === 0) return 0;
    let count = 0;
    for (let head = 0; head < this.entryCount; head++) {
      if (((this.#records[head * RECORD_WORDS + TAG] as number) & CHAINED) !== 0) continue;
      if (this.#countEntries(head) === 0) count++;
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
      const size = wholeWords(Math.max(end, Math.ceil(this.#names.length * 1.5)));
      const grown = new Uint8Array(size);
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

function totalBytesOf({ slots, entries, nameBytes }: TableCounts): number {
  return tableLayout(slots, entries, nameBytes).totalBytes;
}

function wholeWords(bytes: number): number {
  return Math.ceil(bytes / 4) * 4;
}

function bytesOf({ buffer, byteOffset, byteLength }: Int32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
