/**
 * The rules that come before all others: those that end by themselves, and those of the settings
 * that name single clients. Compiled by policy-builder.ts at each change, and
 * read back by check.ts. Pure.
 */
import type { RuleBuffers } from '../../engine/filter/rule-set.ts';
import { compileRules } from '../../lists/compile/rules.ts';
import { hasModifier, withModifier } from './rule-text.ts';

export interface PriorityRule {
  readonly rule: string;
  /** 1-based number among the rules of the settings; 0 for a temporary one. */
  readonly line: number;
  /** Milliseconds since 1970; null for a lasting one. */
  readonly endsAtMs: number | null;
}

/** Line n of the table is the n-th of these. */
export function listPriorityRules(
  rules: readonly string[],
  temporary: readonly TemporaryRule[],
): PriorityRule[] {
  const lasting = rules.flatMap((rule, index) =>
    isForClients(rule) ? [{ rule, line: index + 1, endsAtMs: null }] : [],
  );
  return [...temporary.map((one) => ({ ...one, line: 0 })), ...lasting];
}

/** Whether a rule of the settings is one of these. */
export function isForClients(rule: string): boolean {
  return rule.includes('$') && hasModifier(rule, 'client');
}

/** Null when there are none. What was asked for just now comes before what lasts. */
export function compilePriorityRules(rules: readonly PriorityRule[]): RuleBuffers | null {
  if (rules.length === 0) return null;
  return compileRules(
    rules.map(({ rule, endsAtMs }) =>
      endsAtMs === null || hasModifier(rule, 'important') ? rule : withModifier(rule, 'important'),
    ),
  );
}

export interface TemporaryRule {
  readonly rule: string;
  /** Milliseconds since 1970, as the wall clock stands now. */
  readonly endsAtMs: number;
}
