/**
 * The control plane: every method of contract/methods/methods.ts, in one object that all doors share.
 *
 * Runs in the main thread and never answers a packet. Made by compose.ts from its parts. Changes of
 * settings, switch and lists all end in `#publish`, which sends the data plane a new policy.
 */
import type { Config } from '../contract/config.ts';
import { AppError } from '../contract/errors.ts';
import type {
  Caller,
  LiveUpdate,
  MethodArguments,
  MethodInput,
  MethodName,
  MethodOutput,
  QueueStatus,
  ServiceClient,
} from '../contract/methods/methods.ts';
import { LIMITS } from '../contract/limits.ts';
import type { QueryEvent } from '../contract/query-event.ts';
import { findings, pathText } from '../contract/schema-text.ts';
import type { PolicyMessage } from '../dataplane/messages.ts';
import { compileRules } from '../lists/compile/rules.ts';
import { backupHandlers } from './methods/backup.ts';
import { flushCache, inspectCache } from './methods/cache-methods.ts';
import type { HealthReport } from './process/health.ts';
import type { FilterMethod } from './methods/filter-handlers.ts';
import { logHandlers } from './methods/log-handlers.ts';
import { listHandlers } from './methods/list-handlers.ts';
import { importHandlers } from './methods/import-methods.ts';
import { needsNeighbours, type Filters } from './policy/filters.ts';
import { LiveTopic } from './reports/live.ts';
import { NO_FACTS, withFacts, type NetworkFacts } from './machine/network-facts.ts';
import type { NetworkChange, NetworkWatch } from './machine/network-watch.ts';
import { Neighbours, type NeighbourSources } from './machine/neighbours.ts';
import { NamedClients } from './reports/named-clients.ts';
import { buildPolicy } from './policy/policy-builder.ts';
import { Reports, type Measurements, type ReportParts } from './reports/reports.ts';
import { makeRuleHandlers } from './methods/rule-methods.ts';
import { differ, forgetAnswers, upstreamSettings } from './settings/settings-change.ts';
import type { Uploads } from './methods/uploads.ts';
import { restartNotice } from './settings/restart-notice.ts';
import type { AddressBook } from './machine/address-book.ts';
import { hostsToResolve, upstreamUse } from './machine/upstream-notices.ts';
import type { Surroundings } from './machine/surroundings.ts';
import type { TemporaryRules } from './settings/temporary-rules.ts';
import type { UpstreamNotices } from './machine/upstream-notices.ts';

/** Time between two samples of the counters for the health report. */
const SAMPLE_MS = 5_000;
/** Time between two looks at the network. */
const LOOK_MS = 1_000;
/** Longest timer for a schedule. */
const EDGE_WAIT_MS_MAX = 60 * 60_000;

export interface ServiceOptions extends ReportParts {
  /** Id of this run, for the takeover's probe names. */
  readonly instance: string;
  /** The policy that the data plane was started with. */
  readonly policy: PolicyMessage;
  /** Takes new plain servers for resolving host names of lists and encrypted upstreams. */
  readonly setBootstrap: (servers: readonly string[]) => void;
  /** Says whether the machine is on another network. */
  readonly network: Pick<NetworkWatch, 'look'>;
  /** Addresses of encrypted upstreams. */
  readonly addressBook: Pick<AddressBook, 'setHosts' | 'networkChanged'>;
  readonly upstreamNotices: UpstreamNotices;
  readonly temporary: TemporaryRules;
  /** Files that doors were sent; closed with the service. */
  readonly uploads: Uploads;
  /** Replaces the token for HTTP. @throws AppError CONFIG_UNWRITABLE */
  readonly renewToken: () => Promise<void>;
  /** Compiles policies, services, clients and records; has built those of `policy`. */
  readonly filters: Filters;
  readonly neighbours?: NeighbourSources;
  /** What the machine has around it; `policy` was made with its networks. */
  readonly surroundings: Surroundings;
}

type AllHandlers = {
  readonly [Name in MethodName]: (
    input: MethodArguments<Name>,
    caller: Caller,
  ) => Promise<MethodOutput<Name>> | MethodOutput<Name>;
};

/** Calls from inside the program. */
const OWN: Caller = { permission: 'write', isLocal: true };

type Handlers = Omit<AllHandlers, FilterMethod>;

