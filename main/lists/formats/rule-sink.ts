/**
 * What line parsers turn lines into, and where it goes: names, patterns and networks, with flags and
 * terms. Taken by rule-set-builder.ts; tests take them apart by themselves.
 */
import type { RuleTermsText } from '../../engine/filter/rule-terms.ts';
import type { HostName } from './host-name.ts';
import { LINE_RESULT, type Verdict } from './line-result.ts';

/**
 * Beside the flags of engine/filter/domain-table.ts: the rule is not one, but takes its equals out,
 * wherever they stand.
 */
export const BADFILTER = 1 << 12;
/**
 * The same for names of a zone whose wildcards hold as in the DNS: they do not reach past a name that
 * exists (RFC 4592). The builder makes nodes of those (FLAG_CLOSEST in engine/filter/domain-table.ts).
 */
export const ZONE_OWNER = 1 << 11;

export type Terms = RuleTermsText | null;

/** Each call returns VERDICT.rule, or why the rule was not taken. */
export interface RuleSink {
  /** `name` is overwritten afterwards. */
  addName(name: HostName, flags: number, line: number, terms: Terms): Verdict;
  /** @param pattern  as engine/filter/wildcard.ts has it, a character for each byte */
  addWildcard(pattern: string, flags: number, line: number, terms: Terms): Verdict;
  /** @param source  an expression that compiles; flags may have PATTERN_INVERTED */
  addRegex(source: string, flags: number, line: number, terms: Terms): Verdict;
  /** @param address  16 bytes, IPv4 as ::ffff:a.b.c.d; bits behind `bits` are 0 */
  addNetwork(address: Uint8Array, bits: number, flags: number, line: number, terms: Terms): Verdict;
}

/** Takes everything and keeps nothing, for a trial run that wants the verdicts only. */
export const NO_SINK: RuleSink = {
  addName: () => LINE_RESULT.rule,
  addWildcard: () => LINE_RESULT.rule,
  addRegex: () => LINE_RESULT.rule,
  addNetwork: () => LINE_RESULT.rule,
};
