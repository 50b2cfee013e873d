/**
 * Hand-written stand-ins for the service's surroundings: a clock that tests move, and parts that
 * remember what they were told.
 */
import { join } from 'node:path';
import { COUNTERS, HISTOGRAM_BUCKETS } from '../../main/contract/counters.ts';
import type { CounterSnapshot } from '../../main/contract/counters.ts';
import { AppError } from '../../main/contract/errors.ts';
import type { ListStatus } from '../../main/contract/methods/methods.ts';
import type { UpstreamUse } from '../../main/dataplane/data-plane.ts';
import type { PolicyMessage } from '../../main/dataplane/messages.ts';
import type { OwnAnswer } from '../../main/dataplane/own-question.ts';
import type { CachedItem } from '../../main/engine/cache/cache-view.ts';
import type { ListMemory } from '../../main/lists/meta.ts';
import type { Network } from '../../main/engine/filter/engine-config.ts';
import { compileRules } from '../../main/lists/compile/rules.ts';
import type { UpstreamState } from '../../main/net/upstream/upstream.ts';
import type { ServiceClock } from '../../main/system/clock.ts';
import { ConfigStore } from '../../main/control/settings/config-store.ts';
import { Filters } from '../../main/control/policy/filters.ts';
import { Health } from '../../main/control/process/health.ts';
import type { ListsPart, LogPart, LogState, PlanePart } from '../../main/control/process/parts.ts';
import type { NeighbourSources } from '../../main/control/machine/neighbours.ts';
import { buildPolicy } from '../../main/control/policy/policy-builder.ts';
import { ProtectionSwitch } from '../../main/control/machine/protection.ts';
import { resourcePath } from '../../main/control/process/resources.ts';
import { loadServices } from '../../main/control/policy/services.ts';
import { ControlPlane } from '../../main/control/control-plane.ts';
import { TemporaryRules } from '../../main/control/settings/temporary-rules.ts';
import type { NetworkChange } from '../../main/control/machine/network-watch.ts';
import { Surroundings, type SurroundingsSources } from '../../main/control/machine/surroundings.ts';
import { TakeoverSwitch } from '../../main/control/machine/takeover-switch.ts';
import type { SystemDnsPart } from '../../main/control/machine/takeover-switch.ts';
import { Uploads } from '../../main/control/methods/uploads.ts';
import { UpstreamNotices } from '../../main/control/machine/upstream-notices.ts';
import type { BootTime } from '../../main/system/boot-clock.ts';

/** All clocks start at a fixed moment and move only when told to. */
export class FakeClock implements ServiceClock {
  wall = Date.UTC(2026, 0, 1);
  monotonic = 0;
  /** Time asleep; counts in the uptime alone. */
  asleep = 0;
  bootId = 'first-boot';
  #timers: { readonly atMs: number; readonly work: () => void }[] = [];

  wallMs(): number {
    return this.wall;
  }

  monotonicMs(): number {
    return this.monotonic;
  }

  boot(): BootTime {
    return { id: this.bootId, elapsedMs: this.monotonic + this.asleep };
  }

  after(delayMs: number, work: () => void): () => void {
    const timer = { atMs: this.monotonic + delayMs, work };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  get timers(): number {
    return this.#timers.length;
  }

  /** Moves both clocks and runs what falls due, in order. */
  advance(ms: number): void {
    const end = this.monotonic + ms;
    for (;;) {
      this.#timers.sort((left, right) => left.atMs - right.atMs);
      const next = this.#timers[0];
      if (!next || next.atMs > end) break;
      this.#timers.shift();
      this.#move(Math.max(0, next.atMs - this.monotonic));
      next.work();
    }
    this.#move(end - this.monotonic);
  }

  /** The machine sleeps: the wall clock goes on, the monotonic one and all timers stand still. */
  sleep(ms: number): void {
    this.wall += ms;
    this.asleep += ms;
  }

  #move(ms: number): void {
    this.monotonic += ms;
    this.wall += ms;
  }
}

/** Neighbour tables that tests write. */
export class FakeNeighbours {
  arp = '';
  reads = 0;
  readonly sources: NeighbourSources = {
    arp: () => {
      this.reads++;
      return Promise.resolve(this.arp);
    },
    ndp: () => Promise.resolve(''),
  };

