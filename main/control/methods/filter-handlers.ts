/**
 * The methods of contract/methods/filter.ts: each change is one edit of the settings file, which
 * the service then takes into use. Loaded by service.ts at the first call of one of them.
 */
import type { Config } from '../../contract/config.ts';
import {
  clientSchema,
  groupSchema,
  policySchema,
  recordSchema,
  type PolicySettings,
} from '../../contract/filter-config.ts';
import type { FILTER_METHODS } from '../../contract/methods/filter.ts';
import type { MethodArguments, MethodOutput } from '../../contract/methods/methods.ts';
import type { ConfigStore } from '../settings/config-store.ts';
import {
  planPut,
  planPutRecord,
  planRemove,
  planRemoveRecords,
  planSet,
  withoutDefaults,
} from '../settings/filter-edits.ts';
import { isInForce } from '../policy/schedule.ts';
import { openServices } from '../policy/services.ts';

export type FilterMethod = keyof typeof FILTER_METHODS;
export type FilterHandlers = {
  readonly [Name in FilterMethod]: (input: MethodArguments<Name>) => Promise<MethodOutput<Name>>;
};

type Store = Pick<ConfigStore, 'config' | 'edit'>;

/** @param wallMs  now, milliseconds since 1970 */
export function filterHandlers(store: Store, wallMs: () => number): FilterHandlers {
  return {
    ...policyHandlers(store, wallMs),
    ...clientHandlers(store),
    ...serviceHandlers(store),
    ...recordHandlers(store),
  };
}

function policyHandlers(store: Store, wallMs: () => number) {
  const list = ({ policies }: Config): MethodOutput<'policies.list'> => ({
    policies,
    inForce: policies.filter((policy) => isOn(policy, wallMs())).map(({ name }) => name),
  });
  return {
    'policies.list': () => Promise.resolve(list(store.config)),
    'policies.put': async ({ policy, was }: MethodArguments<'policies.put'>) => {
      await openServices();
      const base = policySchema.parse({ name: policy.name, action: policy.action });
      const shown = withoutDefaults(policy, base, ['name', 'action']);
      return list(
        await store.edit('policies', (config) => planPut(config, 'policies', policy, shown, was)),
      );
    },
    'policies.remove': async ({ name }: MethodArguments<'policies.remove'>) => {
      await openServices();
      return list(await store.edit('policies', (config) => planRemove(config, 'policies', name)));
    },
  };
}

function isOn({ enabled, schedule }: PolicySettings, nowMs: number): boolean {
  return enabled && (schedule === undefined || isInForce(schedule, nowMs));
}

function clientHandlers(store: Store) {
  const list = ({ clients, groups }: Config) => ({ clients, groups });
  return {
    'clients.list': () => Promise.resolve(list(store.config)),
    'clients.put': async ({ client, was }: MethodArguments<'clients.put'>) => {
      await openServices();
      const base = clientSchema.parse({ name: client.name, ids: client.ids });
      const shown = withoutDefaults(client, base, ['name', 'ids']);
      return list(
        await store.edit('clients', (config) => planPut(config, 'clients', client, shown, was)),
      );
    },
    'clients.remove': async ({ name }: MethodArguments<'clients.remove'>) => {
      await openServices();
      return list(await store.edit('clients', (config) => planRemove(config, 'clients', name)));
    },
    'groups.put': async ({ group, was }: MethodArguments<'groups.put'>) => {
      await openServices();
      const shown = withoutDefaults(group, groupSchema.parse({ name: group.name }), ['name']);
      return list(
        await store.edit('groups', (config) => planPut(config, 'groups', group, shown, was)),
      );
    },
    'groups.remove': async ({ name }: MethodArguments<'groups.remove'>) => {
      await openServices();
      return list(await store.edit('groups', (config) => planRemove(config, 'groups', name)));
    },
  };
}

function serviceHandlers(store: Store) {
  const list = async ({ services, safeSearch, bypass }: Config) => ({
    catalogue: (await openServices()).map(({ id, title, category, domains }) => {
      return { id, title, category, domains: [...domains] };
    }),
    ...{ services, safeSearch, bypass },
  });
  return {
    'services.list': () => list(store.config),
    'services.set': async ({ services }: MethodArguments<'services.set'>) => {
      await openServices();
      return list(
        await store.edit('services', (config) =>
          planSet(config, 'services', [...new Set(services)]),
        ),
      );
    },
    'services.safe-search': async (wanted: MethodArguments<'services.safe-search'>) => {
      await openServices();
      return list(
        await store.edit('safeSearch', (config) => planSet(config, 'safeSearch', wanted)),
      );
    },
    'services.bypass': async (wanted: MethodArguments<'services.bypass'>) => {
      await openServices();
      return list(await store.edit('bypass', (config) => planSet(config, 'bypass', wanted)));
    },
  };
}

function recordHandlers(store: Store) {
  const list = ({ records }: Config) => ({ records });
  return {
    'records.list': () => Promise.resolve(list(store.config)),
    'records.put': async ({ record }: MethodArguments<'records.put'>) => {
      await openServices();
      const { name, type, value } = record;
      const base = recordSchema.parse({ name, type, value });
      const shown = withoutDefaults(record, base, ['name', 'type', 'value']);
      return list(await store.edit('records', (config) => planPutRecord(config, record, shown)));
    },
    'records.remove': async ({ name, type, value }: MethodArguments<'records.remove'>) =>
      list(await store.edit('records', (config) => planRemoveRecords(config, name, type, value))),
  };
}
