/**
 * Finds the wildcards and regular expressions of a rule program that a name meets.
 *
 * Each pattern is filed under grams, three or four bytes that every text it matches must have. A
 * name's grams are looked for in a bit field first, then in a table of grams; only the patterns
 * filed there are tried. Patterns without such bytes are tried always; their number is bounded when
 * they are compiled (LIMITS.patternsAlwaysCostMax).
 *
 * The idea of a required literal in front of many expressions is that of RE2's FilteredRE2.
 */
import type { NameView } from '../../dns/name.ts';
import { compileRegex, type NameRegex } from './regex-engine.ts';
import { REGEX_SHELF, type RegexSlots } from './regex-shelf.ts';
import {
  GRAM_WORDS,
  MEMBER_LAST,
  PATTERN_INVERTED,
  PATTERN_REGEX,
  PATTERN_WORDS,
  type RuleProgram,
} from './rule-program.ts';
import { matchesWildcard, TEXT_BYTES_MAX, writeText } from './wildcard.ts';

/** Spreads a gram; its high bits choose the bit of the filter and the slot. */
export function gramHash(gram: number): number {
  const mixed = Math.imul(gram ^ (gram >>> 15), 0x2c1b3c6d);
  return Math.imul(mixed ^ (mixed >>> 12), 0x297a2d39);
}

export class PatternSet {
  /** Patterns that the last `find` found, hits[0, count), in no order, each once. */
  hits = new Int32Array(16);
  readonly #program: RuleProgram;
  readonly #patterns: Int32Array;
  readonly #always: Int32Array;
  readonly #grams: Int32Array;
  readonly #gramMask: number;
  readonly #members: Int32Array;
  readonly #filter: Int32Array;
  readonly #filterMask: number;
  readonly #text = new Uint8Array(TEXT_BYTES_MAX);
  #textLength = 0;
  /** By pattern; compiled at the first try, and kept for as long as there is room. */
  readonly #regexes: RegexSlots;
  /** The text without its marks, by length, made at first use: expressions take whole arrays. */
  readonly #bodies: (Uint8Array | undefined)[] = new Array<undefined>(TEXT_BYTES_MAX);
  /** By pattern: the number of the `find` in which it was last tried. */
  readonly #triedIn: Uint32Array;
  #round = 0;
  #count = 0;

  constructor(program: RuleProgram) {
    const { patterns, always, grams, members, filter } = program.parts;
    this.#program = program;
    this.#patterns = patterns;
    this.#always = always;
    this.#grams = grams;
    this.#gramMask = grams.length / GRAM_WORDS - 1;
    this.#members = members;
    this.#filter = filter;
    this.#filterMask = filter.length * 32 - 1;
    this.#regexes = new Array<NameRegex | undefined>(program.patternCount);
    this.#triedIn = new Uint32Array(program.patternCount);
  }

  /**
   * Finds the patterns that match a name; returns their count.
   * Cost: two probes of the filter a byte; no allocation but for expressions that are not compiled
   * (regex-shelf.ts).
   */
  find(view: NameView): number {
    this.#count = 0;
    this.#round = (this.#round + 1) >>> 0;
    if (this.#round === 0) this.#triedIn.fill(0);
    const text = this.#text;
    const length = (this.#textLength = writeText(view, text));
    const always = this.#always;
    for (let index = 0; index < always.length; index++) this.#try(always[index] as number);
    const filter = this.#filter;
    const mask = this.#filterMask;
    if (filter.length === 0) return this.#count;
    let gram = (text[0] as number) | ((text[1] as number) << 8) | ((text[2] as number) << 16);
    for (let at = 3; at <= length; at++) {
      // `gram` has the three bytes before `at`; the fourth follows.
      const three = gramHash(gram) >>> 7;
      if (((filter[(three & mask) >>> 5] as number) >>> (three & 31)) & 1) this.#look(gram);
      if (at === length) break;
      const whole = gram | ((text[at] as number) << 24);
      const four = gramHash(whole) >>> 7;
      if (((filter[(four & mask) >>> 5] as number) >>> (four & 31)) & 1) this.#look(whole);
      gram = whole >>> 8;
    }
    return this.#count;
  }

  /** Tries the patterns filed under a gram, if there are any. */
  #look(gram: number): void {
    const grams = this.#grams;
    let slot = gramHash(gram) & this.#gramMask;
    for (;;) {
      const member = grams[slot * GRAM_WORDS + 1] as number;
      if (member === 0) return;
      if (grams[slot * GRAM_WORDS] === (gram | 0)) {
        this.#tryRun(member - 1);
        return;
      }
      slot = (slot + 1) & this.#gramMask;
    }
  }

  #tryRun(first: number): void {
    for (let at = first; ; at++) {
      const member = this.#members[at] as number;
      this.#try(member & ~MEMBER_LAST);
      if ((member & MEMBER_LAST) !== 0) return;
    }
  }

  #try(pattern: number): void {
    if (this.#triedIn[pattern] === this.#round) return;
    this.#triedIn[pattern] = this.#round;
    const flags = (this.#patterns[pattern * PATTERN_WORDS] as number) >>> 16;
    const isFound =
      (flags & PATTERN_REGEX) !== 0 ? this.#matchesRegex(pattern) : this.#matchesWildcard(pattern);
    if (isFound === ((flags & PATTERN_INVERTED) !== 0)) return;
    if (this.#count === this.hits.length) this.#growHits();
    this.hits[this.#count++] = pattern;
  }

  #matchesWildcard(pattern: number): boolean {
    const start = this.#patterns[pattern * PATTERN_WORDS + 3] as number;
    const end = start + (this.#patterns[pattern * PATTERN_WORDS + 4] as number);
    return matchesWildcard(this.#program.data, start, end, this.#text, this.#textLength);
  }

  #matchesRegex(pattern: number): boolean {
    const regex = this.#regexes[pattern] ?? this.#compile(pattern);
    const length = this.#textLength - 2;
    const body = this.#bodies[length] ?? this.#body(length);
    return regex.test(body);
  }

  #body(length: number): Uint8Array {
    const body = this.#text.subarray(1, 1 + length);
    this.#bodies[length] = body;
    return body;
  }

  #compile(pattern: number): NameRegex {
    const start = this.#patterns[pattern * PATTERN_WORDS + 3] as number;
    const length = this.#patterns[pattern * PATTERN_WORDS + 4] as number;
    const source = new TextDecoder().decode(this.#program.data.slice(start, start + length));
    const regex = compileRegex(source);
    REGEX_SHELF.put(this.#regexes, pattern, regex);
    return regex;
  }

  /** Twice as many; at most all patterns can match. */
  #growHits(): void {
    const grown = new Int32Array(this.hits.length * 2);
    grown.set(this.hits);
    this.hits = grown;
  }
}