  /** Resolves when a read that has begun is taken into use. */
  async settled(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** What the machine has around it, as tests write it. */
export class FakeSurroundings {
  addresses = '';
  networks: Network[] = [];
  /** Null: "system" is left as it is. */
  servers: string[] | null = null;
  readonly sources: SurroundingsSources = {
    addresses: () => this.addresses,
    networks: () => this.networks,
    servers: () => this.servers,
  };
}

export class FakePlane implements PlanePart {
  readonly listening = ['127.0.0.1:5300'];
  readonly own = this.listening;
  readonly threads = 1;
  upstreams: string[] = [];
  uses: UpstreamUse[] = [];
  restarts = 0;
  policies: PolicyMessage[] = [];
  counts: CounterSnapshot = Object.fromEntries(
    COUNTERS.map((name) => [name, 0]),
  ) as CounterSnapshot;

  setPolicy(policy: PolicyMessage): void {
    this.policies.push(policy);
  }

  setUpstreams(upstreams: readonly string[], use: UpstreamUse): void {
    this.upstreams = [...upstreams];
    this.uses.push(use);
  }

  resets = 0;
  states: UpstreamState[] = [];

  upstreamStates(): Promise<UpstreamState[]> {
    return Promise.resolve(this.states);
  }

  resetUpstreams(): void {
    this.resets++;
  }

  counters(): CounterSnapshot {
    return { ...this.counts };
  }

  /** Looks at listeners, and whether the addresses had changed. */
  looks: boolean[] = [];
  denied: Uint8Array | null = null;

  lookAtListeners(hasChanged: boolean): void {
    this.looks.push(hasChanged);
  }

  lastDenied(): Uint8Array | null {
    return this.denied;
  }

  latency() {
    const none = { p50Us: 0, p95Us: 0, p99Us: 0, p999Us: 0 };
    return { local: none, upstream: none };
  }

  histograms() {
    return {
      local: new Float64Array(HISTOGRAM_BUCKETS),
      upstream: new Float64Array(HISTOGRAM_BUCKETS),
    };
  }

  flushed: (string | undefined)[] = [];
  items: CachedItem[] = [];

  flushCache(): void {
    this.flushed.push(undefined);
  }

  inspectCache(name: string) {
    return Promise.resolve([name === 'kept.example' ? this.items : []]);
  }

  flushName(name: string, below: boolean): Promise<number> {
    this.flushed.push(below ? `*.${name}` : name);
    return Promise.resolve(2);
  }

  /** What `resolve` answers. */
  answer: OwnAnswer | null = null;
  readonly resolved: { packet: Uint8Array; address: Uint8Array }[] = [];

  resolve(packet: Uint8Array, address: Uint8Array): Promise<OwnAnswer | null> {
    this.resolved.push({ packet, address });
    return Promise.resolve(this.answer);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

export class FakeLists implements ListsPart {
  table = compileRules(['||listed.example^']);
  nameCount = 1;
  readonly listNames = new Map([[1, 'Starter']]);
  sources: string[] = [];
  states: ListStatus[] = [];
  refreshed: (string | undefined)[] = [];

  setSources(sources: readonly { readonly name: string }[]): void {
    this.sources = sources.map(({ name }) => name);
  }

  refresh(name?: string): Promise<void> {
    this.refreshed.push(name);
    return Promise.resolve();
  }

  memories: ListMemory[] = [];

  memory(): ListMemory[] {
    return this.memories;
  }

  remember(memory: readonly ListMemory[]): void {
    this.memories = [...memory];
  }

  accepted: string[] = [];
  rolledBack: string[] = [];

  accept(name: string): Promise<void> {
    this.accepted.push(name);
    return Promise.resolve();
  }

  rollBack(name: string): Promise<void> {
    this.rolledBack.push(name);
    return Promise.resolve();
  }

  statuses(): ListStatus[] {
    return this.states;
  }

  ruleText(listId: number, line: number): string {
    return `line ${String(line)} of list ${String(listId)}`;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

export class FakeLog implements LogPart {
  state: LogState = {
    ...{ state: 'ok', reasons: [], notices: [], stored: 0, dropped: 0, bytes: 0, batches: 0 },
    ...{ statisticsUpdates: 0, pruned: 0, writers: 1, restarts: 0 },
  };
  live: boolean[] = [];
  names: { lists: ReadonlyMap<number, string>; upstreams: readonly string[] }[] = [];
  settings: unknown[] = [];

  setLive(on: boolean): void {
    this.live.push(on);
  }

  setNames(lists: ReadonlyMap<number, string>, upstreams: readonly string[]): void {
    this.names.push({ lists, upstreams });
  }

  setSettings(settings: unknown): void {
    this.settings.push(settings);
  }

  search(input: { readonly text: string; readonly limit: number }) {
    if (input.text === 'slow') {
      return Promise.reject(new AppError('SEARCH_TIMEOUT', 'search the query log: too slow'));
    }
    return Promise.resolve({ rows: [], nextBeforeId: input.limit, incomplete: false });
  }

  statistics(input: { readonly stepMinutes: number }) {
    const { stepMinutes } = input;
    const none = { points: [], topBlocked: [], topClients: [] };
    return Promise.resolve({ sinceMs: 0, untilMs: 1, stepMinutes, ...none });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** The takeover, of which only the states are real. */
export class FakeSystemDns implements SystemDnsPart {
  state: SystemDnsPart['state'] = {
    ...{ phase: 'off', reason: '', step: '', owner: '', covered: [], uncovered: [] },
  };
  portal: SystemDnsPart['portal'] = { phase: 'clear', endsAtMs: null, servers: [] };
  /** Why taking over fails; '' when it does not. */
  failure = '';
  calls: string[] = [];
  onChange: () => void = () => undefined;

  takeOver(): Promise<SystemDnsPart['state']> {
    this.calls.push('takeOver');
    if (this.failure !== '') {
      return Promise.reject(new AppError('TAKEOVER_FAILED', this.failure));
    }
    this.become({ phase: 'on', owner: 'systemd-resolved', covered: ['wlan0'] });
    return Promise.resolve(this.state);
  }

  giveBack() {
    this.calls.push('giveBack');
    this.become({ phase: 'off', owner: '', covered: [] });
    return Promise.resolve({ outcome: 'restored', detail: 'as before', items: [] } as const);
  }

  become(state: Partial<SystemDnsPart['state']>): void {
    this.state = { ...this.state, ...state };
    this.onChange();
  }

  openPortal(): SystemDnsPart['portal'] {
    const endsAtMs = performance.now() + 300_000;
    this.portal = { phase: 'open', endsAtMs, servers: ['10.0.0.1'] };
    return this.portal;
  }

  readonly rights: string[] = [];

  changeRight(id: string, change: string): Promise<void> {
    this.rights.push(`${change} ${id}`);
    return Promise.resolve();
  }

  closePortal(): SystemDnsPart['portal'] {
    this.portal = { phase: 'over', endsAtMs: null, servers: [] };
    return this.portal;
  }

  follow(): void {
    this.calls.push('follow');
  }

  network(): ReturnType<SystemDnsPart['network']> {
    return Promise.resolve({
      ...{ state: this.state, portal: this.portal, owners: [], links: [], lastRescue: null },
      journal: { directory: '/state', writtenAtMs: null },
      ...{ bypasses: [], ladder: [] },
    });
  }
}

/** A service over stand-ins, on a real settings file. */
export async function fakeService(directory: string, clock: ServiceClock = new FakeClock()) {
  const plane = new FakePlane();
  const lists = new FakeLists();
  const log = new FakeLog();
  const health = new Health(clock);
  const file = join(directory, 'sluice.yaml');
  const store = await ConfigStore.open({ file, templateFile: resourcePath('sluice.yaml') });
  const late: { service?: ControlPlane } = {};
  const protection = ProtectionSwitch.open({
    file: join(directory, 'protection.json'),
    clock,
    onChange: () => late.service?.protectionChanged(),
    onSaveFailed: (reason) => {
      health.setNotice('protection', reason);
    },
  });
  const temporary = TemporaryRules.open({
    ...{ directory, clock, health },
    onChange: () => late.service?.rulesChanged(),
  });
  const instance = 'feed';
  const neighbours = new FakeNeighbours();
  const filters = new Filters();
  await loadServices(store.config);
  const policy = buildPolicy({
    ...{ version: 1, instance },
    filtering: protection.isFiltering,
    config: store.config,
    rules: compileRules(store.config.rules),
    temporary: temporary.all,
    lists: lists.table,
    filters: filters.build(store.config, {
      listNames: lists.listNames,
      nowMs: clock.wallMs(),
      neighbours: new Map(),
    }),
  });
  const network: { change: NetworkChange } = { change: 'none' };
  const around = new FakeSurroundings();
  const systemDns = new FakeSystemDns();
  const takeover = new TakeoverSwitch({
    ...{ systemDns, clock, health },
    file: join(directory, 'takeover.json'),
  });
  systemDns.onChange = () => {
    takeover.changed();
  };
  const renewed = { count: 0 };
  const bootstraps: (readonly string[])[] = [];
  const hosts: (readonly string[])[] = [];
  const service = new ControlPlane({
    ...{ version: '1.2.3', clock, store, protection, health, plane, lists, log, policy },
    ...{ filters, temporary, instance, takeover },
    logRing: () => ({ depth: 7, capacity: 4096 }),
    uploads: new Uploads(directory, clock),
    renewToken: () => {
      renewed.count++;
      return Promise.resolve();
    },
    setBootstrap: (servers) => bootstraps.push(servers),
    addressBook: { setHosts: (names) => hosts.push(names), networkChanged: () => undefined },
    upstreamNotices: new UpstreamNotices(health),
    network: { look: () => network.change },
    neighbours: neighbours.sources,
    surroundings: new Surroundings(plane.own, around.sources),
  });
  late.service = service;
  const made = { service, plane, lists, log, health, store, protection, temporary, file };
  const rest = {
    renewed,
    bootstraps,
    hosts,
    clock,
    neighbours,
    takeover,
    systemDns,
    network,
    around,
  };
  return { ...made, ...rest };
}
