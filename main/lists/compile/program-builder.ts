/**
 * Builds a rule program (engine/filter/rule-program.ts) rule by rule. Used by rule-set-builder.ts only.
 *
 * Patterns are filed here: each under the rarest bytes it cannot do without, as long as not too much
 * is filed under the same ones; those for which nothing is left go among the few that are always
 * tried, and when these are too many the pattern is refused.
 */
import { LIMITS } from '../../contract/limits.ts';
import { addressHash, addressWord } from '../../engine/filter/address-triggers.ts';
import { gramHash } from '../../engine/filter/pattern-set.ts';
import {
  ADDRESS_WORDS,
  FEATURE_PER_CLIENT,
  FEATURE_UNDO,
  GRAM_WORDS,
  MEMBER_LAST,
  PATTERN_INVERTED,
  PATTERN_REGEX,
  PATTERN_WORDS,
  PROGRAM_HEADER_WORDS,
  PROGRAM_PARTS,
  programBytes,
  sealProgram,
  type ProgramPart,
} from '../../engine/filter/rule-program.ts';
import { LINE_RESULT, type Verdict } from '../formats/line-result.ts';
import { commonness, gramsOf, rateStrings, wildcardStrings } from '../formats/grams.ts';
import { requiredStrings, type StringSet } from '../formats/regex-literals.ts';
import type { Terms } from '../formats/rule-sink.ts';

/** What a try costs, in the unit of LIMITS.patternsGramCostMax. */
const WILDCARD_COST = 2;
const REGEX_COST = 8;
/** Bits of the filter for each gram: one in so many looks goes on for nothing. */
const FILTER_BITS_PER_GRAM = 32;

interface Pattern {
  readonly tag: number;
  readonly line: number;
  /** Index + 1. */
  readonly terms: number;
  readonly text: string;
  /** Under which it is filed; none: always tried. */
  readonly grams: readonly number[];
}

interface Trigger {
  readonly address: Uint8Array;
  readonly bits: number;
  readonly tag: number;
  readonly line: number;
  readonly terms: number;
}

export class ProgramBuilder {
  readonly #rules: number[] = [];
  readonly #terms: string[] = [];
  readonly #termsIndex = new Map<string, number>();
  #patterns: Pattern[] = [];
  readonly #gramCost = new Map<number, number>();
  #alwaysCost = 0;
  readonly #triggers: Trigger[] = [];
  readonly #triggerKeys = new Set<string>();
  #bytes = 0;
  #features = 0;

