/**
 * Builds a rule set (engine/filter/rule-set.ts): plain names go into a domain table, everything else into
 * the rule program beside it. Used by the compile thread for lists and by rules.ts for user rules.
 */
import { LIMITS } from '../../contract/limits.ts';
import { FLAG_MORE, FLAG_RULE } from '../../engine/filter/domain-table.ts';
import { PATTERN_REGEX } from '../../engine/filter/rule-program.ts';
import type { RuleBuffers } from '../../engine/filter/rule-set.ts';
import type { RuleTermsText } from '../../engine/filter/rule-terms.ts';
import type { HostName } from '../formats/host-name.ts';
import { LINE_RESULT, type Verdict } from '../formats/line-result.ts';
import { ProgramBuilder } from './program-builder.ts';
import { BADFILTER, ZONE_OWNER, type RuleSink, type Terms } from '../formats/rule-sink.ts';
import { TableBuilder, type PutBytes } from './table-builder.ts';

/** A rule that takes its equals out, for the end. */
interface BadFilter {
  /** Of a name, its wire labels. */
  readonly name: { readonly bytes: Uint8Array; readonly hash: number } | null;
  /** Of a pattern. */
  readonly text: string;
  readonly flags: number;
  /** JSON. */
  readonly terms: string;
}

export class RuleSetBuilder implements RuleSink {
  readonly #table: TableBuilder;
  readonly #program = new ProgramBuilder();
  readonly #badFilters: BadFilter[] = [];
  #listId = 0;
  /** Entries before this list. */
  #listStart = 0;
  #isZone = false;
  #hasRootWildcard = false;
  #nodeCount = 0;

  /** @param textBytes  as in TableBuilder */
  constructor(textBytes = 0) {
    this.#table = new TableBuilder(textBytes);
  }

  /** What comes from here on is of this list. */
  beginList(listId: number): void {
    this.#endList();
    this.#listId = listId;
    this.#listStart = this.#table.entryCount;
  }

