/**
 * The system resolver as the service sees it: one switch, one report, one "give back now". Joins
 * the takeover with the network watch and the portal mode. One per program, in the main thread.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../contract/errors.ts';
import { findBypasses, type Bypass } from './takeover/bypasses.ts';
import { runCommand } from '../system/command.ts';
import { REPORT_FILE, type GuardianReport } from './guardian/guardian-orders.ts';
import { startGuardian, type StartGuardian } from './guardian/guardian.ts';
import type { OnStep } from './takeover/hold-point.ts';
import { JournalFile, type Journal } from './takeover/journal.ts';
import { NetworkWatch, type NetworkEvent } from './takeover/network-watch.ts';
import type { DnsServer, OwnerItem, ResolverOwner } from './owners/owner.ts';
import { detectAll, ownerInCharge, systemOwners } from './owners/owners.ts';
import { ladderFacts, portLadder, type RightChange, type Rung } from './rights/port-ladder.ts';
import { PortalMode, type PortalState } from './portal/portal.ts';
import { probePortal } from './portal/portal-probe.ts';
import { askServer, probeName } from './takeover/probe.ts';
import { journalDirectory } from './takeover/restore-now.ts';
import type { RestoreReport } from './takeover/restore.ts';
import { changeRight } from './rights/rights.ts';
import { askStub } from './owners/stub-probe.ts';
import { Takeover, type Probes, type TakeoverState } from './takeover.ts';

/** A suffix that only these servers know: a tunnel's routing domain. */
export interface SplitRoute {
  readonly suffix: string;
  readonly servers: readonly string[];
}

export interface SystemDnsOptions {
  /** Endpoints that the engine listens on, as text: "127.0.0.1:53", "[::1]:53", "0.0.0.0:53". */
  readonly listening: () => readonly string[];
  /** Id that the engine answers probe names for. */
  readonly instance: string;
  /** After each change of `state` or `portal`. */
  readonly onChange: () => void;
  /** The network changed or the machine woke: upstream sockets are of no use any more. */
  readonly onNetwork: (event: Exclude<NetworkEvent, 'tick'>) => void;
  /** Servers that the system asked before the takeover; null once it asks them itself again. */
  readonly onServers: (servers: readonly string[] | null) => void;
  /** Names below a suffix belong to other servers now; the whole list, each time it changes. */
  readonly onSplitRoutes: (routes: readonly SplitRoute[]) => void;
  /** While not null, every name goes to these servers, unfiltered. */
  readonly onPortal: (servers: readonly string[] | null) => void;
  readonly directory?: string;
  /** Called before each step of a takeover or restore, see hold-point.ts. */
  readonly onStep?: OnStep | undefined;
  /** For tests. */
  readonly owners?: readonly ResolverOwner[];
  readonly startGuardian?: StartGuardian;
  readonly probes?: Probes;
  readonly probePortal?: typeof probePortal;
}

export interface NetworkLink {
  readonly label: string;
  readonly isCovered: boolean;
  /** Why not; '' when covered. */
  readonly reason: string;
  /** Servers that it names now. */
  readonly servers: readonly string[];
  /** Servers from before the takeover: those of last resort, and for portals. */
  readonly serversBefore: readonly string[];
  readonly routingDomains: readonly string[];
}

export interface NetworkReport {
  readonly state: TakeoverState;
  readonly portal: PortalState;
  readonly owners: Awaited<ReturnType<typeof detectAll>>;
  readonly links: readonly NetworkLink[];
  readonly journal: { readonly directory: string; readonly writtenAtMs: number | null };
  /** What the guardian did last; null when it never had to. */
  readonly lastRescue: GuardianReport | null;
  readonly bypasses: readonly Bypass[];
  readonly ladder: readonly Rung[];
}