  /** Index + 1 of these terms; 0 for none; -1 when there are too many. */
  internTerms(terms: Terms): number {
    if (terms === null) return 0;
    const text = JSON.stringify(terms);
    const known = this.#termsIndex.get(text);
    if (known !== undefined) return known;
    if (this.#terms.length >= LIMITS.programTermsMax || text.length > LIMITS.termsBytesMax)
      return -1;
    if (!this.#reserve(text.length * 3 + 8)) return -1;
    if (isPerClient(terms)) this.#features |= FEATURE_PER_CLIENT;
    if (terms.undo !== undefined) this.#features |= FEATURE_UNDO;
    this.#terms.push(text);
    this.#termsIndex.set(text, this.#terms.length);
    return this.#terms.length;
  }

  /** The terms behind an index + 1. */
  termsOf(indexPlusOne: number): Terms {
    if (indexPlusOne === 0) return null;
    return JSON.parse(this.#terms[indexPlusOne - 1] as string) as Terms;
  }

  /** The index of a new rule for a table entry; -1 when there are too many. */
  addRule(line: number, terms: number): number {
    if (this.#rules.length / 2 >= LIMITS.programRulesMax || !this.#reserve(8)) return -1;
    this.#rules.push(line, terms);
    return this.#rules.length / 2 - 1;
  }

  /** Index + 1 of the terms of a rule. */
  ruleTerms(rule: number): number {
    return this.#rules[rule * 2 + 1] as number;
  }

  setRuleTerms(rule: number, terms: number): void {
    this.#rules[rule * 2 + 1] = terms;
  }

  get patternCount(): number {
    return this.#patterns.length;
  }

  get triggerCount(): number {
    return this.#triggers.length;
  }

  /** @param tag  flags << 16 | list id, with PATTERN_REGEX for an expression */
  addPattern(text: string, tag: number, line: number, terms: number): Verdict {
    if (this.#patterns.length >= LIMITS.patternsMax) return LINE_RESULT.patternsFull;
    const flags = tag >>> 16;
    const isRegex = (flags & PATTERN_REGEX) !== 0;
    const cost = isRegex ? REGEX_COST : WILDCARD_COST;
    const isInverted = (flags & PATTERN_INVERTED) !== 0;
    const grams = isInverted ? [] : this.#chooseGrams(setsOf(text, isRegex), cost);
    if (grams.length === 0) {
      if (this.#alwaysCost + cost > LIMITS.patternsAlwaysCostMax) return LINE_RESULT.patternCost;
      this.#alwaysCost += cost;
    }
    if (!this.#reserve(text.length * 3 + PATTERN_WORDS * 4 + grams.length * 24)) {
      return LINE_RESULT.patternsFull;
    }
    for (const gram of grams) this.#gramCost.set(gram, (this.#gramCost.get(gram) ?? 0) + cost);
    this.#patterns.push({ tag, line, terms, text, grams });
    return LINE_RESULT.rule;
  }

  /** Takes out the patterns that `isOut` names. */
  removePatterns(isOut: (text: string, tag: number, terms: number) => boolean): void {
    this.#patterns = this.#patterns.filter(({ text, tag, terms }) => !isOut(text, tag, terms));
  }

  addTrigger(trigger: Trigger): Verdict {
    const { address, bits, tag, terms } = trigger;
    const key = `${Buffer.from(address).toString('latin1')}${[bits, tag, terms].join()}`;
    if (this.#triggerKeys.has(key)) return LINE_RESULT.rule;
    if (this.#triggers.length >= LIMITS.addressTriggersMax) return LINE_RESULT.rulesFull;
    if (!this.#reserve(ADDRESS_WORDS * 16)) return LINE_RESULT.rulesFull;
    this.#triggerKeys.add(key);
    this.#triggers.push(trigger);
    return LINE_RESULT.rule;
  }

  /** Null when there is nothing to build. */
  finish(): SharedArrayBuffer | null {
    const isEmpty = [this.#rules, this.#patterns, this.#triggers].every(
      ({ length }) => length === 0,
    );
    if (isEmpty) return null;
    const data: Buffer[] = [];
    const parts: Record<ProgramPart, ArrayLike<number>> = {
      rules: this.#rules,
      terms: this.#layOutTexts(data),
      patterns: this.#layOutPatterns(data),
      always: this.#patterns.flatMap(({ grams }, index) => (grams.length === 0 ? [index] : [])),
      ...this.#layOutGrams(),
      addresses: this.#layOutTriggers(),
      prefixes: [...new Set(this.#triggers.map(({ bits }) => bits))].sort((a, b) => b - a),
    };
    const texts = Buffer.concat(data);
    const counts = PROGRAM_PARTS.map(([name, size]) => parts[name].length / size);
    const buffer = new SharedArrayBuffer(programBytes(counts, texts.length));
    const words = new Int32Array(buffer);
    let at = PROGRAM_HEADER_WORDS;
    for (const [name] of PROGRAM_PARTS) {
      words.set(parts[name], at);
      at += parts[name].length;
    }
    new Uint8Array(buffer, at * 4).set(texts);
    sealProgram(buffer, counts, texts.length, this.#features);
    return buffer;
  }

  #reserve(bytes: number): boolean {
    if (this.#bytes + bytes > LIMITS.programBytesMax / 2) return false;
    this.#bytes += bytes;
    return true;
  }

  /** The grams of the set under which least is filed; [] when no set will do. */
  #chooseGrams(sets: readonly StringSet[], cost: number): readonly number[] {
    let best: { grams: readonly number[]; weight: number } | null = null;
    for (const set of sets) {
      const found = this.#gramsOfSet(set, cost);
      if (found !== null && (best === null || found.weight < best.weight)) best = found;
    }
    return best?.grams ?? [];
  }

  /** The rarest gram of each string that is not too full already; null if one string has none. */
  #gramsOfSet(set: StringSet, cost: number): { grams: readonly number[]; weight: number } | null {
    const grams: number[] = [];
    let weight = 0;
    for (const text of set) {
      const choice = this.#rarestGram(text, cost);
      if (choice === null) return null;
      weight += choice.weight;
      if (!grams.includes(choice.gram)) grams.push(choice.gram);
    }
    return { grams, weight };
  }

  #rarestGram(text: string, cost: number): { gram: number; weight: number } | null {
    let best: { gram: number; weight: number } | null = null;
    for (const gram of gramsOf(text)) {
      const load = this.#gramCost.get(gram) ?? 0;
      const weight = load + cost + commonness(gram) * REGEX_COST;
      if (load + cost > LIMITS.patternsGramCostMax) continue;
      if (best === null || weight < best.weight) best = { gram, weight };
    }
    return best;
  }

  #layOutTexts(data: Buffer[]): number[] {
    let offset = 0;
    return this.#terms.flatMap((text) => {
      const bytes = Buffer.from(text);
      data.push(bytes);
      offset += bytes.length;
      return [offset - bytes.length, bytes.length];
    });
  }

  #layOutPatterns(data: Buffer[]): number[] {
    let offset = data.reduce((sum, { length }) => sum + length, 0);
    return this.#patterns.flatMap(({ tag, line, terms, text }) => {
      const isRegex = ((tag >>> 16) & PATTERN_REGEX) !== 0;
      const bytes = Buffer.from(text, isRegex ? 'utf8' : 'latin1');
      data.push(bytes);
      offset += bytes.length;
      return [tag, line, terms, offset - bytes.length, bytes.length];
    });
  }

  #layOutGrams(): { grams: Int32Array; members: number[]; filter: Int32Array } {
    const byGram = new Map<number, number[]>();
    for (const [index, pattern] of this.#patterns.entries()) {
      for (const gram of pattern.grams) {
        const run = byGram.get(gram);
        if (run === undefined) byGram.set(gram, [index]);
        else run.push(index);
      }
    }
    const members: number[] = [];
    if (byGram.size === 0) return { grams: new Int32Array(0), members, filter: new Int32Array(0) };
    const slots = powerOfTwo(byGram.size * 2);
    const grams = new Int32Array(slots * GRAM_WORDS);
    const filter = new Int32Array(powerOfTwo(byGram.size * FILTER_BITS_PER_GRAM) / 32);
    for (const [gram, run] of byGram) {
      let slot = gramHash(gram) & (slots - 1);
      while (grams[slot * GRAM_WORDS + 1] !== 0) slot = (slot + 1) & (slots - 1);
      grams.set([gram, members.length + 1], slot * GRAM_WORDS);
      for (const [at, index] of run.entries()) {
        members.push(at === run.length - 1 ? index | MEMBER_LAST : index);
      }
      const bit = gramHash(gram) >>> 7;
      const word = (bit & (filter.length * 32 - 1)) >>> 5;
      filter[word] = (filter[word] as number) | (1 << (bit & 31));
    }
    return { grams, members, filter };
  }

  #layOutTriggers(): Int32Array {
    if (this.#triggers.length === 0) return new Int32Array(0);
    const slots = powerOfTwo(this.#triggers.length * 2);
    const words = new Int32Array(slots * ADDRESS_WORDS);
    for (const { address, bits, tag, line, terms } of this.#triggers) {
      const key = [0, 1, 2, 3].map((index) => addressWord(address, index, bits)) as Words;
      let slot = addressHash(...key, bits) & (slots - 1);
      while (words[slot * ADDRESS_WORDS + 4] !== 0) slot = (slot + 1) & (slots - 1);
      words.set([...key, bits + 1, tag, line, terms], slot * ADDRESS_WORDS);
    }
    return words;
  }
}

type Words = [number, number, number, number];

function isPerClient(terms: NonNullable<Terms>): boolean {
  const { clients, notClients, tags, notTags, rewrite } = terms;
  // What holds over UDP alone may not be remembered for all, either.
  if (rewrite?.tcpOnly === true) return true;
  return [clients, notClients, tags, notTags].some((condition) => condition !== undefined);
}

function setsOf(text: string, isRegex: boolean): readonly StringSet[] {
  return isRegex ? requiredStrings(text, rateStrings) : wildcardStrings(text);
}

function powerOfTwo(least: number): number {
  let size = 32;
  while (size < least) size *= 2;
  return size;
}
