/**
 * What policies and services say of a name, for explain.ts: every one that speaks of it, and the
 * one that decides.
 */
import type { ExplainedMatch } from './explain.ts';
import type { MatchContext } from './match-context.ts';
import { readName } from './name.ts';
import type { Policy } from './policy.ts';
import type { PolicyTable } from './policy-table.ts';
import type { Query } from './query.ts';
import type { Rewrite } from './rule-set.ts';
import {
  VERDICT_POLICY_ALLOW,
  VERDICT_POLICY_BLOCK,
  VERDICT_SERVICE_BLOCK,
  type Verdict,
} from './verdict.ts';
import { RCODE } from './wire.ts';

/** One step for each of the two tables that there is. */
export function explainTables(policy: Policy, query: Query, context: MatchContext) {
  const { policyMask, serviceMask } = context.profile;
  const steps: { step: string; result: string }[] = [];
  const { policies, services } = policy;
  if (policies) {
    steps.push({ step: 'policies', result: describe(policies, query, context, policyMask) });
  }
  if (services) {
    steps.push({ step: 'services', result: describe(services, query, context, serviceMask) });
  }
  return steps;
}

/** Every policy and service that speaks of the name. */
export function collectTables(
  policy: Policy,
  query: Query,
  context: MatchContext,
  verdict: Verdict,
): ExplainedMatch[] {
  const { policyMask, serviceMask } = context.profile;
  const byPolicy = verdict === VERDICT_POLICY_ALLOW || verdict === VERDICT_POLICY_BLOCK;
  const { policies, services } = policy;
  return [
    ...(policies ? collect(policies, query, context, policyMask, byPolicy) : []),
    ...(services
      ? collect(services, query, context, serviceMask, verdict === VERDICT_SERVICE_BLOCK)
      : []),
  ];
}

/** What a rewrite answers, in a few words. */
export function describeRewrite({ rcode, cname, records, drop }: Rewrite): string {
  if (drop) return 'no answer';
  if (cname !== '') return `${cname} and its records`;
  if (records.length > 0) return 'records of the rule or policy';
  if (rcode === RCODE.nxDomain) return 'NXDOMAIN';
  return rcode === RCODE.noError ? 'no data' : `response code ${String(rcode)}`;
}

function describe(
  table: PolicyTable,
  query: Query,
  context: MatchContext,
  mask: Uint8Array,
): string {
  const index = table.match(query, context, mask);
  return index < 0 ? 'nothing matches' : `${table.entries[index]?.action ?? 'block'}s`;
}

function collect(
  table: PolicyTable,
  query: Query,
  context: MatchContext,
  mask: Uint8Array,
  decides: boolean,
): ExplainedMatch[] {
  const winner = decides ? table.match(query, context, mask) : -1;
  const wonLabels = table.labels;
  const matches: ExplainedMatch[] = [];
  table.forEachMatch(query, context, mask, (index, labels) => {
    const entry = table.entries[index];
    if (!entry) return;
    const start = labels === 0 ? 0 : (query.labelStarts[query.labelCount - labels] as number);
    matches.push({
      action: entry.action,
      listId: entry.listId,
      matchedName: readName(query.name, start, query.nameLength),
      line: 0,
      won: index === winner && labels === wonLabels,
    });
  });
  return matches;
}
