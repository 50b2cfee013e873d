/**
 * The engine: bytes and client in, bytes out. One per data-plane thread; dataplane/ makes it and
 * hands it to the listeners. It does no I/O: clock, random numbers, upstreams, log and counters are
 * passed in (ports.ts). What happens to a packet is written in pipeline.ts.
 */
import { COUNTER } from '../contract/counters.ts';
import { LIMITS } from '../contract/limits.ts';
import type { Outcome, Reason } from '../contract/outcome.ts';
import { AliasChain } from './answer/alias-chain.ts';
import { AnswerInspector, type RebindingGuard } from './answer/answer-inspector.ts';
import { AnswerName } from './answer/answer-name.ts';
import { AnswerRewriter } from './answer/answer-rewriter.ts';
import { Answer, ReplyReader } from './answer/answer.ts';
import { BatchClock } from './query/batch-clock.ts';
import type { CachedItem } from './cache/cache-view.ts';
import { AnswerCache, tickAt } from './cache/cache.ts';
import { GATE_DENIED, GATE_LIMITED, type ClientGate } from './state/client-gate.ts';
import { hashName, writeName } from '../dns/name.ts';
import type { EngineState } from './state/engine-state.ts';
import { PendingQuestions } from './state/pending.ts';
import { runPipeline } from './pipeline.ts';
import { Query, QUERY_IGNORED, QUERY_OK, type QueryStatus } from './query/query.ts';
import { ReadAhead } from './read-ahead.ts';
import type { EngineConfig } from './filter/engine-config.ts';
import type { Alarm, Client, Clock, Counters, Exchange, QuerySink, Random } from './query/ports.ts';
import { CONNECTIVITY_NAME_LIST } from './state/connectivity.ts';
import { RuleSet } from './filter/rule-set.ts';
import { answerLimited } from './steps/limited.ts';
import { isProbe } from './steps/special-names.ts';
import { SuffixSet } from '../dns/suffix-set.ts';
import { Accounting } from './state/accounting.ts';
import { QueryContext } from './query/query-context.ts';
import { UPSTREAM_QUERY_BYTES_MAX } from './state/upstream-query.ts';

const RECEIVED = COUNTER.received;
const IGNORED = COUNTER.ignored;
const PENDING = COUNTER.pending;
const DENIED = COUNTER.denied;

/** What the engine needs from outside. */
export interface EnginePorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly exchange: Exchange;
  readonly sink: QuerySink;
  readonly counters: Counters;
  /** Without one, a stale answer waits until the upstreams have failed. */
  readonly alarm?: Alarm;
  /** Without one, everybody may ask as often as he likes. */
  readonly gate?: ClientGate;
  /** Instead of LIMITS.cacheBytesMax. */
  readonly cacheBytesMax?: number;
}

export class Engine {
  readonly #state: EngineState;
  readonly #batch: BatchClock;
  /** The query of a packet that was not read ahead. */
  readonly #own = new Query();
  readonly #ahead = new ReadAhead();

  /** Until the first `setPolicy`, everything is forwarded and nothing filtered, kept or logged. */
  constructor(ports: EnginePorts) {
    const { slots } = ports.counters;
    const config = transparentPolicy();
    const bytesMax = ports.cacheBytesMax ?? LIMITS.cacheBytesMax;
    this.#batch = new BatchClock(ports.clock);
    this.#state = {
      context: new QueryContext(),
      clock: ports.clock,
      exchange: ports.exchange,
      cache: new AnswerCache(bytesMax, ports.random.uint32(), slots),
      pending: new PendingQuestions(),
      accounting: new Accounting(this.#batch, ports.clock, ports.sink, slots),
      cached: new Answer(),
      reader: new ReplyReader(),
      inspector: new AnswerInspector(),
      rewriter: new AnswerRewriter(),
      coverRewriter: new AnswerRewriter(),
      chain: new AliasChain(),
      targetName: new AnswerName(),
      alarm: ports.alarm ?? null,
      gate: ports.gate ?? null,
      slips: 0,
      config,
      guard: guardOf(config),
      staleOff: new SuffixSet(config.cache.staleOff),
      downUntilTick: 0,
      refreshes: 0,
      originUs: ports.clock.nowUs(),
      isClosed: false,
      upstreamQuery: new Uint8Array(UPSTREAM_QUERY_BYTES_MAX),
      lateAnswer: new Uint8Array(0),
    };
    // The block may be that of a thread which ended with questions in flight.
    slots[PENDING] = 0;
  }

