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
 * Used by steps/filter.ts for the name that was asked, by steps/response-filter.ts for the names an
 * answer leads to, and by explain.ts, so that the three cannot disagree. Allocates nothing.
 */
import type { NameView } from '../../dns/name.ts';
import type { MatchContext } from './match-context.ts';
import { LIST_ID_RULES, type EngineConfig } from './engine-config.ts';
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
export const VERDICT_PRIORITY_BLOCK = 10;
export const VERDICT_PRIORITY_ALLOW = 11;
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
  | typeof VERDICT_PRIORITY_BLOCK
  | typeof VERDICT_PRIORITY_ALLOW;

/** The winning verdict. Details stay in the fields of the rule set, or in the context. */
export function decide(config: EngineConfig, view: NameView, matchContext: MatchContext): Verdict {
  const first = config.priorityRules;
  const byFirst = first ? first.match(view, matchContext) : RULE_NONE;
  if (byFirst !== RULE_NONE)
    return isAllow(byFirst) ? VERDICT_PRIORITY_ALLOW : VERDICT_PRIORITY_BLOCK;
  const own = matchContext.profile.rules;
  const byOwn = own === null ? RULE_NONE : own.match(view, matchContext);
  if (byOwn !== RULE_NONE) return isAllow(byOwn) ? VERDICT_CLIENT_ALLOW : VERDICT_CLIENT_BLOCK;
  const { rules, lists } = config;
  const byRules = rules.ruleCount === 0 ? RULE_NONE : rules.match(view, matchContext);
  if (byRules !== RULE_NONE) return isAllow(byRules) ? VERDICT_USER_ALLOW : VERDICT_USER_BLOCK;
  const byPolicies = decideByTables(config, view, matchContext);
  if (byPolicies !== VERDICT_NONE) return byPolicies;
  const byLists = lists.ruleCount === 0 ? RULE_NONE : lists.match(view, matchContext);
  if (byLists === RULE_NONE) return VERDICT_NONE;
  return isAllow(byLists) ? VERDICT_LIST_ALLOW : VERDICT_LIST_BLOCK;
}

function decideByTables(config: EngineConfig, view: NameView, matchContext: MatchContext): Verdict {
  const { policies, services } = config;
  const { policyMask, serviceMask } = matchContext.profile;
  if (policies && ask(policies, view, matchContext, policyMask)) {
    return isLetThrough(matchContext.entry, view) ? VERDICT_POLICY_ALLOW : VERDICT_POLICY_BLOCK;
  }
  return services && ask(services, view, matchContext, serviceMask)
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
function ask(
  table: PolicyTable,
  view: NameView,
  matchContext: MatchContext,
  mask: Uint8Array,
): boolean {
  const index = table.match(view, matchContext, mask);
  if (index < 0) return false;
  matchContext.entry = table.entries[index] ?? null;
  matchContext.entryLabels = table.labels;
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
    verdict === VERDICT_PRIORITY_BLOCK ||
    isByTable(verdict)
  );
}

/** Whether the user himself allows it: with all that it leads to. */
export function isUserAllow(verdict: Verdict): boolean {
  return (
    verdict === VERDICT_USER_ALLOW ||
    verdict === VERDICT_CLIENT_ALLOW ||
    verdict === VERDICT_PRIORITY_ALLOW ||
    verdict === VERDICT_POLICY_ALLOW
  );
}

/** Whether a policy or a service that blocks is in the context. */
export function isByTable(verdict: Verdict): boolean {
  return verdict === VERDICT_POLICY_BLOCK || verdict === VERDICT_SERVICE_BLOCK;
}

/** The rules that the last `decide` went by, with the winner in its fields; null for none. */
export function decidingRules(
  config: EngineConfig,
  verdict: Verdict,
  matchContext: MatchContext,
): RuleSet | null {
  switch (verdict) {
    case VERDICT_PRIORITY_ALLOW:
    case VERDICT_PRIORITY_BLOCK:
      return config.priorityRules ?? null;
    case VERDICT_CLIENT_ALLOW:
    case VERDICT_CLIENT_BLOCK:
      return matchContext.profile.rules;
    case VERDICT_USER_ALLOW:
    case VERDICT_USER_BLOCK:
      return config.rules;
    case VERDICT_LIST_ALLOW:
    case VERDICT_LIST_BLOCK:
      return config.lists;
    default:
      return null;
  }
}

/** What the last `decide` wants answered in place of the blocking answer; null for nothing. */
export function decidingRewrite(
  config: EngineConfig,
  verdict: Verdict,
  matchContext: MatchContext,
): Rewrite | null {
  if (isByTable(verdict)) return matchContext.entry?.rewrite ?? null;
  return decidingRules(config, verdict, matchContext)?.rewrite ?? null;
}

/** The list that the last `decide` went by; LIST_ID_RULES for the user's own rules. */
export function decidingList(
  config: EngineConfig,
  verdict: Verdict,
  matchContext: MatchContext,
): number {
  const rules = decidingRules(config, verdict, matchContext);
  return (rules ?? matchContext.entry)?.listId ?? LIST_ID_RULES;
}

/** Labels of the listed name that the last `decide` went by; 0 for a pattern. */
export function decidingLabels(
  config: EngineConfig,
  verdict: Verdict,
  matchContext: MatchContext,
): number {
  return decidingRules(config, verdict, matchContext)?.labels ?? matchContext.entryLabels;
}
