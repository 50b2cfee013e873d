/**
 * Who decides about a name: the user's own rules come before the lists, and an allow rule before a
 * block rule of the same kind.
 *
 *   user allow  >  user block  >  list allow  >  list block
 *
 * Inside either kind important rules come before the others; see rule-set.ts.
 *
 * Used by steps/filter.ts for the name that was asked, by steps/second-look.ts for the names an
 * answer leads to, and by explain.ts, so that the three cannot disagree. Allocates nothing.
 */
import type { NameView } from './domain-table.ts';
import type { MatchContext } from './match-context.ts';
import { LIST_ID_RULES, type Policy } from './policy.ts';
import { RULE_ALLOW, RULE_IMPORTANT_ALLOW, RULE_NONE, type RuleSet } from './rule-set.ts';

/** Nothing names it. */
export const VERDICT_NONE = 0;
export const VERDICT_LIST_BLOCK = 1;
export const VERDICT_LIST_ALLOW = 2;
export const VERDICT_USER_BLOCK = 3;
export const VERDICT_USER_ALLOW = 4;
/** The larger number wins. */
export type Verdict =
  | typeof VERDICT_NONE
  | typeof VERDICT_LIST_BLOCK
  | typeof VERDICT_LIST_ALLOW
  | typeof VERDICT_USER_BLOCK
  | typeof VERDICT_USER_ALLOW;

/** The winning verdict. Details stay in the fields of policy.rules and policy.lists. */
export function decide(policy: Policy, view: NameView, context: MatchContext): Verdict {
  const { rules, lists } = policy;
  const byRules = rules.ruleCount === 0 ? RULE_NONE : rules.match(view, context);
  if (byRules !== RULE_NONE) return isAllow(byRules) ? VERDICT_USER_ALLOW : VERDICT_USER_BLOCK;
  const byLists = lists.ruleCount === 0 ? RULE_NONE : lists.match(view, context);
  if (byLists === RULE_NONE) return VERDICT_NONE;
  return isAllow(byLists) ? VERDICT_LIST_ALLOW : VERDICT_LIST_BLOCK;
}

function isAllow(rank: number): boolean {
  return rank === RULE_ALLOW || rank === RULE_IMPORTANT_ALLOW;
}

/** Whether a verdict blocks. */
export function isBlock(verdict: Verdict): boolean {
  return verdict === VERDICT_USER_BLOCK || verdict === VERDICT_LIST_BLOCK;
}

/** The rules that the last `decide` went by, with the winner in its fields; null for none. */
export function decidingRules(policy: Policy, verdict: Verdict): RuleSet | null {
  switch (verdict) {
    case VERDICT_USER_ALLOW:
    case VERDICT_USER_BLOCK:
      return policy.rules;
    case VERDICT_LIST_ALLOW:
    case VERDICT_LIST_BLOCK:
      return policy.lists;
    case VERDICT_NONE:
      return null;
  }
}

/** The list that the last `decide` went by; LIST_ID_RULES for the user's own rules. */
export function decidingList(policy: Policy, verdict: Verdict): number {
  return decidingRules(policy, verdict)?.listId ?? LIST_ID_RULES;
}

/** Labels of the listed name that the last `decide` went by; 0 for a pattern. */
export function decidingLabels(policy: Policy, verdict: Verdict): number {
  return decidingRules(policy, verdict)?.labels ?? 0;
}
