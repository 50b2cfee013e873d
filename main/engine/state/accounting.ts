/**
 * Accounts for each answer: counters, latency histogram, log record. Called by the engine once per
 * answer, when it is written. Allocates nothing.
 */
import {
  COUNTER,
  COUNTERS,
  HISTOGRAM_BUCKETS,
  histogramBucket,
  HISTOGRAMS,
} from '../../contract/counters.ts';
import { OUTCOME, OUTCOMES, REASON } from '../../contract/outcome.ts';
import type { BatchClock } from '../query/batch-clock.ts';
import { LIST_ID_NONE, type EngineConfig } from '../filter/engine-config.ts';
import type { Clock, LogFacts, QuerySink } from '../query/ports.ts';
import { UPSTREAM_NONE, type QueryContext } from '../query/query-context.ts';

const ANSWERED = COUNTER.answered;
const PROBES = COUNTER.probes;
const TRUNCATED = COUNTER.truncated;
const LOGGED = COUNTER.logged;
const LOG_DROPPED = COUNTER.logDropped;
const OUTCOME_SLOTS = Uint8Array.from(OUTCOMES, (name) => COUNTER[name]);
const LOCAL_HISTOGRAM = COUNTERS.length + HISTOGRAMS.indexOf('local') * HISTOGRAM_BUCKETS;
const UPSTREAM_HISTOGRAM = COUNTERS.length + HISTOGRAMS.indexOf('upstream') * HISTOGRAM_BUCKETS;

/** Longest duration that is told apart, in microseconds: 17 minutes. */
const DURATION_US_MAX = 2 ** 30 - 1;

/**
 * How old a reading of the wall clock may be. In between, time of day follows from the monotonic
 * clock: reading it allocates (test/engine/allocation.test.ts).
 */
const WALL_CLOCK_US = 50_000;

export class Accounting {
  readonly #batch: BatchClock;
  readonly #clock: Clock;
  readonly #sink: QuerySink;
  readonly #slots: Float64Array;
  /** The wall clock at a moment of the monotonic one. */
  #wallMs = 0.5;
  #wallAtUs = -Infinity;
  readonly #maskedAddress = new Uint8Array(16);
  readonly #facts: LogFacts = {
    timeMs: 0.5,
    address: this.#maskedAddress,
    transport: 'udp',
    name: this.#maskedAddress,
    nameLength: 0,
    type: 0,
    qclass: 0,
    rcode: 0,
    outcome: OUTCOME.local,
    reason: REASON.none,
    listId: LIST_ID_NONE,
    matchedLabels: 0,
    matched: this.#maskedAddress,
    matchedLength: 0,
    upstream: UPSTREAM_NONE,
    durationUs: 0,
  };

  constructor(batch: BatchClock, clock: Clock, sink: QuerySink, slots: Float64Array) {
    this.#batch = batch;
    this.#clock = clock;
    this.#sink = sink;
    this.#slots = slots;
  }

  add(slot: number): void {
    this.#slots[slot] = (this.#slots[slot] as number) + 1;
  }

  /** Sets a gauge. */
  set(slot: number, value: number): void {
    this.#slots[slot] = value;
  }

  /** Counts the answer that was just written, and logs it unless logging is off. */
  answered(context: QueryContext, logMode: EngineConfig['logMode']): void {
    if (context.isProbe) {
      this.add(PROBES);
      return;
    }
    this.#batch.answered();
    const nowUs = this.#batch.answerUs;
    const elapsedUs = nowUs - context.startedUs;
    // `| 0` keeps it a small integer, which costs no allocation.
    const durationUs = elapsedUs > 0 ? Math.min(elapsedUs, DURATION_US_MAX) | 0 : 0;
    this.add(ANSWERED);
    this.add(OUTCOME_SLOTS[context.outcome] as number);
    if (context.isTruncated) this.add(TRUNCATED);
    const histogram = context.upstream === UPSTREAM_NONE ? LOCAL_HISTOGRAM : UPSTREAM_HISTOGRAM;
    this.add(histogram + histogramBucket(durationUs));
    if (logMode === 'off') return;
    if (!(nowUs - this.#wallAtUs < WALL_CLOCK_US)) this.#readWallClock(nowUs);
    this.#fillFacts(context, durationUs, logMode === 'anonymous');
    this.add(this.#sink.push(this.#facts) ? LOGGED : LOG_DROPPED);
  }

  #fillFacts(context: QueryContext, durationUs: number, isAnonymous: boolean): void {
    const facts = this.#facts;
    const { query } = context;
    facts.timeMs = Math.floor(this.#wallMs + (context.startedUs - this.#wallAtUs) / 1_000);
    facts.address = isAnonymous
      ? maskAddress(context.address, this.#maskedAddress)
      : context.address;
    facts.transport = context.transport;
    facts.name = query.name;
    facts.nameLength = query.nameLength;
    facts.type = query.type;
    facts.qclass = query.qclass;
    facts.rcode = context.rcode;
    facts.outcome = context.outcome;
    facts.reason = context.reason;
    facts.listId = context.listId;
    facts.matchedLabels = context.matchedLabels;
    facts.matched = context.matched;
    facts.matchedLength = context.matchedLength;
    facts.upstream = context.upstream;
    facts.durationUs = durationUs;
  }

  #readWallClock(nowUs: number): void {
    this.#wallMs = this.#clock.wallMs();
    this.#wallAtUs = nowUs;
  }
}

/** Keeps /24 of an IPv4 and /48 of an IPv6 address. @param out  gets 16 bytes, and is returned */
export function maskAddress(address: Uint8Array, out: Uint8Array): Uint8Array {
  const kept = isMappedV4(address) ? 15 : 6;
  for (let index = 0; index < 16; index++) {
    out[index] = index < kept ? (address[index] as number) : 0;
  }
  return out;
}

/** ::ffff:0:0/96. RFC 4291 §2.5.5.2. */
function isMappedV4(address: Uint8Array): boolean {
  for (let index = 0; index < 10; index++) if (address[index] !== 0) return false;
  return address[10] === 0xff && address[11] === 0xff;
}