  /** Takes effect with the next packet. Answers that are on their way are not looked at again. */
  setPolicy(config: EngineConfig): void {
    const state = this.#state;
    const before = state.config;
    state.config = config;
    state.cache.configure(config.cache.entriesMax, config.cache.staleSecondsMax);
    state.staleOff = new SuffixSet(config.cache.staleOff);
    state.gate?.configure(config.access);
    if (JSON.stringify(before.rebinding) === JSON.stringify(config.rebinding)) return;
    state.guard = guardOf(config);
    // What is kept was cut by the former rules.
    state.cache.clear();
  }

  /**
   * Answers one DNS message, packet[start, start + length). Never throws on any bytes.
   *
   * @param client    valid only during the call
   * @param out       room from `outStart`: LIMITS.messageBytesMax bytes over TCP, 4,096 over UDP;
   *                  must not overlap the packet
   * @returns         bytes written; 0 when there is no answer; -1 when it comes later, to what
   *                  `client.hold()` returned
   */
  handle(
    packet: Uint8Array,
    start: number,
    length: number,
    client: Client,
    out: Uint8Array,
    outStart: number,
  ): number {
    const { context } = this.#state;
    context.query = this.#own;
    this.#begin(client, out, outStart);
    if (!this.#admit(client)) return this.#finish(0);
    const isLong = client.transport === 'udp' && length > LIMITS.udpQueryBytesMax;
    const status = isLong ? QUERY_IGNORED : context.query.read(packet, start, length);
    return this.#finish(this.#answer(status));
  }

  /**
   * Reads packets of a batch over UDP that are then answered by `handleRead`, in any order: packet
   * n is packets[n * stride, + lengths[n]), and `count` of them, at most AHEAD, are read from
   * `first` on. To be called between `beginBatch` and `endBatch`.
   */
  readAhead(
    packets: Uint8Array,
    stride: number,
    lengths: Uint32Array,
    first: number,
    count: number,
  ): void {
    const { config, cache } = this.#state;
    this.#ahead.read(packets, stride, lengths, first, count);
    this.#ahead.touch(config.lists, cache, count);
  }

  /** As `handle`, for packet number `index` of those that `readAhead` read, counted from 0. */
  handleRead(index: number, client: Client, out: Uint8Array, outStart: number): number {
    this.#state.context.query = this.#ahead.query(index);
    this.#begin(client, out, outStart);
    if (!this.#admit(client)) return this.#finish(0);
    return this.#finish(this.#answer(this.#ahead.status(index)));
  }

  /** The packets up to `endBatch` arrived together: they share the time of their arrival. */
  beginBatch(): void {
    this.#batch.begin();
  }

  endBatch(): void {
    this.#batch.end();
  }

  /** What became of the packet that was answered last, or is being answered by `ReplyTo.send`. */
  describeLast(): { outcome: Outcome; reason: Reason; upstream: number; durationUs: number } {
    const { context, clock } = this.#state;
    const { outcome, reason, upstream, startedUs } = context;
    return { outcome, reason, upstream, durationUs: Math.max(0, clock.nowUs() - startedUs) };
  }

  /** Whether the access list has an address, 16 bytes as in Client. */
  admits(address: Uint8Array): boolean {
    return this.#state.gate?.allows(address) ?? true;
  }

  #begin(client: Client, out: Uint8Array, outStart: number): void {
    const { context, accounting, originUs } = this.#state;
    this.#batch.arrived();
    const nowUs = this.#batch.arrivalUs;
    context.begin(out, outStart, nowUs, tickAt(nowUs, originUs));
    context.client = client;
    context.address = client.address;
    context.transport = client.transport;
    accounting.add(RECEIVED);
  }

  /** Whether the client is to be heard; nobody can receive at port 0: a forged source. */
  #admit(client: Client): boolean {
    const { gate, context, accounting, isClosed } = this.#state;
    if (client.port === 0 || isClosed) return false;
    if (gate === null) return true;
    const isTcp = client.transport === 'tcp';
    const verdict = gate.admit(client.address, context.startedUs | 0, isTcp);
    context.isLimited = verdict === GATE_LIMITED;
    if (verdict === GATE_DENIED) accounting.add(DENIED);
    return verdict !== GATE_DENIED;
  }

