/**
 * Who decides about a name. The first layer that says anything does (docs/filtering.md):
 *
 *   first rules  >  rules of the client's group  >  the user's rules  >  policies  >  services
 *                                                                               >  lists
 *
 * First rules are the user's temporary ones, and those that name single clients.
 * Among rules and lists: important allow, important block, allow, block; see rule-set.ts. Among
 * policies the order of policy-table.ts. "Services" are blocked services, safe search and bypass
 * prevention.
 *
 * Used by steps/filter.ts for the name that was asked, by steps/second-look.ts for the names an
 * answer leads to, and by explain.ts, so that the three cannot disagree. Allocates nothing.
 */
import type { NameView } from '../../dns/name.ts';
import type { MatchContext } from './match-context.ts';
import { LIST_ID_RULES, type Policy } from './policy.ts';
import type { PolicyTable, TableEntry } from './policy-table.ts';
import {
  RULE_ALLOW,
  RULE_IMPORTANT_ALLOW,
  RULE_NONE,
  type Rewrite,
  type RuleSet,
} from './rule-set.ts';

const DOT = 0x2e;

/** Nothing names it. */
export const VERDICT_NONE = 0;
export const VERDICT_LIST_BLOCK = 1;
export const VERDICT_LIST_ALLOW = 2;
export const VERDICT_USER_BLOCK = 3;
export const VERDICT_USER_ALLOW = 4;
/** By a rule of the client's group. */
export const VERDICT_CLIENT_BLOCK = 5;
export const VERDICT_CLIENT_ALLOW = 6;
/** A policy blocks or redirects; which one is in the context. */
export const VERDICT_POLICY_BLOCK = 7;
export const VERDICT_POLICY_ALLOW = 8;
/** As VERDICT_POLICY_BLOCK, for services. */
export const VERDICT_SERVICE_BLOCK = 9;
/** By a rule that is temporary or names its clients. */
export const VERDICT_FIRST_BLOCK = 10;
export const VERDICT_FIRST_ALLOW = 11;
export type Verdict =
  | typeof VERDICT_NONE
  | typeof VERDICT_LIST_BLOCK
  | typeof VERDICT_LIST_ALLOW
  | typeof VERDICT_USER_BLOCK
  | typeof VERDICT_USER_ALLOW
  | typeof VERDICT_CLIENT_BLOCK
  | typeof VERDICT_CLIENT_ALLOW
  | typeof VERDICT_POLICY_BLOCK
  | typeof VERDICT_POLICY_ALLOW
  | typeof VERDICT_SERVICE_BLOCK
  | typeof VERDICT_FIRST_BLOCK
  | typeof VERDICT_FIRST_ALLOW;

/** The winning verdict. Details stay in the fields of the rule set, or in the context. */
export function decide(policy: Policy, view: NameView, context: MatchContext): Verdict {
  const first = policy.firstRules;
  const byFirst = first ? first.match(view, context) : RULE_NONE;
  if (byFirst !== RULE_NONE) return isAllow(byFirst) ? VERDICT_FIRST_ALLOW : VERDICT_FIRST_BLOCK;
  const own = context.profile.rules;
  const byOwn = own === null ? RULE_NONE : own.match(view, context);
  if (byOwn !== RULE_NONE) return isAllow(byOwn) ? VERDICT_CLIENT_ALLOW : VERDICT_CLIENT_BLOCK;
  const { rules, lists } = policy;
  const byRules = rules.ruleCount === 0 ? RULE_NONE : rules.match(view, context);
  if (byRules !== RULE_NONE) return isAllow(byRules) ? VERDICT_USER_ALLOW : VERDICT_USER_BLOCK;
  const byPolicies = decideByTables(policy, view, context);
  if (byPolicies !== VERDICT_NONE) return byPolicies;
  const byLists = lists.ruleCount === 0 ? RULE_NONE : lists.match(view, context);
  if (byLists === RULE_NONE) return VERDICT_NONE;
  return isAllow(byLists) ? VERDICT_LIST_ALLOW : VERDICT_LIST_BLOCK;
}

