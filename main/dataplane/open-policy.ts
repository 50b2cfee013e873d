/**
 * Makes an engine's policy of the message that crossed the threads. Used by each data-plane thread,
 * and in the main thread by control/check/check.ts.
 */
import { ProfileTable } from '../engine/filter/client-profile.ts';
import { LocalRecords } from '../engine/filter/local-records.ts';
import type { EngineConfig } from '../engine/filter/engine-config.ts';
import { PolicyTable } from '../engine/filter/policy-table.ts';
import { RuleSet } from '../engine/filter/rule-set.ts';
import { SuffixSet } from '../dns/suffix-set.ts';
import type { FiltersMessage, PolicyMessage } from './messages.ts';

/** @throws Error when memory is not what the builders make */
export function openPolicy(message: PolicyMessage): EngineConfig {
  const { rules, first, lists, suffixes, filters, ...rest } = message;
  return {
    ...rest,
    ...(first && { priorityRules: RuleSet.open(first) }),
    rules: RuleSet.open(rules),
    lists: RuleSet.open(lists),
    suffixes: new SuffixSet(suffixes ?? []),
    ...(filters && openFilters(filters)),
  };
}

function openFilters({ profiles, regions, policies, services, records }: FiltersMessage) {
  const opened = profiles.map(({ rules, ...profile }) => {
    return { ...profile, rules: rules && RuleSet.open(rules) };
  });
  const [everybody] = opened;
  return {
    ...(everybody && { everybody }),
    clients: regions.length === 0 ? null : new ProfileTable(opened, regions),
    policies: policies && new PolicyTable(policies),
    services: services && new PolicyTable(services),
    records: records.length === 0 ? null : new LocalRecords(records),
  };
}
