/**
 * Every rule that names a name, layer by layer, with the one that decides. Used by explain.ts; may
 * allocate.
 *
 * A rule whose conditions do not hold, or in a list that this client does not use, is told too, as
 * one that does not apply.
 */
import { REASON } from '../../contract/outcome.ts';
import type { MatchContext } from '../filter/match-context.ts';
import { readName } from '../../dns/name.ts';
import type { NameView } from '../../dns/name.ts';
import type { EngineConfig } from '../filter/engine-config.ts';
import type { PolicyTable, TableEntry } from '../filter/policy-table.ts';
import {
  RULE_ALLOW,
  RULE_IMPORTANT_ALLOW,
  RULE_IMPORTANT_BLOCK,
  type Rewrite,
  type RuleMatch,
  type RuleObstacle,
  type RuleSet,
} from '../filter/rule-set.ts';
import {
  decidingRules,
  VERDICT_POLICY_ALLOW,
  VERDICT_POLICY_BLOCK,
  VERDICT_SERVICE_BLOCK,
  type Verdict,
} from '../filter/verdict.ts';

export interface ExplainedMatch {
  readonly layer: 'first' | 'client' | 'user' | 'policy' | 'service' | 'list';
  readonly action: 'block' | 'allow' | 'redirect';
  readonly isImportant: boolean;
  /** As in policy.ts: 0 for rules of the user's own. */
  readonly listId: number;
  /** 1-based; 0 for policies and services. */
  readonly line: number;
  /** Presentation form; the whole name for a pattern. */
  readonly matchedName: string;
  readonly rewrite: Rewrite | null;
  /** REASON of a policy or service, as its log record would have it; REASON.none for rules. */
  readonly reason: number;
  /** Whether its conditions hold for this question and client. */
  readonly applies: boolean;
  /** Why not; '' when they do. mask: the policy is for others, or not in force now. */
  readonly obstacle: RuleObstacle | 'mask';
  /** Whether this one decides. */
  readonly won: boolean;
}

/** @param verdict  of `decide` about the same name just now; VERDICT_NONE when nothing of it counts */
export function collectMatches(
  config: EngineConfig,
  view: NameView,
  matchContext: MatchContext,
  verdict: Verdict,
): ExplainedMatch[] {
  const { priorityRules: firstRules, rules, lists, policies, services } = config;
  const { profile } = matchContext;
  const deciding = decidingRules(config, verdict, matchContext);
  const entry =
    isByPolicy(verdict) || verdict === VERDICT_SERVICE_BLOCK ? matchContext.entry : null;
  const seen = { view, matchContext };
  return [
    ...(firstRules ? ofRules('first', firstRules, seen, deciding) : []),
    ...(profile.rules ? ofRules('client', profile.rules, seen, deciding) : []),
    ...ofRules('user', rules, seen, deciding),
    ...(policies ? ofTable('policy', policies, seen, profile.policyMask, entry) : []),
    ...(services ? ofTable('service', services, seen, profile.serviceMask, entry) : []),
    ...ofRules('list', lists, seen, deciding),
  ];
}

interface Seen {
  readonly view: NameView;
  readonly matchContext: MatchContext;
}

function ofRules(
  layer: ExplainedMatch['layer'],
  rules: RuleSet,
  { view, matchContext }: Seen,
  deciding: RuleSet | null,
): ExplainedMatch[] {
  return collect(rules, view, matchContext).map(({ match, obstacle }) => ({
    ...{ layer, obstacle, applies: obstacle === '', reason: REASON.none },
    ...{ listId: match.listId, line: match.line, rewrite: match.rewrite },
    action: isAllow(match.rank) ? 'allow' : match.rewrite === null ? 'block' : 'redirect',
    isImportant: match.rank === RULE_IMPORTANT_ALLOW || match.rank === RULE_IMPORTANT_BLOCK,
    matchedName: nameOf(view, match.labels),
    won: obstacle === '' && match.won && rules === deciding,
  }));
}

/** @param winner  the entry that decides; null when none of a table does */
function ofTable(
  layer: ExplainedMatch['layer'],
  table: PolicyTable,
  { view, matchContext }: Seen,
  mask: Uint8Array,
  winner: TableEntry | null,
): ExplainedMatch[] {
  const all = new Uint8Array(table.entries.length).fill(1);
  const found = new Map<number, number>();
  table.forEachMatch(view, matchContext, all, (index, labels) => {
    if (!found.has(index)) found.set(index, labels);
  });
  return [...found]
    .sort(([left], [right]) => left - right)
    .flatMap(([index, labels]): ExplainedMatch[] => {
      const entry = table.entries[index];
      if (!entry) return [];
      const applies = mask[index] === 1;
      return [
        {
          ...{ layer, applies, obstacle: applies ? '' : 'mask', isImportant: false, line: 0 },
          ...{ action: entry.action, listId: entry.listId, rewrite: entry.rewrite },
          reason: entry.reason,
          matchedName: nameOf(view, labels),
          won: entry === winner,
        },
      ];
    });
}

function isByPolicy(verdict: Verdict): boolean {
  return verdict === VERDICT_POLICY_ALLOW || verdict === VERDICT_POLICY_BLOCK;
}

function isAllow(rank: number): boolean {
  return rank === RULE_ALLOW || rank === RULE_IMPORTANT_ALLOW;
}

interface Found {
  readonly match: RuleMatch;
  readonly obstacle: ExplainedMatch['obstacle'];
}

/** Those that apply, then those that do not. */
function collect(rules: RuleSet, view: NameView, matchContext: MatchContext): Found[] {
  const found: Found[] = [];
  rules.forEachMatch(view, matchContext, (match) => found.push({ match, obstacle: '' }));
  rules.forEachFitting(view, matchContext, (match, obstacle) => {
    if (obstacle !== '') found.push({ match: { ...match, won: false }, obstacle });
  });
  return found;
}

/** The last `labels` labels in presentation form; all of them for a pattern. */
export function nameOf(view: NameView, labels: number): string {
  const first = labels === 0 ? 0 : view.labelCount - labels;
  const start = view.labelCount === 0 ? 0 : (view.labelStarts[first] as number);
  return readName(view.name, start, view.nameLength);
}
