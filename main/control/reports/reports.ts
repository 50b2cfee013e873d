/**
 * Reads all parts and puts together what status, live updates, health and metrics show.
 *
 * Owned by the service; changes nothing. Each report is one read-out: its figures belong together.
 */
import type { CounterSnapshot, HistogramName } from '../../contract/counters.ts';
import type {
  LiveUpdate,
  MethodOutput,
  QueueStatus,
  Status,
} from '../../contract/methods/methods.ts';
import { maskAddress } from '../../engine/state/accounting.ts';
import { addressText } from '../../dns/address-text.ts';
import { processMemory, type ProcessMemory } from '../../net/native/process-memory.ts';
import type { ServiceClock } from '../../system/clock.ts';
import type { ConfigStore } from '../settings/config-store.ts';
import { planeQueues, totalsOf } from './figures.ts';
import type { Health, HealthReport } from '../process/health.ts';
import { LoopLag } from '../process/loop-lag.ts';
import type { ListsPart, LogPart, LogState, PlanePart } from '../process/parts.ts';
import type { ProtectionSwitch } from '../machine/protection.ts';
import type { TakeoverSwitch } from '../machine/takeover-switch.ts';

export interface ReportParts {
  readonly version: string;
  readonly clock: ServiceClock;
  readonly store: ConfigStore;
  readonly protection: ProtectionSwitch;
  readonly takeover: TakeoverSwitch;
  readonly health: Health;
  readonly plane: PlanePart;
  readonly lists: ListsPart;
  readonly log: LogPart;
  /** Depth and capacity of the log rings, summed. */
  readonly logRing: () => { readonly depth: number; readonly capacity: number };
}

/** What the metrics door shows. */
export interface Measurements {
  readonly version: string;
  readonly startedAtMs: number;
  readonly counters: CounterSnapshot;
  /** Answers by bucket, summed over threads; buckets as in contract/counters.ts. */
  readonly histograms: Readonly<Record<HistogramName, ArrayLike<number>>>;
  readonly queues: readonly QueueStatus[];
  readonly log: LogState;
  readonly lists: MethodOutput<'lists.list'>['lists'];
  readonly blockedNames: number;
  readonly policyVersion: number;
  readonly filtering: boolean;
  readonly healthy: boolean;
  readonly planeRestarts: number;
  readonly loopLagP99Ms: number;
  readonly memory: ProcessMemory;
}

export class Reports {
  readonly #parts: ReportParts;
  readonly #policyVersion: () => number;
  readonly #lag = new LoopLag();
  readonly #startedAtMs: number;
  readonly #doorQueues: (() => QueueStatus)[] = [];

  constructor(parts: ReportParts, policyVersion: () => number) {
    this.#parts = parts;
    this.#policyVersion = policyVersion;
    this.#startedAtMs = parts.clock.wallMs();
  }

  addQueue(read: () => QueueStatus): void {
    this.#doorQueues.push(read);
  }

  health(): HealthReport {
    const { health, log, lists, plane, store } = this.#parts;
    return health.report({
      lastDenied: shownAddress(plane.lastDenied(), store.config.log.mode),
      log: log.state,
      lists: lists.statuses(),
      blockedNames: lists.nameCount,
    });
  }

  lists(): MethodOutput<'lists.list'> {
    const { lists } = this.#parts;
    return { lists: lists.statuses(), names: lists.nameCount };
  }

  status(): Status {
    const { version, store, protection, takeover, plane, lists, log } = this.#parts;
    const counters = plane.counters();
    const { state, stored, bytes } = log.state;
    return {
      version,
      ...this.health(),
      startedAtMs: this.#startedAtMs,
      listening: [...plane.listening],
      protection: protection.state,
      takeover: takeover.status,
      totals: totalsOf(counters),
      latency: plane.latency(),
      queues: this.#queues(counters),
      blockedNames: lists.nameCount,
      policyVersion: this.#policyVersion(),
      upstreams: [...plane.upstreams],
      log: { mode: store.config.log.mode, state, stored, bytes },
      memory: processMemory(),
      language: store.config.language,
    };
  }

  async upstreams(): Promise<MethodOutput<'upstreams.list'>> {
    const { plane, store } = this.#parts;
    return { strategy: store.config.dns.strategy, upstreams: await plane.upstreamStates() };
  }

  live(): Omit<LiveUpdate, 'rows' | 'rowsLeftOut'> {
    const { clock, protection, takeover, plane } = this.#parts;
    const counters = plane.counters();
    const { health, degradedReasons } = this.health();
    return {
      timeMs: clock.wallMs(),
      totals: totalsOf(counters),
      latency: plane.latency(),
      protection: protection.state,
      takeover: takeover.status,
      health,
      degradedReasons,
      queues: this.#queues(counters),
    };
  }

  measurements(): Measurements {
    const { version, plane, log, lists, protection } = this.#parts;
    const counters = plane.counters();
    return {
      version,
      startedAtMs: this.#startedAtMs,
      counters,
      histograms: plane.histograms(),
      queues: this.#queues(counters),
      log: log.state,
      lists: lists.statuses(),
      blockedNames: lists.nameCount,
      policyVersion: this.#policyVersion(),
      filtering: protection.isFiltering,
      healthy: this.health().health === 'ok',
      planeRestarts: plane.restarts,
      loopLagP99Ms: this.#lag.p99Ms(),
      memory: processMemory(),
    };
  }

  close(): void {
    this.#lag.close();
  }

  #queues(counters: CounterSnapshot): QueueStatus[] {
    const { plane, logRing } = this.#parts;
    const fromDoors = this.#doorQueues.map((read) => read());
    return [...planeQueues(counters, plane.threads, logRing()), ...fromDoors];
  }
}

/** An address as far as the log shows it; '' for none. */
function shownAddress(address: Uint8Array | null, mode: 'full' | 'anonymous' | 'off'): string {
  if (address === null || mode === 'off') return '';
  const shown = mode === 'full' ? address : maskAddress(address, new Uint8Array(16));
  return addressText(shown, 0);
}
