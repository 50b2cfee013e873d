/**
 * Compiles the policies of the settings into a table (engine/filter/policy-table.ts) in the order in which
 * they decide: larger priority first; at equal priority allow, redirect, block; then as written.
 * Used by filters.ts, at each change of the policies. A schedule is not in the table: it switches
 * masks.
 */
import type { PolicySettings } from '../../contract/filter-config.ts';
import { POLICY_ACTIONS } from '../../contract/filter-words.ts';
import { REASON } from '../../contract/outcome.ts';
import { LIST_ID_POLICIES } from '../../engine/filter/engine-config.ts';
import {
  SCOPE_BELOW,
  SCOPE_NAME,
  type TableEntry,
  type TableMessage,
} from '../../engine/filter/policy-table.ts';
import { PolicyTableBuilder } from '../../engine/filter/policy-table-builder.ts';
import type { Rewrite, RewriteRecord } from '../../engine/filter/rule-set.ts';
import { TYPE } from '../../dns/wire.ts';
import { compileRules } from '../../lists/compile/rules.ts';
import { addressData } from './record-data.ts';

/** Those that are enabled, in the order in which they decide. */
export function policiesInOrder(policies: readonly PolicySettings[]): PolicySettings[] {
  const place = ({ action }: PolicySettings): number => POLICY_ACTIONS.indexOf(action);
  return policies
    .filter(({ enabled }) => enabled)
    .sort((left, right) => right.priority - left.priority || place(left) - place(right));
}

/**
 * @param ordered     as `policiesInOrder` returns them
 * @param ttlSeconds  of the records of redirects
 * @returns           null when there are none
 */
export function buildPolicyTable(
  ordered: readonly PolicySettings[],
  ttlSeconds: number,
): TableMessage | null {
  if (ordered.length === 0) return null;
  const builder = new PolicyTableBuilder();
  for (const [index, { domains }] of ordered.entries()) {
    for (const domain of domains) {
      const isBelow = domain.startsWith('*.');
      builder.add(index, isBelow ? domain.slice(2) : domain, isBelow ? SCOPE_BELOW : SCOPE_NAME);
    }
  }
  const entries = ordered.map((policy, index) => entryOf(policy, index, ttlSeconds));
  return { memory: builder.finish(), entries };
}

function entryOf(policy: PolicySettings, index: number, ttlSeconds: number): TableEntry {
  return {
    action: policy.action,
    rewrite: policy.action === 'redirect' ? redirectOf(policy, ttlSeconds) : null,
    reason: REASON.policy,
    listId: LIST_ID_POLICIES + index,
    patterns: policy.regex.length === 0 ? null : compileRules(policy.regex.map(patternRule)),
  };
}

/** The rule that a regular expression of a policy is compiled as; as wide as the user wants. */
export function patternRule(pattern: string): string {
  return `/${pattern}/$wide`;
}

function redirectOf({ redirect }: PolicySettings, ttl: number): Rewrite {
  const records = (redirect?.addresses ?? []).flatMap((text): RewriteRecord[] => {
    const v4 = addressData(text, 4);
    if (v4) return [{ type: TYPE.a, ttl, rdata: v4 }];
    const v6 = addressData(text, 6);
    return v6 ? [{ type: TYPE.aaaa, ttl, rdata: v6 }] : [];
  });
  const cname = (redirect?.name ?? '').toLowerCase().replace(/\.$/, '');
  return { rcode: 0, cname, records, drop: false };
}