const ENGINE_PROBE_MS = 1_000;
const STUB_PROBE_MS = 2_000;
/** After the guardian had to give back: wait before taking over again, doubled each time. */
const AGAIN_MS = 10_000;
const AGAIN_MS_MAX = 10 * 60_000;
/** A tunnel names its servers a moment after its link came: looks after a change, since the last. */
const FOLLOW_MS = [0, 1_000, 3_000, 10_000];
/** Without a change of links its domains are looked at so often, while there are any. */
const FOLLOW_AGAIN_MS = 60_000;

export class SystemDns {
  readonly #options: SystemDnsOptions;
  readonly #directory: string;
  readonly #owners: readonly ResolverOwner[];
  readonly #journal: JournalFile;
  readonly #takeover: Takeover;
  /** Only while the resolver is, or is to be, taken over: it costs a process. */
  #watch: NetworkWatch | null = null;
  readonly #portal = new PortalMode();
  #isWanted = false;
  #isClosed = false;
  #againAtMs = 0;
  #againMs = AGAIN_MS;
  #portalTimer: NodeJS.Timeout | null = null;
  #routes = '[]';
  /** The system's links are looked at while its resolver is not taken over. */
  #isFollowing = false;
  #followTimer: NodeJS.Timeout | null = null;

  constructor(options: SystemDnsOptions) {
    this.#options = options;
    this.#directory = options.directory ?? journalDirectory();
    this.#journal = new JournalFile(this.#directory);
    this.#owners = options.owners ?? systemOwners(process.platform, runCommand);
    const { instance } = options;
    this.#takeover = new Takeover({
      ...{ journal: this.#journal, directory: this.#directory, owners: this.#owners },
      ...{ instance, onChange: options.onChange },
      ...(options.onStep && { onStep: options.onStep }),
      startGuardian: options.startGuardian ?? startGuardian,
      servers: () => loopbackServers(options.listening()),
      probes: options.probes ?? {
        engine: (server) => askServer(server, probeName(instance), ENGINE_PROBE_MS),
        stub: (family) => askStub(probeName(instance), family, STUB_PROBE_MS),
      },
    });
  }

  get state(): TakeoverState {
    return this.#takeover.state;
  }

  get portal(): PortalState {
    return this.#portal.state;
  }

  /** @throws AppError TAKEOVER_FAILED, TAKEOVER_HELD; the resolver is as before then */
  async takeOver(): Promise<TakeoverState> {
    this.#isWanted = true;
    this.#againMs = AGAIN_MS;
    try {
      const state = await this.#takeover.on();
      // It may have been given back, or the program ended, while this went on.
      if (!this.#stillWanted()) return state;
      this.#watch ??= new NetworkWatch({ onEvent: (event) => void this.#onNetwork(event) });
      await this.#look();
      return state;
    } catch (error) {
      this.#isWanted = false;
      throw error;
    }
  }

  /** Gives back, whatever state this is in; also what a dead instance left. Never throws. */
  async giveBack(): Promise<RestoreReport> {
    this.#isWanted = false;
    const watch = this.#watch;
    this.#watch = null;
    const report = await this.#takeover.off();
    this.#portal.joined('', []);
    this.#portalChanged();
    if (this.#isFollowing) this.follow();
    else this.#setRoutes([]);
    if (this.#takeover.journal === null) this.#options.onServers(null);
    await watch?.close();
    return report;
  }

  /**
   * Without a takeover: learns which names are a tunnel's, by reading only. Called at the start and
   * when the machine's links or addresses have changed. Linux only: asking the others costs a
   * PowerShell or a dozen processes each time. Never throws.
   */
  follow(): void {
    if (process.platform !== 'linux') return;
    this.#isFollowing = true;
    this.#followIn(FOLLOW_MS);
  }

  #followIn([waitMs = FOLLOW_AGAIN_MS, ...later]: readonly number[]): void {
    if (this.#followTimer) clearTimeout(this.#followTimer);
    this.#followTimer = null;
    if (this.#isClosed) return;
    this.#followTimer = setTimeout(() => {
      this.#lookAtTunnels().then(
        () => {
          if (later.length > 0 || this.#routes !== '[]') this.#followIn(later);
        },
        () => {
          this.#followIn(later); // the owner did not answer: what was known stays
        },
      );
    }, waitMs).unref();
  }

  /** With a takeover, `#look` does it. */
  async #lookAtTunnels(): Promise<void> {
    const isOurs = (): boolean => this.#takeover.journal !== null || this.#isClosed;
    if (isOurs()) return;
    const found = await ownerInCharge(this.#owners);
    const items = (await found?.owner.capture()) ?? [];
    if (!isOurs()) this.#setRoutes(tunnelRoutes(items));
  }

  /** Lets names go past the filter so that a login page opens, for at most five minutes. */
  openPortal(): PortalState {
    this.#portal.ask(performance.now());
    this.#portalChanged();
    return this.#portal.state;
  }

  closePortal(): PortalState {
    this.#portal.end();
    this.#portalChanged();
    return this.#portal.state;
  }

  async network(): Promise<NetworkReport> {
    const [owners, found] = await Promise.all([
      detectAll(this.#owners),
      ownerInCharge(this.#owners),
    ]);
    const items = (await found?.owner.capture().catch(() => null)) ?? [];
    return {
      ...{ state: this.state, portal: this.portal, owners },
      links: items
        .map((item) => this.#linkOf(item))
        .sort((one, other) => one.label.localeCompare(other.label)),
      journal: {
        directory: this.#directory,
        writtenAtMs: this.#takeover.journal?.writtenAtMs ?? null,
      },
      lastRescue: readRescue(this.#directory),
      bypasses: findBypasses(),
      ladder: portLadder(ladderFacts(found?.detection.takesPort ?? false)),
    };
  }

  /**
   * Installs a right of the ladder as its commands say, or takes it away; the person is asked for a
   * password.
   *
   * @throws AppError RIGHT_REFUSED
   */
  async changeRight(id: string, change: RightChange): Promise<void> {
    const found = await ownerInCharge(this.#owners);
    const ladder = portLadder(ladderFacts(found?.detection.takesPort ?? false));
    const rung = ladder.find((one) => one.id === id);
    if (!rung) throw new AppError('RIGHT_REFUSED', `there is no right "${id}"`);
    await changeRight(rung, change, runCommand);
  }

  /** Gives back and ends everything. Idempotent. Resolves when nothing of it runs. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#portalTimer) clearTimeout(this.#portalTimer);
    this.#portalTimer = null;
    if (this.#followTimer) clearTimeout(this.#followTimer);
    this.#followTimer = null;
    if (this.#isWanted || this.#takeover.journal) await this.giveBack();
  }

  #stillWanted(): boolean {
    return this.#isWanted && !this.#isClosed;
  }

  async #onNetwork(event: NetworkEvent): Promise<void> {
    if (this.#isClosed) return;
    if (event !== 'tick') this.#options.onNetwork(event);
    if (this.#isWanted && this.#takeover.journal === null) await this.#again();
    await this.#takeover.cover();
    if (event !== 'tick') await this.#look();
  }

  /** The guardian had given back; the engine answers again: on again, but not again and again. */
  async #again(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs < this.#againAtMs) return;
    this.#againAtMs = nowMs + this.#againMs;
    this.#againMs = Math.min(this.#againMs * 2, AGAIN_MS_MAX);
    await this.#takeover.on().catch(() => undefined); // the state says why
  }

  /** What the network itself says: its servers, its tunnels, its portal. */
  async #look(): Promise<void> {
    const { journal } = this.#takeover;
    if (!journal || this.#isClosed) return;
    const found = this.#owners.find(({ name }) => name === journal.owner);
    const items = (await found?.capture().catch(() => null)) ?? [];
    this.#setRoutes(tunnelRoutes(items));
    const servers = serversBefore(journal);
    this.#options.onServers(servers);
    const network = journal.items.map(({ key, servers: own }) => `${key} ${own.join(',')}`);
    this.#portal.joined(network.sort().join(';'), servers);
    void this.#probePortal(); // takes seconds where nothing answers
  }

  async #probePortal(): Promise<void> {
    const { journal } = this.#takeover;
    if (!journal || this.#isClosed) return;
    const probe = this.#options.probePortal ?? probePortal;
    const finding = await probe(serversBefore(journal));
    if (this.#takeover.journal?.id !== journal.id) return; // given back meanwhile
    this.#portal.found(finding, performance.now());
    this.#portalChanged();
  }

  #portalChanged(): void {
    if (this.#portalTimer) clearTimeout(this.#portalTimer);
    this.#portalTimer = null;
    const { phase, servers } = this.#portal.state;
    this.#options.onPortal(phase === 'open' ? servers : null);
    this.#options.onChange();
    const nowMs = performance.now();
    const nextMs = this.#portal.nextProbeMs(nowMs);
    if (nextMs === null || this.#isClosed) return;
    this.#portalTimer = setTimeout(() => void this.#probePortal(), nextMs - nowMs);
    this.#portalTimer.unref();
  }

  #setRoutes(routes: readonly SplitRoute[]): void {
    const text = JSON.stringify(routes);
    if (text === this.#routes) return;
    this.#routes = text;
    this.#options.onSplitRoutes(routes);
  }

  #linkOf(item: OwnerItem): NetworkLink {
    const { covered, uncovered } = this.state;
    const before = this.#takeover.journal?.items.find(({ key }) => key === item.key);
    const why = uncovered.find(({ label }) => label === item.label)?.reason;
    const isCovered = covered.includes(item.label);
    const { label, servers, routingDomains } = item;
    return {
      ...{ label, isCovered, servers, routingDomains },
      reason: isCovered ? '' : (why ?? (item.skip || 'Sluice is off')),
      serversBefore: before?.servers ?? servers,
    };
  }
}

/** Endpoints that this machine can ask: loopback, and wildcards by way of it. IPv4 first. */
export function loopbackServers(listening: readonly string[]): DnsServer[] {
  const servers = listening.flatMap((text): DnsServer[] => {
    const [, v6, v4, port] = /^(?:\[([^\]]+)\]|([\d.]+)):(\d+)$/.exec(text) ?? [];
    const address = { '0.0.0.0': '127.0.0.1', '::': '::1' }[v6 ?? v4 ?? ''] ?? v6 ?? v4 ?? '';
    return address === '::1' || address.startsWith('127.') ? [{ address, port: Number(port) }] : [];
  });
  const isV6 = ({ address }: DnsServer): boolean => address.includes(':');
  return [...servers.filter((one) => !isV6(one)), ...servers.filter(isV6)];
}

/** What the links that are left alone, tunnels, claim for their own servers. */
function tunnelRoutes(items: readonly OwnerItem[]): SplitRoute[] {
  return items
    .filter(({ skip }) => skip !== '')
    .flatMap(({ routingDomains, servers }) =>
      routingDomains.map((suffix) => ({ suffix, servers: servers.map(bare) })),
    );
}

/** What the links that we cover asked before, each server once. */
function serversBefore({ items }: Journal): string[] {
  const servers = items.filter(({ skip }) => skip === '').flatMap((one) => one.servers);
  return [...new Set(servers.map(bare))];
}

/** A server without the name that its certificate should have: "9.9.9.9#dns.quad9.net". */
function bare(server: string): string {
  return server.split('#', 1)[0] ?? server;
}

function readRescue(directory: string): GuardianReport | null {
  try {
    return JSON.parse(readFileSync(join(directory, REPORT_FILE), 'utf8')) as GuardianReport;
  } catch {
    // Never needed, or not readable: nothing to tell.
    return null;
  }
}
