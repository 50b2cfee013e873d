/**
 * Keeps policies, services, clients and local records compiled: what changed in the settings is
 * compiled anew, the rest stays. Made by compose.ts; the service asks it for each policy that it
 * publishes, and whether a schedule has switched since.
 */
import type { Config } from '../../contract/config.ts';
import type { GroupSettings, PolicySettings } from '../../contract/filter-config.ts';
import type { FiltersMessage } from '../../dataplane/messages.ts';
import type { LocalRecord } from '../../engine/filter/local-records.ts';
import { LIST_ID_POLICIES, LIST_ID_SERVICES } from '../../engine/filter/engine-config.ts';
import type { TableMessage } from '../../engine/filter/policy-table.ts';
import type { RuleBuffers } from '../../engine/filter/rule-set.ts';
import { compileRules } from '../../lists/compile/rules.ts';
import { parseClientId } from './client-id.ts';
import { buildProfiles } from './client-profiles.ts';
import { buildRecords } from './local-records.ts';
import { buildPolicyTable, policiesInOrder } from './policies-table.ts';
import { isInForce, nextEdge } from './schedule.ts';
import { buildServicesTable, type ServicesTable } from './services-table.ts';

/** What the settings of filters are compiled with. */
export interface FilterSurroundings {
  /** As ListManager.listNames. */
  readonly listNames: ReadonlyMap<number, string>;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  /** Addresses of neighbours by MAC address: neighbours.ts. */
  readonly neighbours: ReadonlyMap<string, readonly Uint8Array[]>;
}

export class Filters {
  readonly #policies = new Kept<TableMessage | null>();
  readonly #services = new Kept<ServicesTable | null>();
  readonly #records = new Kept<LocalRecord[]>();
  #rules = new Map<string, RuleBuffers>();
  #ordered: readonly PolicySettings[] = [];
  #inForce: readonly boolean[] = [];
  /** Ids of the log by which it finds names; for `names`. */
  #names = new Map<number, string>();

  /** What goes to the data plane; undefined when the settings have nothing of the kind. */
  build(config: Config, around: FilterSurroundings): FiltersMessage | undefined {
    this.#ordered = policiesInOrder(config.policies);
    this.#inForce = this.#ordered.map((policy) => isOn(policy, around.nowMs));
    const { services, safeSearch, bypass, groups, records, clients, blocking } = config;
    const policies = this.#policies.get([this.#ordered, blocking.ttlSeconds], () =>
      buildPolicyTable(this.#ordered, blocking.ttlSeconds),
    );
    const table = this.#services.get([services, safeSearch, bypass, groups], () =>
      buildServicesTable(config),
    );
    const made = this.#records.get(records, () => buildRecords(records));
    this.#keepNames(table);
    if (!policies && !table && made.length === 0 && clients.length === 0) return undefined;
    const { profiles, regions } = buildProfiles({
      config,
      policies: this.#ordered,
      inForce: this.#inForce,
      serviceMask: (group) => table?.maskFor(group) ?? new Uint8Array(0),
      listIds: new Map([...around.listNames].map(([id, name]) => [name, id])),
      rulesOf: this.#compiler(groups),
      neighbours: around.neighbours,
    });
    return { profiles, regions, policies, services: table?.message ?? null, records: made };
  }

  /** What the log calls the policies and services that the last `build` made. */
  get names(): ReadonlyMap<number, string> {
    return this.#names;
  }

  /** Whether a schedule has switched since the last `build`. */
  hasSwitched(nowMs: number): boolean {
    return this.#ordered.some((policy, index) => isOn(policy, nowMs) !== this.#inForce[index]);
  }

  /** When to ask `hasSwitched` next, milliseconds since 1970; null without schedules. */
  nextEdgeMs(nowMs: number): number | null {
    const edges = this.#ordered.flatMap(({ schedule }) =>
      schedule ? [nextEdge(schedule, nowMs)] : [],
    );
    return edges.length === 0 ? null : Math.min(...edges);
  }

  /** Rules of groups, compiled once as long as they stay. */
  #compiler(groups: readonly GroupSettings[]): (group: GroupSettings) => RuleBuffers | null {
    const before = this.#rules;
    this.#rules = new Map(
      groups.map(({ rules }) => {
        const key = JSON.stringify(rules);
        return [key, before.get(key) ?? compileRules(rules)];
      }),
    );
    return ({ rules }) => this.#rules.get(JSON.stringify(rules)) ?? null;
  }

  #keepNames(table: ServicesTable | null): void {
    this.#names = new Map([
      ...this.#ordered.map(({ name }, index) => [LIST_ID_POLICIES + index, name] as const),
      ...(table?.titles ?? []).map((title, index) => [LIST_ID_SERVICES + index, title] as const),
    ]);
  }
}

/** Whether the settings know a client by its MAC address. */
export function needsNeighbours({ clients }: Config): boolean {
  return clients.some(({ ids }) => ids.some((id) => parseClientId(id)?.kind === 'mac'));
}

function isOn({ schedule }: PolicySettings, nowMs: number): boolean {
  return schedule === undefined || isInForce(schedule, nowMs);
}

/** Something compiled, and what it was compiled from. */
class Kept<Value> {
  #from = '';
  #value: { readonly value: Value } | undefined;

  get(from: unknown, make: () => Value): Value {
    const text = JSON.stringify(from);
    if (this.#value === undefined || text !== this.#from) this.#value = { value: make() };
    this.#from = text;
    return this.#value.value;
  }
}