export class ControlPlane implements ServiceClient {
  readonly #options: Omit<ServiceOptions, 'policy'>;
  readonly #reports: Reports;
  readonly #live: LiveTopic;
  readonly #handlers: Handlers;
  /** With those that are loaded at the first call. */
  #allHandlers: AllHandlers | undefined;
  readonly #startedWith: Config;
  #settings: Config;
  /** The settings with what the network says. */
  #applied: Config;
  #facts = NO_FACTS;
  /** The rules that the policy's table was compiled from. */
  #compiledRules: readonly string[];
  #policy: PolicyMessage;
  #cancelSample: () => void = () => undefined;
  #cancelLook: () => void = () => undefined;
  #cancelEdge: () => void = () => undefined;
  readonly #neighbours: Neighbours;
  #namedClients: NamedClients;
  #closed = false;

  constructor({ policy, ...options }: ServiceOptions) {
    const { store, log, clock, lists } = options;
    this.#options = options;
    this.#policy = policy;
    this.#startedWith = store.config;
    this.#settings = store.config;
    this.#applied = withFacts(store.config, this.#factsNow, options.plane.own);
    this.#compiledRules = store.config.rules;
    this.#reports = new Reports(options, () => this.#policy.version);
    this.#live = new LiveTopic({
      clock,
      facts: () => this.#reports.live(),
      setSource: (on) => {
        log.setLive(on);
      },
    });
    this.#reports.addQueue(() => this.#live.queue);
    this.#handlers = this.#makeHandlers();
    store.onChange((config) => {
      this.#takeSettings(config);
    });
    this.#neighbours = new Neighbours(
      clock,
      () => {
        if (!this.#closed) this.#publish();
      },
      options.neighbours,
    );
    this.#namedClients = new NamedClients(this.#applied.clients, this.#neighbours.map);
    this.#neighbours.watch(needsNeighbours(this.#applied));
    this.#setNames();
    this.#waitForEdge();
    if (lists.table !== this.#policy.lists) this.#publish();
    this.#sample();
    this.#look();
  }

  /**
   * Checks the input against the method's schema and runs the method.
   *
   * @param caller  whose right to call was checked (api/dispatch.ts)
   * @throws AppError METHOD_UNKNOWN, ARGUMENT_INVALID naming the argument, or the method's own
   */
  async call<Name extends MethodName>(
    name: Name,
    input: MethodInput<Name>,
    caller: Caller = OWN,
  ): Promise<MethodOutput<Name>> {
    // The schemas are some 6 MiB, which an instance that nobody calls does without.
    const { METHODS } = await import('../contract/methods/methods.ts');
    if (!Object.hasOwn(METHODS, name)) {
      throw new AppError('METHOD_UNKNOWN', `no method has the name ${JSON.stringify(name)}`);
    }
    const schema = METHODS[name].input;
    const checked = schema.safeParse(input);
    if (!checked.success) {
      const [first] = findings(schema, input, checked.error.issues);
      const where = first && first.path.length > 0 ? pathText(first.path) : 'arguments';
      throw new AppError('ARGUMENT_INVALID', `${where}: ${first?.text ?? 'not allowed'}`);
    }
    const handlers = this.#allHandlers ?? (await this.#loadHandlers());
    return handlers[name](checked.data as MethodArguments<Name>, caller);
  }

  /** @throws AppError TOO_MANY beyond LIMITS.subscribersMax */
  subscribe(onUpdate: (update: LiveUpdate) => void): () => void {
    return this.#live.subscribe(onUpdate);
  }

  /** The list manager has a new table. */
  tableChanged(): void {
    if (this.#closed) return;
    this.#publish();
  }

  /** Something that status shows has changed: a list's state, the log's state, a problem. */
  stateChanged(): void {
    this.#live.touch();
  }

  /** The machine woke up, or may have changed its network: all old sockets may be dead. */
  networkChanged(): void {
    if (this.#closed) return;
    this.#dropSockets(this.#options.network.look());
  }

  /** As `networkChanged`, when something has changed; takes what is new around us into use. */
  lookAtNetwork(): void {
    if (this.#closed) return;
    const { network, surroundings, plane, takeover } = this.#options;
    const change = network.look();
    if (change !== 'none') this.#dropSockets(change);
    const { addresses, networks, servers } = surroundings.look(plane.own);
    plane.lookAtListeners(addresses);
    if (addresses) takeover.follow();
    if (servers) this.#apply(this.#settings);
    else if (networks) this.#publish();
  }

  /** Takes what the network says of itself, a part at a time. */
  setNetworkFacts(facts: Partial<NetworkFacts>): void {
    if (this.#closed) return;
    const wasPortal = this.#facts.portalServers !== null;
    const known = this.#facts;
    this.#facts = { ...known, ...facts };
    if (!differ(known, this.#facts)) return;
    // What the system names itself may have changed while it did not count.
    if (this.#facts.systemServers === null)
      this.#options.surroundings.look(this.#options.plane.own);
    if (wasPortal !== (this.#facts.portalServers !== null)) this.#options.plane.flushCache();
    this.#apply(this.#settings);
  }

  /** The switch was moved, or a pause has ended. */
  protectionChanged(): void {
    if (!this.#closed) this.#publish();
  }

  /** A temporary rule was added, removed, or is over. */
  rulesChanged(): void {
    if (!this.#closed) this.#publish();
  }

  /** New rows from the query log, oldest first. */
  rowsLogged(rows: readonly QueryEvent[], leftOut: number): void {
    // Without subscribers nobody reads them, and few of many rows fit.
    const some = rows.slice(-LIMITS.liveRowsMax);
    this.#live.push(
      some.map((row) => this.#namedClients.name(row)),
      leftOut + rows.length - some.length,
    );
  }

  /** Reads the settings file again. @throws AppError CONFIG_INVALID; shown in health meanwhile */
  async reload(): Promise<void> {
    this.lookAtNetwork();
    try {
      await this.#options.store.reload();
      this.setProblem('settings', null);
      this.setNotice('settings', null);
    } catch (error) {
      const said = error instanceof Error ? error.message : String(error);
      this.setProblem('settings', `The former settings stay in use: ${said}.`);
      throw error;
    }
  }

  /** A lasting problem under a name of the caller's choice, as one sentence; null ends it. */
  setProblem(name: string, sentence: string | null): void {
    this.#options.health.setProblem(name, sentence);
    this.stateChanged();
  }

  /** As `setProblem`, for what is worth telling but no fault. */
  setNotice(name: string, sentence: string | null): void {
    this.#options.health.setNotice(name, sentence);
    this.stateChanged();
  }

  /** Adds a door's bounded queue to those that status shows. */
  addQueue(read: () => QueueStatus): void {
    this.#reports.addQueue(read);
  }

  get uploads(): Uploads {
    return this.#options.uploads;
  }

  health(): HealthReport {
    return this.#reports.health();
  }

  measurements(): Measurements {
    return this.#reports.measurements();
  }

  /** Ends the live topic and the timers; the parts are closed by compose.ts. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelSample();
    this.#cancelLook();
    this.#cancelEdge();
    this.#neighbours.close();
    this.#reports.close();
    this.#live.close();
    await this.#options.uploads.close();
    void this.#handlers['import.cancel']({}, OWN);
    await this.#options.store.close();
  }

  async #loadHandlers(): Promise<AllHandlers> {
    const { filterHandlers } = await import('./methods/filter-handlers.ts');
    const { store, clock } = this.#options;
    this.#allHandlers = { ...this.#handlers, ...filterHandlers(store, () => clock.wallMs()) };
    return this.#allHandlers;
  }

  #makeHandlers(): Handlers {
    const { store, protection, takeover, log, plane } = this.#options;
    return {
      status: () => this.#reports.status(),
      pause: ({ minutes }) => protection.pause(minutes),
      resume: () => protection.resume(),
      takeover: () => takeover.takeOver(),
      restore: () => takeover.giveBack(),
      network: () => takeover.network(),
      portal: ({ open }) => takeover.portal(open),
      right: ({ id, change }) => takeover.right(id, change),
      ...logHandlers(log, () => this.#namedClients),
      check: async (input) => {
        const { checkName } = await import('./check/check.ts');
        return checkName({ ...this.#options, message: this.#policy, config: this.#applied }, input);
      },
      ...makeRuleHandlers(this.#options),
      ...listHandlers(store, this.#options.lists, () => this.#reports.lists()),
      ...importHandlers(store, this.#options.uploads),
      ...backupHandlers(this.#options),
      'upstreams.list': () => this.#reports.upstreams(),
      'cache.inspect': (input) => inspectCache(plane, input),
      'cache.flush': (input) => flushCache(plane, input),
      'settings.get': () => ({ config: store.config }),
      'token.renew': async () => {
        await this.#options.renewToken();
        return {};
      },
    };
  }

  /** Takes settings that were edited or read again into use. */
  #takeSettings(settings: Config): void {
    const { health } = this.#options;
    this.#settings = settings;
    health.setProblem('settings', null);
    health.setNotice('settings', null);
    health.setNotice('restart', restartNotice(this.#startedWith, settings));
    this.#apply(settings);
  }

  /** Brings settings, with what the network says, into force; only what differs is touched. */
  #apply(settings: Config): void {
    const { plane, lists, log, setBootstrap, addressBook, upstreamNotices } = this.#options;
    const before = this.#applied;
    const config = withFacts(settings, this.#factsNow, plane.own);
    this.#applied = config;
    if (differ(before.dns.bootstrap, config.dns.bootstrap)) setBootstrap(config.dns.bootstrap);
    if (differ(upstreamSettings(before), upstreamSettings(config))) {
      plane.setUpstreams(config.dns.upstreams, upstreamUse(config));
      addressBook.setHosts(hostsToResolve(config));
      upstreamNotices.keepOnly(config);
      this.#setNames();
    }
    forgetAnswers(plane, before, config);
    if (differ(before.log, config.log)) log.setSettings(config.log);
    if (differ(before.lists, config.lists) || before.listRefreshHours !== config.listRefreshHours) {
      lists.setSources(config.lists, config.listRefreshHours);
    }
    this.#neighbours.watch(needsNeighbours(config));
    this.#publish();
  }

  /** What the network says; without a takeover the system's servers are those that it names now. */
  get #factsNow(): NetworkFacts {
    const { systemServers } = this.#facts;
    return {
      ...this.#facts,
      systemServers: systemServers ?? this.#options.surroundings.servers,
    };
  }

  #dropSockets(change: NetworkChange): void {
    const { plane, addressBook } = this.#options;
    plane.resetUpstreams();
    if (change === 'other') plane.flushCache();
    addressBook.networkChanged();
  }

  /** Builds the policy from what holds now and sends it to the data plane. */
  #publish(): void {
    const { protection, lists, plane, clock, temporary } = this.#options;
    const sameRules = !differ(this.#compiledRules, this.#applied.rules);
    const rules = sameRules ? this.#policy.rules : compileRules(this.#applied.rules);
    this.#compiledRules = this.#applied.rules;
    this.#policy = buildPolicy({
      version: this.#policy.version + 1,
      instance: this.#options.instance,
      filtering: protection.isFiltering && this.#facts.portalServers === null,
      config: this.#applied,
      rules,
      temporary: temporary.all,
      lists: lists.table,
      networks: this.#options.surroundings.networks,
      filters: this.#options.filters.build(this.#applied, {
        listNames: lists.listNames,
        nowMs: clock.wallMs(),
        neighbours: this.#neighbours.map,
      }),
    });
    this.#namedClients = new NamedClients(this.#applied.clients, this.#neighbours.map);
    this.#setNames();
    this.#waitForEdge();
    plane.setPolicy(this.#policy);
    this.stateChanged();
  }

  /** What those who decide are called, by their ids. */
  #names(): ReadonlyMap<number, string> {
    const { lists, filters } = this.#options;
    return new Map([...lists.listNames, ...filters.names]);
  }

  #setNames(): void {
    const { log, plane } = this.#options;
    log.setNames(this.#names(), plane.upstreams);
  }

  /** Publishes anew when a schedule switches. The samples see to clocks that were set. */
  #waitForEdge(): void {
    const { filters, clock } = this.#options;
    this.#cancelEdge();
    const nowMs = clock.wallMs();
    const edgeMs = filters.nextEdgeMs(nowMs);
    if (edgeMs === null) return;
    this.#cancelEdge = clock.after(Math.min(edgeMs - nowMs, EDGE_WAIT_MS_MAX), () => {
      this.#switchSchedules();
      this.#waitForEdge();
    });
  }

  #switchSchedules(): void {
    const { filters, clock } = this.#options;
    if (filters.hasSwitched(clock.wallMs())) this.#publish();
  }

  #sample(): void {
    const { clock, health, plane, upstreamNotices } = this.#options;
    // First: a fault in what follows must not be the last look.
    this.#cancelSample = clock.after(SAMPLE_MS, () => {
      this.#sample();
    });
    health.sample(plane.counters());
    upstreamNotices.lookAtClock(this.#applied, clock.wallMs());
    this.#switchSchedules();
    this.#options.temporary.lookAtClock();
  }
  /** Every second, since nobody tells what the system's files and links do. */
  #look(): void {
    this.lookAtNetwork();
    this.#cancelLook = this.#options.clock.after(LOOK_MS, () => {
      this.#look();
    });
  }
}
