/**
 * The data plane as the main thread sees it: as many threads as configured, each with sockets and
 * an engine of its own, sharing the listening ports. Used by compose.ts and the service.
 *
 *     setPolicy, setUpstreams ──messages──▶ thread 1 … n      (dataplane-thread.ts)
 *     counters, latency ◀──shared memory── one block a thread
 *
 * Several threads need a runtime that spreads one port over them (`canReusePort`: Linux with
 * Node 22.12 or 23.1 and later). Elsewhere one thread does all the work, and `onFault` says so.
 */
import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { COUNTER, COUNTER_BLOCK_SLOTS, COUNTERS } from '../contract/counters.ts';
import type { CounterSnapshot, HistogramName } from '../contract/counters.ts';
import { invariant } from '../contract/errors.ts';
import type { Latency } from '../contract/methods/methods.ts';
import type { CachedItem } from '../engine/cache/cache-view.ts';
import { createGateTable, lastDenied } from '../engine/state/client-gate.ts';
import { canReusePort } from '../net/listen/packet-handler.ts';
import { formatEndpoint, parseListen } from '../net/server-address.ts';
import type { Endpoint } from '../net/server-address.ts';
import { formatUpstream } from '../net/upstream-address.ts';
import { makePlan } from '../net/upstream/plan.ts';
import type { PlanSettings, UpstreamPlan } from '../net/upstream/plan.ts';
import type { UpstreamState } from '../net/upstream/upstream.ts';
import type {
  HostAddresses,
  PolicyMessage,
  ThreadSetup,
  ToThread,
  UpstreamNews,
} from './messages.ts';
import type { Listening, UnservedEndpoint } from './listeners.ts';
import type { OwnAnswer } from './own-question.ts';
import { readLatency, sumHistogram } from './quantiles.ts';
import { ThreadKeeper } from './thread-keeper.ts';
import { mergeStates } from './upstream-states.ts';

/** What a data plane is started with. */
export interface DataPlaneOptions {
  /** "127.0.0.1:53", "[::1]:53"; UDP and TCP each. Port 0 lets the system choose. */
  readonly listen: readonly string[];
  /** As in the settings; "system" stands for the machine's own servers. */
  readonly upstreams: readonly string[];
  /** How they are used, and other servers for some names. */
  readonly upstreamUse?: UpstreamUse;
  /** What is known of the addresses of encrypted upstreams. */
  readonly addresses?: HostAddresses;
  /** News of upstreams; from each thread on its own. */
  readonly onUpstream?: (news: UpstreamNews) => void;
  /** 1..LIMITS.threadsMax */
  readonly threads: number;
  /** One a thread, from LogRing.createBuffer; those of threads that are not started stay empty. */
  readonly rings: readonly SharedArrayBuffer[];
  readonly policy: PolicyMessage;
  /** One sentence about something that went wrong and was survived. */
  readonly onFault: (reason: string) => void;
  /** Endpoints that are not served, at the start and when that changes. */
  readonly onUnserved?: (unserved: readonly UnservedEndpoint[]) => void;
  /** Folder for the answers that are kept over a restart; without it none are. */
  readonly cacheDirectory?: string;
  /** For tests of runtimes without SO_REUSEPORT. */
  readonly mayReusePort?: boolean;
}

/** The settings beside `dns.upstreams` that say who is asked. */
export type UpstreamUse = Omit<PlanSettings, 'upstreams'>;

/** A running data plane. */
export class DataPlane {
  /** How UDP is served: "in batches", or "one packet at a time" and why. */
  readonly udp: string;
  readonly #keepers: readonly ThreadKeeper[];
  readonly #blocks: readonly Float64Array[];
  readonly #state: PlaneState;
  #closed: Promise<void> | null = null;

