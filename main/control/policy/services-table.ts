/**
 * Compiles blocked services, safe search and bypass prevention into one table
 * (engine/filter/policy-table.ts), in this order, and says which of its entries hold for whom. Used by
 * filters.ts.
 *
 * The table has every service, engine and toggle that anybody uses; who uses which is in the masks.
 */
import type { Config } from '../../contract/config.ts';
import type { GroupSettings, SafeSearchSettings } from '../../contract/filter-config.ts';
import { SAFE_ENGINES, type SafeEngine } from '../../contract/filter-words.ts';
import { REASON } from '../../contract/outcome.ts';
import { LIST_ID_SERVICES } from '../../engine/filter/engine-config.ts';
import {
  SCOPE_EXACT,
  SCOPE_NAME,
  type NameScope,
  type TableEntry,
  type TableMessage,
} from '../../engine/filter/policy-table.ts';
import { PolicyTableBuilder } from '../../engine/filter/policy-table-builder.ts';
import type { Rewrite } from '../../engine/filter/rule-set.ts';
import { RCODE } from '../../dns/wire.ts';
import { ENCRYPTED_DNS_NAMES, RELAY_NAMES } from './bypass.ts';
import { safeForm } from './safe-search.ts';
import { serviceCatalogue } from './services.ts';

type Wanted = Pick<Config, 'services' | 'safeSearch' | 'bypass' | 'groups'>;

const NO_SUCH_NAME: Rewrite = { rcode: RCODE.nxDomain, cname: '', records: [], drop: false };

/** One entry in the making. */
interface Part {
  /** Stands for it in masks: service:ID, safe:ENGINE, bypass. */
  readonly key: string;
  /** Shown in the log. */
  readonly title: string;
  readonly reason: number;
  readonly rewrite: Rewrite | null;
  readonly action: TableEntry['action'];
  readonly names: readonly string[];
  readonly scope: NameScope;
}

export interface ServicesTable {
  readonly message: TableMessage;
  /** What the log calls each entry. */
  readonly titles: readonly string[];
  /** Index of the entry, 1 when it holds for a group; for everybody without one. */
  maskFor(group: GroupSettings | undefined): Uint8Array;
}

/** @returns null when nobody uses any */
export function buildServicesTable(config: Wanted): ServicesTable | null {
  const parts = [...serviceParts(config), ...safeParts(config), ...bypassParts(config)];
  if (parts.length === 0) return null;
  const builder = new PolicyTableBuilder();
  for (const [index, { names, scope }] of parts.entries()) {
    for (const name of names) builder.add(index, name, scope);
  }
  const entries = parts.map(({ action, rewrite, reason }, index) => {
    return { action, rewrite, reason, listId: LIST_ID_SERVICES + index, patterns: null };
  });
  return {
    message: { memory: builder.finish(), entries },
    titles: parts.map(({ title }) => title),
    maskFor: (group) => {
      const keys = keysFor(config, group);
      return Uint8Array.from(parts, ({ key }) => (keys.has(key) ? 1 : 0));
    },
  };
}

/** The engines whose safe form a group gets, or everybody without one. */
export function safeEngines(
  global: SafeSearchSettings,
  group: GroupSettings | undefined,
): readonly SafeEngine[] {
  const own = group?.safeSearch;
  if (Array.isArray(own)) return own;
  return (own ?? global.enabled) ? global.engines : [];
}

function keysFor({ services, safeSearch, bypass }: Wanted, group: GroupSettings | undefined) {
  return new Set([
    ...[...services, ...(group?.services ?? [])].map((id) => `service:${id}`),
    ...safeEngines(safeSearch, group).map((engine) => `safe:${engine}`),
    ...(bypass.block ? ['bypass'] : []),
  ]);
}

function serviceParts({ services, groups }: Wanted): Part[] {
  const wanted = new Set([...services, ...groups.flatMap((group) => group.services)]);
  if (wanted.size === 0) return [];
  return serviceCatalogue()
    .filter(({ id }) => wanted.has(id))
    .map(({ id, title, answer, domains }) => ({
      key: `service:${id}`,
      title,
      reason: REASON.service,
      rewrite: answer === 'nxdomain' ? NO_SUCH_NAME : null,
      action: 'block',
      names: domains,
      scope: SCOPE_NAME,
    }));
}

function safeParts({ safeSearch, groups }: Wanted): Part[] {
  const wanted = new Set([
    ...safeEngines(safeSearch, undefined),
    ...groups.flatMap((group) => safeEngines(safeSearch, group)),
  ]);
  return SAFE_ENGINES.filter((engine) => wanted.has(engine)).map((engine) => {
    const { names, target } = safeForm(engine, safeSearch.youtube);
    return {
      key: `safe:${engine}`,
      title: `Safe search: ${engine}`,
      reason: REASON.safeSearch,
      rewrite: { rcode: RCODE.noError, cname: target, records: [], drop: false },
      action: 'redirect',
      names,
      scope: SCOPE_EXACT,
    };
  });
}

function bypassParts({ bypass }: Wanted): Part[] {
  if (!bypass.block) return [];
  const common = {
    key: 'bypass',
    reason: REASON.bypass,
    action: 'block',
    scope: SCOPE_NAME,
  } as const;
  return [
    { ...common, title: 'Relays', rewrite: NO_SUCH_NAME, names: RELAY_NAMES },
    { ...common, title: 'Encrypted DNS elsewhere', rewrite: null, names: ENCRYPTED_DNS_NAMES },
  ];
}
