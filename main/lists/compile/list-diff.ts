/**
 * Counts how many names and rules of a list came and went between two tables. Run by the compile
 * thread; reads both where they are, and keeps nothing per name.
 */
import {
  ENTRY_WORDS,
  FLAG_ALLOW,
  FLAG_BLOCK,
  FLAG_MORE,
  FLAG_RULE,
  tableParts,
  type TableParts,
} from '../../engine/filter/domain-table.ts';
import { hashName } from '../../dns/name.ts';
import {
  ADDRESS_WORDS,
  PATTERN_WORDS,
  RuleProgram,
  TERMS_WORDS,
} from '../../engine/filter/rule-program.ts';
import type { RuleBuffers } from '../../engine/filter/rule-set.ts';
import type { CompileResult, CompileSource } from './compile.ts';

const MORE = FLAG_MORE << 16;
const SAYS_SOMETHING = (FLAG_BLOCK | FLAG_ALLOW) << 16;

/** As engine/filter/rule-program.ts lays them out. */
type PatternWords = readonly [tag: number, line: number, terms: number, at: number, length: number];
type AddressWords = readonly [
  ...address: readonly [number, number, number, number],
  bits: number,
  tag: number,
  line: number,
  terms: number,
];

export interface NameChanges {
  readonly listId: number;
  /** Distinct names, patterns and networks. */
  readonly added: number;
  readonly removed: number;
}

/** Lists of which the compiler has taken a new copy in place of another one. */
export function listsToCount(
  sources: readonly CompileSource[],
  results: readonly CompileResult[],
): Set<number> {
  const ids = sources.flatMap(({ listId, copies }) => {
    const used = results.find((result) => result.listId === listId)?.used ?? null;
    const isNew = used === 'candidate' || used === 'accepted';
    return isNew && copies.some(({ kind }) => kind === 'current') ? [listId] : [];
  });
  return new Set(ids);
}

/** Changes of those of the lists that have rules in the table before. */
export function countChanges(
  before: RuleBuffers,
  after: RuleBuffers,
  listIds: ReadonlySet<number>,
): NameChanges[] {
  if (listIds.size === 0) return [];
  const [old, fresh] = [new Reader(before), new Reader(after)];
  const counts = [...listIds].map((listId) => ({ listId, before: 0, after: 0, common: 0 }));
  const ofList = new Map(counts.map((count) => [count.listId, count]));
  old.forEachEntry((entry) => {
    const count = ofList.get(old.listOf(entry));
    if (count) count.before++;
  });
  fresh.forEachEntry((entry) => {
    const count = ofList.get(fresh.listOf(entry));
    if (!count) return;
    count.after++;
    if (old.has(fresh, entry)) count.common++;
  });
  for (const count of counts) {
    const [left, right] = [old.othersOf(count.listId), fresh.othersOf(count.listId)];
    count.before += left.size;
    count.after += right.size;
    for (const text of right) if (left.has(text)) count.common++;
  }
  return counts
    .filter((count) => count.before > 0)
    .map(({ listId, before: was, after: is, common }) => {
      return { listId, added: is - common, removed: was - common };
    });
}

/** Both parts of a rule set, entry by entry. */
class Reader {
  readonly #parts: TableParts;
  readonly #program: RuleProgram | null;

  constructor({ table, program }: RuleBuffers) {
    this.#parts = tableParts(table);
    this.#program = program === null ? null : new RuleProgram(program);
  }

  forEachEntry(visit: (entry: number) => void): void {
    const count = this.#parts.entries.length / ENTRY_WORDS;
    for (let entry = 0; entry < count; entry++) {
      if ((this.#tag(entry) & SAYS_SOMETHING) !== 0) visit(entry);
    }
  }

  listOf(entry: number): number {
    return this.#tag(entry) & 0xffff;
  }

  /** Whether an entry of another table, with name, list, flags and terms, is in this one, too. */
  has(other: Reader, entry: number): boolean {
    const { names } = other.#parts;
    const start = other.#parts.entries[entry * ENTRY_WORDS] as number;
    let end = start;
    while (names[end] !== 0) end += (names[end] as number) + 1;
    let here = this.#find(names, start, end);
    if (here < 0) return false;
    const tag = other.#tag(entry) & ~MORE;
    for (; ; here++) {
      const there = this.#tag(here);
      const isSame = (there & ~MORE) === tag;
      if (isSame && this.#termsOf(here) === other.#termsOf(entry)) return true;
      if ((there & MORE) === 0) return false;
    }
  }

  /** Patterns and networks of a list, each as a text that tells it from all others. */
  othersOf(listId: number): Set<string> {
    const found = new Set<string>();
    if (this.#program === null) return found;
    const { patterns, addresses } = this.#program.parts;
    for (let at = 0; at < patterns.length; at += PATTERN_WORDS) {
      const pattern = patterns.subarray(at, at + PATTERN_WORDS) as unknown as PatternWords;
      const [tag, , terms, offset, length] = pattern;
      if ((tag & 0xffff) !== listId) continue;
      found.add(`${String(tag)} ${this.#termsText(terms)} ${this.#textAt(offset, length)}`);
    }
    for (let at = 0; at < addresses.length; at += ADDRESS_WORDS) {
      const words = addresses.subarray(at, at + ADDRESS_WORDS);
      const [, , , , bits, tag, , terms] = words as unknown as AddressWords;
      if (bits === 0 || (tag & 0xffff) !== listId) continue;
      found.add(`${words.subarray(0, 6).join()} ${this.#termsText(terms)}`);
    }
    return found;
  }

  /** First entry of a name; -1 when it is not listed. */
  #find(bytes: Uint8Array, start: number, end: number): number {
    const { slots, entries, names } = this.#parts;
    const hash = hashName(bytes, start, end);
    const mask = slots.length - 1;
    for (let at = hash & mask; ; at = (at + 1) & mask) {
      const slot = slots[at] as number;
      if (slot === 0) return -1;
      if ((slot ^ hash) >>> 24 !== 0) continue;
      const entry = (slot & 0xffffff) - 1;
      const stored = entries[entry * ENTRY_WORDS] as number;
      let length = 0;
      while (start + length < end && names[stored + length] === bytes[start + length]) length++;
      if (start + length === end && names[stored + length] === 0) return entry;
    }
  }

  #tag(entry: number): number {
    return this.#parts.entries[entry * ENTRY_WORDS + 2] as number;
  }

  /** Terms of an entry's rule, as text; '' without. */
  #termsOf(entry: number): string {
    if ((this.#tag(entry) & (FLAG_RULE << 16)) === 0 || this.#program === null) return '';
    const rule = this.#parts.entries[entry * ENTRY_WORDS + 1] as number;
    return this.#termsText(this.#program.parts.rules[rule * 2 + 1] as number);
  }

  /** @param indexPlusOne  0 for none */
  #termsText(indexPlusOne: number): string {
    if (indexPlusOne === 0 || this.#program === null) return '';
    const { terms } = this.#program.parts;
    const at = (indexPlusOne - 1) * TERMS_WORDS;
    return this.#textAt(terms[at] as number, terms[at + 1] as number);
  }

  #textAt(offset: number, length: number): string {
    const bytes = this.#program?.data.slice(offset, offset + length) ?? new Uint8Array(0);
    return Buffer.from(bytes).toString('latin1');
  }
}