  /**
   * Starts the threads and resolves when all of them answer, on at least one address.
   *
   * @throws AppError PORT_IN_USE, PORT_FORBIDDEN, ADDRESS_UNAVAILABLE when no address can be had,
   *         CONFIG_INVALID; then nothing is left running
   */
  static async start({ policy, ...options }: DataPlaneOptions): Promise<DataPlane> {
    const threads = usableThreads(options);
    invariant(options.rings.length >= threads, 'every data-plane thread has a log ring');
    const listen = options.listen.map(parseListen);
    const state: PlaneState = {
      listen,
      served: [],
      unserved: [],
      share: () => undefined,
      plan: makePlan({ upstreams: options.upstreams, ...options.upstreamUse }, options.listen),
      addresses: options.addresses ?? {},
      policy,
      restarts: 0,
      gate: createGateTable(randomInt(2 ** 32)),
    };
    const blocks = Array.from({ length: threads }, makeBlock);
    const keepers = blocks.map((block, index) => makeKeeper(options, state, block, index, threads));
    try {
      const [first, ...others] = keepers;
      invariant(first !== undefined, 'a data plane has a thread');
      state.share = () => {
        for (const keeper of others) keeper.post({ kind: 'listen', listen: state.served });
      };
      const { udp } = await first.start();
      await Promise.all(others.map((keeper) => keeper.start()));
      return new DataPlane(state, keepers, blocks, udp);
    } catch (error) {
      await Promise.all(keepers.map((keeper) => keeper.close()));
      throw error;
    }
  }

  private constructor(
    state: PlaneState,
    keepers: readonly ThreadKeeper[],
    blocks: readonly SharedArrayBuffer[],
    udp: string,
  ) {
    this.#state = state;
    this.#keepers = keepers;
    this.#blocks = blocks.map((block) => new Float64Array(block));
    this.udp = udp;
  }

  /** As bound now, ports that were 0 filled in. */
  get listening(): readonly string[] {
    return this.#state.served.map(format);
  }

  /** All addresses that are to be listened on, also those that are not there. */
  get own(): readonly string[] {
    return this.#state.listen.map(format);
  }

  /**
   * The servers in use, "system" replaced, those of suffixes last; ExchangeResult.upstream and the
   * log index this list.
   */
  get upstreams(): readonly string[] {
    return this.#state.plan.servers.map(formatUpstream);
  }