  #answer(status: QueryStatus): number {
    const state = this.#state;
    const { context, config } = state;
    // Silence to the guardian's probes would cost the machine its takeover.
    const isLimited = context.isLimited && !(status === QUERY_OK && isProbe(context, config));
    return isLimited ? answerLimited(state, status) : runPipeline(state, status);
  }

  /** Accounts for the answer of which `written` bytes were written. */
  #finish(written: number): number {
    const { context, accounting, config } = this.#state;
    if (written > 0 || context.isDropped) accounting.answered(context, config.logMode);
    else if (written === 0) accounting.add(IGNORED);
    return written;
  }

  /** Forgets all answers, e.g. because the network changed. */
  flushCache(): void {
    this.#state.pending.outdate();
    this.#state.cache.clear();
  }

  /** What is kept about a name in presentation form; nothing when it is no name. */
  inspectCache(name: string): CachedItem[] {
    const { clock, originUs, cache } = this.#state;
    const wire = new Uint8Array(LIMITS.nameBytesMax);
    const length = writeName(name, wire, 0);
    return length < 0 ? [] : cache.inspect(wire, length, tickAt(clock.nowUs(), originUs));
  }

  /** Forgets what is kept about a name, and with `below` about all below it. Returns how many. */
  flushCacheOf(name: string, below: boolean): number {
    const wire = new Uint8Array(LIMITS.nameBytesMax);
    const length = writeName(name, wire, 0);
    if (length < 0) return 0;
    this.#state.pending.outdate();
    return this.#state.cache.flush(wire, length, below);
  }

  /** The kept answers as bytes, for `restoreCache` of a later engine. */
  saveCache(): Uint8Array {
    const { clock, originUs, cache, config } = this.#state;
    return cache.save(tickAt(clock.nowUs(), originUs), clock.wallMs(), rulesKey(config));
  }

  /**
   * Takes kept answers in, older by the time of the wall clock since they were saved. Call it after
   * `setPolicy`: what other rebinding rules left is refused, as is what is damaged.
   *
   * @returns  how many answers were taken in
   */
  restoreCache(image: Uint8Array): number {
    const { clock, originUs, cache, config } = this.#state;
    const tick = tickAt(clock.nowUs(), originUs);
    return cache.restore(image, tick, clock.wallMs(), rulesKey(config));
  }

  /** Ends answering: packets are ignored, questions in flight get no answer. Idempotent. */
  close(): void {
    this.#state.isClosed = true;
    this.#state.cache.clear();
  }
}

/** Tells apart the rules that answers were cut by before they were kept. */
function rulesKey({ rebinding }: EngineConfig): number {
  const text = new TextEncoder().encode(JSON.stringify(rebinding));
  return hashName(text, 0, text.length);
}

/** Names that check connectivity may have any address: dns.msftncsi.com has a unique-local one. */
function guardOf({ rebinding, suffixes = new SuffixSet([]) }: EngineConfig): RebindingGuard {
  const allow = new SuffixSet([...rebinding.allow, ...CONNECTIVITY_NAME_LIST]);
  const { enabled, sharedSpace, publicTlds = '' } = rebinding;
  return { enabled, sharedSpace, allow, suffixes, publicTlds };
}

function transparentPolicy(): EngineConfig {
  return {
    version: 0,
    filtering: false,
    blockingAnswer: 'null-address',
    blockingTtlSeconds: 10,
    rules: RuleSet.empty(),
    lists: RuleSet.empty(),
    cache: {
      entriesMax: 0,
      ttlMinSeconds: 0,
      ttlMaxSeconds: 86_400,
      staleSecondsMax: 0,
      staleOff: [],
      prefetch: false,
      persist: false,
    },
    rebinding: { enabled: false, sharedSpace: false, allow: [] },
    access: { allow: [], exempt: [], queriesPerSecond: 0 },
    suffixes: new SuffixSet([]),
    logMode: 'off',
  };
}
