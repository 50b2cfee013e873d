/**
 * Who decides about a name: the user's own rules come before the lists, and an allow entry before a
 * block entry of the same kind.
 *
 *   user allow  >  user block  >  list allow  >  list block
 *
 * Used by steps/filter.ts for the name that was asked, by steps/second-look.ts for the names an
 * answer leads to, and by explain.ts, so that the three cannot disagree. Allocates nothing.
 */
import { MATCH_ALLOW, MATCH_BLOCK, type NameView } from './domain-table.ts';
import { LIST_ID_RULES, type Policy } from './policy.ts';

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
export function decide(policy: Policy, view: NameView): Verdict {
  const { rules, lists } = policy;
  const byRules = rules.nameCount === 0 ? 0 : rules.match(view);
  if ((byRules & MATCH_ALLOW) !== 0) return VERDICT_USER_ALLOW;
  if ((byRules & MATCH_BLOCK) !== 0) return VERDICT_USER_BLOCK;
  const byLists = lists.nameCount === 0 ? 0 : lists.match(view);
  if ((byLists & MATCH_ALLOW) !== 0) return VERDICT_LIST_ALLOW;
  return (byLists & MATCH_BLOCK) !== 0 ? VERDICT_LIST_BLOCK : VERDICT_NONE;
}

/** Whether a verdict blocks. */
export function isBlock(verdict: Verdict): boolean {
  return verdict === VERDICT_USER_BLOCK || verdict === VERDICT_LIST_BLOCK;
}

/** The list that the last `decide` went by; LIST_ID_RULES for the user's own rules. */
export function decidingList(policy: Policy, verdict: Verdict): number {
  if (verdict === VERDICT_USER_ALLOW || verdict === VERDICT_USER_BLOCK) return LIST_ID_RULES;
  const { lists } = policy;
  return verdict === VERDICT_LIST_ALLOW ? lists.allowListId : lists.blockListId;
}

/** Labels of the listed name that the last `decide` went by. */
export function decidingLabels({ rules, lists }: Policy, verdict: Verdict): number {
  switch (verdict) {
    case VERDICT_USER_ALLOW:
      return rules.allowLabels;
    case VERDICT_USER_BLOCK:
      return rules.blockLabels;
    case VERDICT_LIST_ALLOW:
      return lists.allowLabels;
    case VERDICT_LIST_BLOCK:
      return lists.blockLabels;
    case VERDICT_NONE:
      return 0;
  }
}
