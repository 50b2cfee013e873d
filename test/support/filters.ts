/** Policies, services, clients and records as the program makes them of settings, for the engine. */
import { configSchema, type Config } from '../../main/contract/config.ts';
import { openPolicy } from '../../main/dataplane/open-policy.ts';
import type { EngineConfig } from '../../main/engine/filter/engine-config.ts';
import { compileRules } from '../../main/lists/compile/rules.ts';
import { Filters, type FilterSurroundings } from '../../main/control/policy/filters.ts';
import { buildPolicy } from '../../main/control/policy/policy-builder.ts';
import { loadServices } from '../../main/control/policy/services.ts';
import type { z } from 'zod';

export type Settings = z.input<typeof configSchema>;

const AROUND: FilterSurroundings = {
  listNames: new Map(),
  nowMs: Date.UTC(2026, 0, 1),
  neighbours: new Map(),
};

/** The parts of a Policy that come from filters; rules too, lists left out. */
export async function filtersOf(
  settings: Settings,
  around: Partial<FilterSurroundings> = {},
): Promise<Omit<Partial<EngineConfig>, 'lists' | 'cache' | 'rebinding'>> {
  const config: Config = configSchema.parse(settings);
  await loadServices(config);
  const message = buildPolicy({
    ...{ version: 1, instance: 'feed' },
    filtering: true,
    config,
    rules: compileRules(config.rules),
    lists: compileRules([]),
    filters: new Filters().build(config, { ...AROUND, ...around }),
  });
  const { rules, everybody, clients, policies, services, records } = openPolicy(message);
  return {
    rules,
    ...(everybody && { everybody }),
    clients: clients ?? null,
    policies: policies ?? null,
    services: services ?? null,
    records: records ?? null,
  };
}