  /** A zone's wildcards end at the names that exist. */
  #endList(): void {
    if (this.#isZone) {
      this.#nodeCount += this.#table.addNodes(this.#listId, this.#listStart, this.#hasRootWildcard);
    }
    this.#isZone = this.#hasRootWildcard = false;
  }

  /** Distinct names, each for each list that has it, patterns and networks so far. */
  get entryCount(): number {
    const names = this.#table.entryCount - this.#nodeCount;
    return names + this.#program.patternCount + this.#program.triggerCount;
  }

  /** Distinct names so far. */
  get nameCount(): number {
    return this.#table.nameCount;
  }

  /** @throws TableFull when a bound of the table is reached */
  addName(name: HostName, written: number, line: number, terms: Terms): Verdict {
    if ((written & ZONE_OWNER) !== 0) this.#isZone = true;
    const flags = written & ~ZONE_OWNER;
    if ((flags & BADFILTER) !== 0) {
      const copy = { bytes: name.bytes.slice(0, name.length), hash: name.hash };
      return this.#addBadFilter({ name: copy, text: '', flags, terms: JSON.stringify(terms) });
    }
    if (terms !== null) return this.#addRule(name, flags, line, terms);
    this.#table.add(name.bytes, name.length, name.hash, this.#listId, flags, line);
    return LINE_RESULT.rule;
  }

  addWildcard(pattern: string, flags: number, line: number, terms: Terms): Verdict {
    if ((flags & ZONE_OWNER) !== 0) this.#isZone = this.#hasRootWildcard = true;
    return this.#addPattern(pattern, flags & ~ZONE_OWNER, line, terms);
  }

  addRegex(source: string, flags: number, line: number, terms: Terms): Verdict {
    return this.#addPattern(source, flags | PATTERN_REGEX, line, terms);
  }

  addNetwork(
    address: Uint8Array,
    bits: number,
    flags: number,
    line: number,
    terms: Terms,
  ): Verdict {
    if ((flags & BADFILTER) !== 0) return LINE_RESULT.modifier;
    const index = this.#program.internTerms(terms);
    if (index < 0) return LINE_RESULT.rulesFull;
    const tag = this.#listId | (flags << 16);
    return this.#program.addTrigger({ address: address.slice(), bits, tag, line, terms: index });
  }

  /** Makes the buffers. The builder is of no more use. @param key  as in TableBuilder */
  finish(key?: Uint8Array): RuleBuffers {
    this.#endList();
    this.#applyBadFilters();
    const program = this.#program.finish();
    return { table: this.#table.finish(key), program };
  }

  /**
   * Writes the table, and behind it the program, as in a snapshot. Nothing can be added afterwards;
   * `finish` can still make the buffers, and `clear` gives the memory back.
   *
   * @param key  as in TableBuilder
   */
  write(put: PutBytes, key: Uint8Array): void {
    this.#endList();
    this.#applyBadFilters();
    const at = this.#table.write(put, key);
    const program = this.#program.finish();
    if (program !== null) put(new Uint8Array(program), at);
  }

  clear(): void {
    this.#isZone = false;
    this.#table.clear();
  }

  #addPattern(text: string, flags: number, line: number, terms: Terms): Verdict {
    if ((flags & BADFILTER) !== 0) {
      return this.#addBadFilter({ name: null, text, flags, terms: JSON.stringify(terms) });
    }
    const index = this.#program.internTerms(terms);
    if (index < 0) return LINE_RESULT.rulesFull;
    return this.#program.addPattern(text, this.#listId | (flags << 16), line, index);
  }

  /** A name with terms. Answers of one list for one name, under the same conditions, are joined. */
  #addRule(name: HostName, flags: number, line: number, terms: RuleTermsText): Verdict {
    const { bytes, length, hash } = name;
    const rules = this.#rulesOf(name);
    const tag = this.#listId | ((flags | FLAG_RULE) << 16);
    for (const there of rules) {
      const verdict = there.tag === tag ? this.#join(there.rule, terms) : null;
      if (verdict !== null) return verdict;
    }
    if (rules.length >= LIMITS.rulesPerNameMax) return LINE_RESULT.rulesFull;
    const index = this.#program.internTerms(terms);
    const rule = index < 0 ? -1 : this.#program.addRule(line, index);
    if (rule < 0) return LINE_RESULT.rulesFull;
    this.#table.add(bytes, length, hash, this.#listId, flags | FLAG_RULE, rule);
    return LINE_RESULT.rule;
  }

  #rulesOf({ bytes, length, hash }: HostName): { tag: number; rule: number }[] {
    const rules: { tag: number; rule: number }[] = [];
    this.#table.filter(bytes, length, hash, (tag, rule) => {
      if (((tag >>> 16) & FLAG_RULE) !== 0) rules.push({ tag, rule });
      return true;
    });
    return rules;
  }

  /** Adds the records of `terms` to a rule that is there; null when they are not of a kind. */
  #join(rule: number, terms: RuleTermsText): Verdict | null {
    const there = this.#program.termsOf(this.#program.ruleTerms(rule));
    if (JSON.stringify(there) === JSON.stringify(terms)) return LINE_RESULT.rule;
    const both = there === null ? null : joinRecords(there, terms);
    if (both === null) return null;
    const joined = this.#program.internTerms(both);
    if (joined < 0) return LINE_RESULT.rulesFull;
    this.#program.setRuleTerms(rule, joined);
    return LINE_RESULT.rule;
  }

  #addBadFilter(badFilter: BadFilter): Verdict {
    if (this.#badFilters.length >= LIMITS.badFiltersMax) return LINE_RESULT.rulesFull;
    this.#badFilters.push({ ...badFilter, flags: badFilter.flags & ~BADFILTER });
    return LINE_RESULT.rule;
  }

  /** Once more, it finds nothing. */
  #applyBadFilters(): void {
    for (const badFilter of this.#badFilters) this.#applyBadFilter(badFilter);
    this.#badFilters.length = 0;
  }

  #applyBadFilter({ name, text, flags, terms }: BadFilter): void {
    const isEqual = (tag: number, index: number): boolean =>
      ((tag >>> 16) & ~FLAG_MORE & ~FLAG_RULE) === flags &&
      JSON.stringify(this.#program.termsOf(index)) === terms;
    if (name === null) {
      this.#program.removePatterns((there, tag, index) => there === text && isEqual(tag, index));
      return;
    }
    this.#table.filter(name.bytes, name.bytes.length, name.hash, (tag, line) => {
      const isRule = ((tag >>> 16) & FLAG_RULE) !== 0;
      return !isEqual(tag, isRule ? this.#program.ruleTerms(line) : 0);
    });
  }
}

/** Terms with the records of both; null when they differ in anything else. */
function joinRecords(one: RuleTermsText, other: RuleTermsText): RuleTermsText | null {
  const { rewrite: left, ...conditions } = one;
  const { rewrite: right, ...others } = other;
  if (left?.records === undefined || right?.records === undefined) return null;
  if (JSON.stringify(conditions) !== JSON.stringify(others)) return null;
  const added = right.records.filter((record) => {
    return !left.records?.some((there) => String(there) === String(record));
  });
  return { ...conditions, rewrite: { records: [...left.records, ...added] } };
}