function decideByTables(policy: Policy, view: NameView, context: MatchContext): Verdict {
  const { policies, services } = policy;
  const { policyMask, serviceMask } = context.profile;
  if (policies && ask(policies, view, context, policyMask)) {
    return isLetThrough(context.entry, view) ? VERDICT_POLICY_ALLOW : VERDICT_POLICY_BLOCK;
  }
  return services && ask(services, view, context, serviceMask)
    ? VERDICT_SERVICE_BLOCK
    : VERDICT_NONE;
}

/** A redirect lets the name through that it leads to. */
function isLetThrough(entry: TableEntry | null, view: NameView): boolean {
  if (entry?.action !== 'redirect') return entry?.action === 'allow';
  return entry.rewrite !== null && isNameOf(view, entry.rewrite.cname);
}

/**
 * Whether the text, lower case and without a trailing dot, spells the name. A dot inside of a label,
 * which is escaped in a text, is never found alike.
 */
function isNameOf(view: NameView, text: string): boolean {
  if (text === '' || view.nameLength !== text.length + 1) return false;
  let label = 1;
  for (let at = 1; at < view.nameLength; at++) {
    const isStart = label < view.labelCount && view.labelStarts[label] === at;
    if (isStart) label++;
    if (text.charCodeAt(at - 1) !== (isStart ? DOT : (view.name[at] as number))) return false;
  }
  return true;
}

/** Leaves the winner in the context. */
function ask(table: PolicyTable, view: NameView, context: MatchContext, mask: Uint8Array): boolean {
  const index = table.match(view, context, mask);
  if (index < 0) return false;
  context.entry = table.entries[index] ?? null;
  context.entryLabels = table.labels;
  return true;
}

function isAllow(rank: number): boolean {
  return rank === RULE_ALLOW || rank === RULE_IMPORTANT_ALLOW;
}

/** Whether a verdict blocks, or answers with something else than the name's own records. */
export function isBlock(verdict: Verdict): boolean {
  return (
    verdict === VERDICT_USER_BLOCK ||
    verdict === VERDICT_LIST_BLOCK ||
    verdict === VERDICT_CLIENT_BLOCK ||
    verdict === VERDICT_FIRST_BLOCK ||
    isByTable(verdict)
  );
}

/** Whether the user himself allows it: with all that it leads to. */
export function isUserAllow(verdict: Verdict): boolean {
  return (
    verdict === VERDICT_USER_ALLOW ||
    verdict === VERDICT_CLIENT_ALLOW ||
    verdict === VERDICT_FIRST_ALLOW ||
    verdict === VERDICT_POLICY_ALLOW
  );
}

/** Whether a policy or a service that blocks is in the context. */
export function isByTable(verdict: Verdict): boolean {
  return verdict === VERDICT_POLICY_BLOCK || verdict === VERDICT_SERVICE_BLOCK;
}

/** The rules that the last `decide` went by, with the winner in its fields; null for none. */
export function decidingRules(
  policy: Policy,
  verdict: Verdict,
  context: MatchContext,
): RuleSet | null {
  switch (verdict) {
    case VERDICT_FIRST_ALLOW:
    case VERDICT_FIRST_BLOCK:
      return policy.firstRules ?? null;
    case VERDICT_CLIENT_ALLOW:
    case VERDICT_CLIENT_BLOCK:
      return context.profile.rules;
    case VERDICT_USER_ALLOW:
    case VERDICT_USER_BLOCK:
      return policy.rules;
    case VERDICT_LIST_ALLOW:
    case VERDICT_LIST_BLOCK:
      return policy.lists;
    default:
      return null;
  }
}

/** What the last `decide` wants answered in place of the blocking answer; null for nothing. */
export function decidingRewrite(
  policy: Policy,
  verdict: Verdict,
  context: MatchContext,
): Rewrite | null {
  if (isByTable(verdict)) return context.entry?.rewrite ?? null;
  return decidingRules(policy, verdict, context)?.rewrite ?? null;
}

/** The list that the last `decide` went by; LIST_ID_RULES for the user's own rules. */
export function decidingList(policy: Policy, verdict: Verdict, context: MatchContext): number {
  const rules = decidingRules(policy, verdict, context);
  return (rules ?? context.entry)?.listId ?? LIST_ID_RULES;
}

/** Labels of the listed name that the last `decide` went by; 0 for a pattern. */
export function decidingLabels(policy: Policy, verdict: Verdict, context: MatchContext): number {
  return decidingRules(policy, verdict, context)?.labels ?? context.entryLabels;
}
