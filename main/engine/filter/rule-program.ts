/**
 * The memory beside a domain table that holds all rules which are more than a name: their terms
 * (conditions, answers), patterns, and triggers on addresses.
 *
 * Built by lists/compile/program-builder.ts, opened by rule-set.ts in each thread over the same immutable
 * shared memory. Words are in the machine's byte order. The parts follow the header in this order:
 *
 *   rules      2 words: line | terms + 1           of table entries with FLAG_RULE
 *   terms      2 words: offset | length            JSON in the data part, see rule-terms.ts
 *   patterns   5 words: tag | line | terms + 1 | offset | length    text in the data part
 *   always     1 word:  pattern                    those that no gram stands for
 *   grams      2 words: gram | first member + 1    open addressing, a power of two of slots
 *   members    1 word:  pattern, MEMBER_LAST at the end of a gram's run
 *   filter     bits:    hash of a gram             a power of two of words
 *   addresses  8 words: address | bits + 1 | tag | line | terms + 1    open addressing
 *   prefixes   1 word:  bits, longest first        distinct ones of the addresses
 *   data       bytes
 *
 *   tag = flags << 16 | list id, with the flags of domain-table.ts and PATTERN_REGEX
 */
import { RuleTerms } from './rule-terms.ts';

export const PROGRAM_MAGIC = 0x50524c53;
export const PROGRAM_VERSION = 1;
export const PROGRAM_HEADER_WORDS = 16;
export const RULE_WORDS = 2;
export const TERMS_WORDS = 2;
export const PATTERN_WORDS = 5;
export const GRAM_WORDS = 2;
export const ADDRESS_WORDS = 8;
export const MEMBER_LAST = 1 << 31;
/** Flag of a pattern's tag: a regular expression, not a wildcard. */
export const PATTERN_REGEX = 256;
/** Flag of a pattern's tag: it matches the names that its expression does not. */
export const PATTERN_INVERTED = 512;

/** Bits of the features word. */
export const FEATURE_PER_CLIENT = 1;
export const FEATURE_UNDO = 2;

/** Counts in the order of the parts; the data part in bytes. */
export const PROGRAM_PARTS = [
  ['rules', RULE_WORDS],
  ['terms', TERMS_WORDS],
  ['patterns', PATTERN_WORDS],
  ['always', 1],
  ['grams', GRAM_WORDS],
  ['members', 1],
  ['filter', 1],
  ['addresses', ADDRESS_WORDS],
  ['prefixes', 1],
] as const;
export type ProgramPart = (typeof PROGRAM_PARTS)[number][0];

const WORD_BYTES_TOTAL = 2;
const WORD_CHECKSUM = 3;
const WORD_FEATURES = 4;
const WORD_DATA_BYTES = 5;
const WORD_COUNTS = 6;

/** Writes header and checksum of a program whose parts are complete. For builders only. */
export function sealProgram(
  buffer: SharedArrayBuffer,
  counts: readonly number[],
  dataBytes: number,
  features: number,
): void {
  const header = new Int32Array(buffer, 0, PROGRAM_HEADER_WORDS);
  header.set([PROGRAM_MAGIC, PROGRAM_VERSION, buffer.byteLength, 0, features, dataBytes]);
  header.set(counts, WORD_COUNTS);
  header[WORD_CHECKSUM] = checksum(buffer);
}

/** Bytes of a program with these counts, a multiple of 4. */
export function programBytes(counts: readonly number[], dataBytes: number): number {
  let words = PROGRAM_HEADER_WORDS;
  for (const [index, [, size]] of PROGRAM_PARTS.entries()) words += (counts[index] ?? 0) * size;
  return words * 4 + Math.ceil(dataBytes / 4) * 4;
}

function checksum(buffer: SharedArrayBuffer): number {
  const words = new Int32Array(buffer);
  let sum = 0x811c9dc5 | 0;
  for (let at = 0; at < words.length; at++) {
    if (at === WORD_CHECKSUM) continue;
    sum = Math.imul(sum ^ (words[at] as number), 0x01000193);
    sum ^= sum >>> 15;
  }
  return sum;
}

