/**
 * The engine: bytes and client in, bytes out. One per data-plane thread; dataplane/ makes it and
 * hands it to the listeners. It does no I/O: clock, random numbers, upstreams, log and counters are
 * passed in (ports.ts). What happens to a packet is written in pipeline.ts.
 */
import { COUNTER } from '../contract/counters.ts';
import { LIMITS } from '../contract/limits.ts';
import { AnswerInspector, type RebindingGuard } from './answer-inspector.ts';
import { AnswerName } from './answer-name.ts';
import { AnswerRewriter } from './answer-rewriter.ts';
import { Answer, ReplyReader } from './answer.ts';
import { AnswerCache, tickAt } from './cache.ts';
import { DomainTable } from './domain-table.ts';
import type { Parts } from './parts.ts';
import { PendingQuestions } from './pending.ts';
import { runPipeline } from './pipeline.ts';
import type { Policy } from './policy.ts';
import type { Alarm, Client, Clock, Counters, Exchange, QuerySink, Random } from './ports.ts';
import { CONNECTIVITY_NAME_LIST } from './connectivity.ts';
import { SuffixSet } from './suffix-set.ts';
import { Tally } from './tally.ts';
import { Turn } from './turn.ts';
import { UPSTREAM_QUERY_BYTES_MAX } from './upstream-query.ts';

const RECEIVED = COUNTER.received;
const IGNORED = COUNTER.ignored;
const PENDING = COUNTER.pending;

/** What the engine needs from outside. */
export interface EnginePorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly exchange: Exchange;
  readonly sink: QuerySink;
  readonly counters: Counters;
  /** Without one, a stale answer waits until the upstreams have failed. */
  readonly alarm?: Alarm;
  /** Instead of LIMITS.cacheBytesMax. */
  readonly cacheBytesMax?: number;
}

export class Engine {
  readonly #parts: Parts;

  /** Until the first `setPolicy`, everything is forwarded and nothing filtered, kept or logged. */
  constructor(ports: EnginePorts) {
    const { slots } = ports.counters;
    const policy = transparentPolicy();
    const bytesMax = ports.cacheBytesMax ?? LIMITS.cacheBytesMax;
    this.#parts = {
      turn: new Turn(),
      clock: ports.clock,
      exchange: ports.exchange,
      cache: new AnswerCache(bytesMax, ports.random.uint32(), slots),
      pending: new PendingQuestions(),
      tally: new Tally(ports.clock, ports.sink, slots),
      cached: new Answer(),
      reader: new ReplyReader(),
      inspector: new AnswerInspector(),
      rewriter: new AnswerRewriter(),
      coverRewriter: new AnswerRewriter(),
      targetName: new AnswerName(),
      alarm: ports.alarm ?? null,
      policy,
      guard: guardOf(policy),
      staleOff: new SuffixSet(policy.cache.staleOff),
      failuresInRow: 0,
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
  setPolicy(policy: Policy): void {
    const parts = this.#parts;
    const before = parts.policy;
    parts.policy = policy;
    parts.cache.configure(policy.cache.entriesMax, policy.cache.staleSecondsMax);
    parts.staleOff = new SuffixSet(policy.cache.staleOff);
    if (JSON.stringify(before.rebinding) === JSON.stringify(policy.rebinding)) return;
    parts.guard = guardOf(policy);
    // What is kept was cut by the former rules.
    parts.cache.clear();
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
    const parts = this.#parts;
    const { turn, tally } = parts;
    const nowUs = parts.clock.nowUs();
    turn.begin(out, outStart, nowUs, tickAt(nowUs, parts.originUs));
    turn.client = client;
    turn.address = client.address;
    turn.transport = client.transport;
    tally.add(RECEIVED);
    // Nobody can receive at port 0: a forged source.
    const isSilent = client.port === 0 || parts.isClosed;
    const written = isSilent ? 0 : runPipeline(parts, packet, start, length);
    if (written > 0) tally.answered(turn, parts.policy.logMode);
    else if (written === 0) tally.add(IGNORED);
    return written;
  }

  /** Forgets all answers, e.g. because the network changed. */
  flushCache(): void {
    this.#parts.cache.clear();
  }

  /** Ends answering: packets are ignored, questions in flight get no answer. Idempotent. */
  close(): void {
    this.#parts.isClosed = true;
    this.#parts.cache.clear();
  }
}

/** Names that check connectivity may have any address: dns.msftncsi.com has a unique-local one. */
function guardOf({ rebinding }: Policy): RebindingGuard {
  const allow = new SuffixSet([...rebinding.allow, ...CONNECTIVITY_NAME_LIST]);
  return { enabled: rebinding.enabled, sharedSpace: rebinding.sharedSpace, allow };
}

function transparentPolicy(): Policy {
  return {
    version: 0,
    filtering: false,
    blockingAnswer: 'null-address',
    blockingTtlSeconds: 10,
    rules: DomainTable.empty(),
    lists: DomainTable.empty(),
    cache: {
      entriesMax: 0,
      ttlMinSeconds: 0,
      ttlMaxSeconds: 86_400,
      staleSecondsMax: 0,
      staleOff: [],
      prefetch: false,
    },
    rebinding: { enabled: false, sharedSpace: false, allow: [] },
    logMode: 'off',
  };
}