  /** How each of `upstreams` is doing, over all threads, in the same order. */
  async upstreamStates(): Promise<UpstreamState[]> {
    const states = await Promise.all(this.#keepers.map((keeper) => keeper.upstreamStates()));
    return mergeStates(this.#state.plan.servers, states);
  }

  /** Threads that died and were started again. */
  get restarts(): number {
    return this.#state.restarts;
  }

  get threads(): number {
    return this.#keepers.length;
  }

  /** Takes effect in each thread between two packets, within a turn of its loop. */
  setPolicy(policy: PolicyMessage): void {
    this.#state.policy = policy;
    this.#post({ kind: 'policy', policy });
  }

  /** Servers that stay keep their sockets. @throws AppError CONFIG_INVALID; then nothing changes */
  setUpstreams(upstreams: readonly string[], use: UpstreamUse = {}): void {
    this.#state.plan = makePlan({ upstreams, ...use }, this.own);
    this.#post({ kind: 'upstreams', plan: this.#state.plan });
  }

  /** Takes what is known now of the addresses of encrypted upstreams. */
  setAddresses(addresses: HostAddresses): void {
    this.#state.addresses = addresses;
    this.#post({ kind: 'addresses', addresses });
  }

  /** For another network: new upstream sockets, health forgotten. */
  resetUpstreams(): void {
    this.#post({ kind: 'reset-upstreams' });
  }

  /**
   * Listens on what can be listened on now.
   *
   * @param hasChanged  the machine's addresses are others; else only what is not served is tried
   */
  lookAtListeners(hasChanged: boolean): void {
    const { served, unserved } = this.#state;
    if (hasChanged || unserved.length > 0) this.#post({ kind: 'listen', listen: served });
  }

  flushCache(): void {
    this.#post({ kind: 'flush-cache' });
  }

  /** What the threads' caches hold about a name, thread by thread. */
  async inspectCache(name: string): Promise<readonly (readonly CachedItem[])[]> {
    return Promise.all(this.#keepers.map((keeper) => keeper.inspectCache(name)));
  }

  /** Forgets what is kept about a name, and with `below` about all below it. Returns how many. */
  async flushName(name: string, below: boolean): Promise<number> {
    const counts = await Promise.all(this.#keepers.map((keeper) => keeper.flushName(name, below)));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /**
   * Asks a question as a client would, in the first thread; it is counted and logged.
   *
   * @param packet   a query message
   * @param address  16 bytes as in engine/query/ports.ts Client
   * @returns        null when no thread could answer it
   */
  async resolve(packet: Uint8Array, address: Uint8Array): Promise<OwnAnswer | null> {
    const [first] = this.#keepers;
    return first === undefined ? null : first.resolve(packet, address);
  }

  /** Resolves when every running thread has done what it was told before this call. */
  async settled(): Promise<void> {
    await Promise.all(this.#keepers.map((keeper) => keeper.settled()));
  }

  /** All counters, summed over threads, since start. */
  counters(): CounterSnapshot {
    const sums = {} as CounterSnapshot;
    for (const name of COUNTERS) {
      let sum = 0;
      for (const block of this.#blocks) sum += block[COUNTER[name]] as number;
      sums[name] = sum;
    }
    return sums;
  }

  /** Answers by bucket since start: all of them, and those that needed an upstream. */
  histograms(): Record<HistogramName, Float64Array> {
    return {
      local: sumHistogram(this.#blocks, 'local'),
      upstream: sumHistogram(this.#blocks, 'upstream'),
    };
  }

  /** The client that dns.allow kept out last; null when there was none. */
  lastDenied(): Uint8Array | null {
    return lastDenied(this.#state.gate);
  }

  /** Quantiles of `histograms`. */
  latency(): Record<HistogramName, Latency> {
    const { local, upstream } = this.histograms();
    return { local: readLatency(local), upstream: readLatency(upstream) };
  }

  /** Takes no more packets, lets answers on their way leave, ends the threads. Idempotent. */
  close(): Promise<void> {
    this.#closed ??= Promise.all(this.#keepers.map((keeper) => keeper.close())).then(
      () => undefined,
    );
    return this.#closed;
  }

  #post(message: ToThread): void {
    for (const keeper of this.#keepers) keeper.post(message);
  }
}

/** What a thread that starts now must know. */
interface PlaneState {
  /** All that is configured; ports that were 0 as bound, once they are. */
  listen: readonly Endpoint[];
  /** What the first thread serves, which the others serve with it. */
  served: readonly Endpoint[];
  unserved: readonly UnservedEndpoint[];
  /** Lets the other threads serve it. */
  share: () => void;
  plan: UpstreamPlan;
  addresses: HostAddresses;
  policy: PolicyMessage;
  restarts: number;
  /** One for all threads: engine/state/client-gate.ts. */
  readonly gate: SharedArrayBuffer;
}

function usableThreads(options: Omit<DataPlaneOptions, 'policy'>): number {
  if (options.threads === 1 || (options.mayReusePort ?? canReusePort())) return options.threads;
  options.onFault(
    `one data-plane thread instead of ${String(options.threads)}: ` +
      `this runtime (Node ${process.versions.node} on ${process.platform}) cannot share a port`,
  );
  return 1;
}

/** The first thread says what it serves. */
function takeListening(
  { onUnserved }: Pick<DataPlaneOptions, 'onUnserved'>,
  state: PlaneState,
  { configured, served, unserved }: Listening,
): void {
  const hasChanged = JSON.stringify(state.unserved) !== JSON.stringify(unserved);
  state.listen = configured;
  state.served = served;
  state.unserved = unserved;
  state.share();
  if (hasChanged) onUnserved?.(unserved);
}

function format({ address, port }: Endpoint): string {
  return formatEndpoint(address, port);
}

function makeBlock(): SharedArrayBuffer {
  return new SharedArrayBuffer(COUNTER_BLOCK_SLOTS * Float64Array.BYTES_PER_ELEMENT);
}

function makeKeeper(
  options: Omit<DataPlaneOptions, 'policy'>,
  state: PlaneState,
  counters: SharedArrayBuffer,
  index: number,
  threads: number,
): ThreadKeeper {
  let hasStarted = false;
  const isFirst = index === 0;
  return new ThreadKeeper({
    name: `data-plane thread ${String(index + 1)}`,
    onFault: options.onFault,
    onUpstream: (news) => options.onUpstream?.(news),
    onRestart: () => {
      state.restarts++;
    },
    onListening: (listening) => {
      if (isFirst) takeListening(options, state, listening);
    },
    setup: (): ThreadSetup => {
      const claimsAlone = threads > 1 && isFirst && !hasStarted;
      hasStarted = true;
      return {
        listen: isFirst ? state.listen : state.served,
        reusePort: threads > 1,
        claimsAlone,
        plan: state.plan,
        addresses: state.addresses,
        policy: state.policy,
        ring: options.rings[index] as SharedArrayBuffer,
        counters,
        gate: state.gate,
        cacheFile:
          options.cacheDirectory === undefined
            ? null
            : join(options.cacheDirectory, `answers-${String(index)}.bin`),
      };
    },
  });
}