export class RuleProgram {
  readonly buffer: SharedArrayBuffer;
  readonly ruleCount: number;
  readonly patternCount: number;
  readonly addressCount: number;
  /** Bits FEATURE_*. */
  readonly features: number;
  readonly parts: Readonly<Record<ProgramPart, Int32Array>>;
  /** Texts of patterns, and terms. */
  readonly data: Uint8Array;
  readonly #terms: (RuleTerms | undefined)[];

  /** @throws Error on a wrong magic, version or size; the checksum is not looked at here */
  constructor(buffer: SharedArrayBuffer) {
    if (buffer.byteLength < PROGRAM_HEADER_WORDS * 4 || buffer.byteLength % 4 !== 0) {
      throw new Error(`a rule program cannot have ${String(buffer.byteLength)} bytes`);
    }
    const header = new Int32Array(buffer, 0, PROGRAM_HEADER_WORDS);
    if (header[0] !== PROGRAM_MAGIC) throw new Error('not a rule program');
    if (header[1] !== PROGRAM_VERSION) throw new Error('rule program of another version');
    const counts = [...header.subarray(WORD_COUNTS, WORD_COUNTS + PROGRAM_PARTS.length)];
    const dataBytes = header[WORD_DATA_BYTES] as number;
    const isSane = dataBytes >= 0 && counts.every((count) => count >= 0);
    const total = header[WORD_BYTES_TOTAL];
    if (!isSane || total !== buffer.byteLength || programBytes(counts, dataBytes) !== total) {
      throw new Error(`rule program of ${String(buffer.byteLength)} bytes has damaged sizes`);
    }
    this.buffer = buffer;
    this.features = header[WORD_FEATURES] as number;
    let at = PROGRAM_HEADER_WORDS * 4;
    const parts = PROGRAM_PARTS.map(([name, size], index) => {
      const part = new Int32Array(buffer, at, (counts[index] as number) * size);
      at += part.byteLength;
      return [name, part] as const;
    });
    this.parts = Object.fromEntries(parts) as Record<ProgramPart, Int32Array>;
    this.data = new Uint8Array(buffer, at, dataBytes);
    this.ruleCount = this.parts.rules.length / RULE_WORDS;
    this.patternCount = this.parts.patterns.length / PATTERN_WORDS;
    const slots = this.parts.addresses.length / ADDRESS_WORDS;
    this.addressCount = slots === 0 ? 0 : this.#countAddresses(slots);
    this.#terms = new Array<RuleTerms | undefined>(this.parts.terms.length / TERMS_WORDS);
  }

  /** Whether the checksum holds. Reads the whole memory. */
  verify(): boolean {
    return new Int32Array(this.buffer)[WORD_CHECKSUM] === checksum(this.buffer);
  }

  /** 1-based line of a rule that a table entry with FLAG_RULE names. */
  ruleLine(rule: number): number {
    return this.parts.rules[rule * RULE_WORDS] as number;
  }

  ruleTerms(rule: number): RuleTerms | null {
    return this.termsAt(this.parts.rules[rule * RULE_WORDS + 1] as number);
  }

  patternTerms(pattern: number): RuleTerms | null {
    return this.termsAt(this.parts.patterns[pattern * PATTERN_WORDS + 2] as number);
  }

  /** Terms by their index + 1, read at their first use; null for 0. */
  termsAt(indexPlusOne: number): RuleTerms | null {
    if (indexPlusOne === 0) return null;
    return this.#terms[indexPlusOne - 1] ?? this.#readTerms(indexPlusOne - 1);
  }

  #readTerms(index: number): RuleTerms {
    const offset = this.parts.terms[index * TERMS_WORDS] as number;
    const length = this.parts.terms[index * TERMS_WORDS + 1] as number;
    const terms = RuleTerms.read(this.data.slice(offset, offset + length));
    this.#terms[index] = terms;
    return terms;
  }

  #countAddresses(slots: number): number {
    let count = 0;
    for (let slot = 0; slot < slots; slot++) {
      if (this.parts.addresses[slot * ADDRESS_WORDS + 4] !== 0) count++;
    }
    return count;
  }
}
