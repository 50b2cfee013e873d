/**
 * Asks the upstreams: the engine's Exchange port over plain UDP and TCP. One a data-plane thread.
 *
 * The life of a question:
 *
 *     exchange ─▶ first healthy server ─ reply ───────────────────────────▶ done(reply)
 *                   │ silent for its hedge delay        │ TC ─▶ same server over TCP
 *                   ▼                                   │ FORMERR to OPT ─▶ same server without OPT
 *                 next server as well, and so on        │ wrong letter case ─▶ same server over TCP
 *                   │                                   │ SERVFAIL, REFUSED ─▶ next server
 *                   ▼ 2 s after the start               ▼
 *                 done(null)                          … when all say so: done(that reply)
 *
 * A server that was silent is down at once: the next question goes first to one that is not, and the
 * silent one is asked in parallel now and then until it answers (upstream-health.ts). So a dead
 * first server costs one hedge delay once. Whatever does not verify is counted and waited past.
 */
import { COUNTER } from '../contract/counters.ts';
import type { CounterName } from '../contract/counters.ts';
import { LIMITS } from '../contract/limits.ts';
import type { Clock, Counters, Exchange, ExchangeResult, Random } from '../engine/ports.ts';
import { copyBytes, FLAG } from '../engine/wire.ts';
import type { PlainServer } from './server-address.ts';
import { TICK_US, TimerWheel } from './timer-wheel.ts';
import type { WheelOwner } from './timer-wheel.ts';
import { Attempt, PendingExchange } from './upstream-attempt.ts';
import type { AttemptPurpose, CarrierOwner } from './upstream-attempt.ts';
import {
  copyQuery,
  isBareRefusal,
  isFormRefusal,
  isServerFailure,
  questionEnd,
  rcodeOf,
  restoreQuestion,
} from './upstream-message.ts';
import { REPLY_IS_OURS, REPLY_HAS_WRONG_CASE, verifyReply } from './upstream-verify.ts';
import { UpstreamSet } from './upstream-set.ts';
import type { Upstream } from './upstream.ts';

/** The wheel calls up to a tick late, so the deadline is set a tick early. */
const BUDGET_US = LIMITS.upstreamBudgetMs * 1000 - TICK_US;
/** A server that is just being restarted is back in a moment: wait before the second round. */
const REFUSED_RETRY_US = 100_000;
/** Connecting and asking take two round trips. */
const TCP_HEDGE_FACTOR = 2;
/** What a pool is made of. */
export interface UpstreamPoolOptions {
  readonly servers: readonly PlainServer[];
  readonly clock: Clock;
  readonly random: Random;
  readonly counters: Counters;
}

/** The upstreams of one thread. */
export class UpstreamPool implements Exchange, WheelOwner<PendingExchange>, CarrierOwner {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #slots: Float64Array;
  readonly #wheel: TimerWheel<PendingExchange>;
  readonly #set: UpstreamSet;
  /** Questions that nobody has answered yet. */
  #unfinished = 0;
  #isClosed = false;
  readonly #result = {
    reply: null as Uint8Array | null,
    failure: null as ExchangeResult['failure'],
    upstream: -1,
  };

  constructor(options: UpstreamPoolOptions) {
    this.#clock = options.clock;
    this.#random = options.random;
    this.#slots = options.counters.slots;
    this.#wheel = new TimerWheel(options.clock, this);
    this.#set = new UpstreamSet(this, options.random);
    this.#set.configure(options.servers);
  }

  /** Questions in flight. */
  get unfinished(): number {
    return this.#unfinished;
  }

  exchange(query: Uint8Array, length: number, done: (result: ExchangeResult) => void): void {
    const end = questionEnd(query, length);
    const isFull = this.#unfinished >= LIMITS.pendingQuestionsMax;
    if (isFull || this.#isClosed || this.#set.order.length === 0 || end > length) {
      setImmediate(done, { reply: null, failure: isFull ? 'full' : 'refused', upstream: -1 });
      return;
    }
    const nowUs = this.#clock.nowUs();
    const copy = new Uint8Array(length);
    copyBytes(query, 0, copy, 0, length);
    const exchange = new PendingExchange(copy, end, done, nowUs + BUDGET_US, this.#set.order);
    this.#unfinished++;
    this.#set.sweep(nowUs);
    this.#askNext(exchange, nowUs);
    this.#probe(exchange, nowUs);
  }

  /** Replaces the servers; those that stay keep their sockets and what is known of them. */
  setServers(servers: readonly PlainServer[]): void {
    this.#set.configure(servers);
  }

  /** For another network: drops every socket and what was learned; what is in flight is resent. */
  reset(): void {
    this.#set.close();
    this.#set.forget();
  }

  /** Closes everything; what is in flight ends without a reply. Idempotent. */
  close(): void {
    this.#isClosed = true;
    for (const exchange of this.#wheel.close()) {
      for (const attempt of [...exchange.attempts]) this.#drop(attempt, false);
      if (!exchange.isFinished) this.#finish(exchange, null, 'refused', exchange.asked);
    }
    this.#set.close();
  }

  // -- called by the wheel ---------------------------------------------------------------------

  due(exchange: PendingExchange, nowUs: number): void {
    if (nowUs >= exchange.deadlineUs || exchange.isFinished) {
      this.#expire(exchange, nowUs);
      return;
    }
    for (const attempt of exchange.attempts) this.#noteSilence(attempt, nowUs);
    this.#askNext(exchange, nowUs);
  }

  rested(): void {
    this.#set.rest();
  }

  // -- called by sockets and connections -------------------------------------------------------

  replied(attempt: Attempt, bytes: Buffer): void {
    const { upstream, exchange } = attempt;
    const nowUs = this.#clock.nowUs();
    if (isBareRefusal(bytes, attempt.query) && attempt.hasOpt && !exchange.isFinished) {
      this.#count('upstreamMismatched');
      this.#drop(attempt, false);
      this.#askAgain(attempt, 'without-edns', attempt.overTcp, nowUs);
      return;
    }
    const verdict = verifyReply(attempt, bytes);
    if (verdict === REPLY_IS_OURS) {
      this.#set.answered(attempt, nowUs);
      this.#count('upstreamAnswered');
      this.#drop(attempt, false);
      if (exchange.isFinished) this.#release(exchange);
      else this.#judge(attempt, bytes, nowUs);
      return;
    }
    this.#count(verdict.counter);
    if (verdict === REPLY_HAS_WRONG_CASE && !exchange.isFinished) {
      this.#drop(attempt, false);
      const isGivenUp = upstream.strikeCase();
      this.#askAgain(attempt, isGivenUp ? 'ask' : 'check-case', !isGivenUp, nowUs);
    }
  }

  failed(attempt: Attempt): void {
    const { exchange, upstream } = attempt;
    const nowUs = this.#clock.nowUs();
    this.#remove(attempt);
    // TCP that is closed says nothing about a server that is asked over UDP.
    if (attempt.overTcp === upstream.isTcpOnly) this.#set.missed(attempt, nowUs);
    if (exchange.isFinished) {
      this.#release(exchange);
    } else if (attempt.purpose === 'check-case' && attempt.overTcp) {
      // Without TCP the reply cannot be told from a forgery by its case; the ID and port remain.
      upstream.changesCase = true;
      this.#askAgain(attempt, 'ask', false, nowUs);
    } else {
      this.#goOn(exchange, nowUs);
    }
  }

  strayed(): void {
    this.#count('upstreamMismatched');
  }

  // -- the course of a question ----------------------------------------------------------------

  /** Asks the next server in order, round after round, and plans what happens if it is silent. */
  #askNext(exchange: PendingExchange, nowUs: number): void {
    const count = exchange.order.length;
    for (let tries = 0; tries < count; tries++) {
      const round = Math.floor(exchange.cursor / count);
      const upstream = exchange.order[exchange.cursor++ % count] as Upstream;
      if (this.#launch(exchange, upstream, 'ask', upstream.isTcpOnly, nowUs)) {
        this.#plan(exchange, upstream, upstream.isTcpOnly, round, nowUs);
        return;
      }
    }
    const isSpent = exchange.sent >= LIMITS.upstreamAttemptsMax;
    if (isSpent || exchange.attempts.length > 0) {
      this.#wheel.schedule(exchange, exchange.deadlineUs);
    } else {
      this.#tryOnceMore(exchange, nowUs);
    }
  }

  /** Asks the same server another way; the next one when that cannot be sent. */
  #askAgain(attempt: Attempt, purpose: AttemptPurpose, overTcp: boolean, nowUs: number): void {
    const { exchange, upstream } = attempt;
    if (this.#launch(exchange, upstream, purpose, overTcp, nowUs)) {
      this.#plan(exchange, upstream, overTcp, 0, nowUs);
    } else {
      this.#goOn(exchange, nowUs);
    }
  }

  #plan(
    exchange: PendingExchange,
    upstream: Upstream,
    overTcp: boolean,
    round: number,
    nowUs: number,
  ): void {
    const patienceUs = upstream.health.hedgeUs * 2 ** round * (overTcp ? TCP_HEDGE_FACTOR : 1);
    this.#wheel.schedule(exchange, Math.min(nowUs + patienceUs, exchange.deadlineUs));
  }

  #launch(
    exchange: PendingExchange,
    upstream: Upstream,
    purpose: AttemptPurpose,
    overTcp: boolean,
    nowUs: number,
  ): boolean {
    if (exchange.sent >= LIMITS.upstreamAttemptsMax) return false;
    const hasOpt = purpose !== 'without-edns' && !upstream.refusesEdns;
    const hasRandomCase = !upstream.changesCase;
    const random = hasRandomCase ? this.#random : null;
    const query = copyQuery(exchange.query, exchange.questionEnd, random, hasOpt);
    const attempt = new Attempt(
      exchange,
      upstream,
      purpose,
      query,
      hasOpt && query.length > exchange.questionEnd,
      hasRandomCase,
      nowUs,
    );
    attempt.overTcp = overTcp;
    const way = overTcp ? upstream.tcp : upstream.udp;
    if (!way.send(attempt, nowUs)) return false;
    exchange.attempts.push(attempt);
    exchange.sent++;
    exchange.asked = upstream.index;
    this.#count('upstreamSent');
    if (overTcp) this.#count('upstreamTcp');
    return true;
  }

  /** Asks servers that are down in parallel, when it is time to see whether they are back. */
  #probe(exchange: PendingExchange, nowUs: number): void {
    const order = exchange.order;
    for (let index = order.length - 1; index > 0; index--) {
      const upstream = order[index] as Upstream;
      if (!upstream.health.isDown) return;
      if (!upstream.health.takesProbe(nowUs)) continue;
      this.#launch(exchange, upstream, 'ask', upstream.isTcpOnly, nowUs);
    }
  }

  /** Looks at a verified reply: an answer, a failure, or a wish to be asked another way. */
  #judge(attempt: Attempt, bytes: Buffer, nowUs: number): void {
    const { exchange, upstream } = attempt;
    const rcode = rcodeOf(bytes);
    if (((bytes[2] as number) & FLAG.truncated) !== 0) {
      if (attempt.overTcp) this.#goOn(exchange, nowUs);
      else this.#askAgain(attempt, 'ask', true, nowUs);
      return;
    }
    if (isFormRefusal(rcode) && attempt.hasOpt) {
      this.#askAgain(attempt, 'without-edns', attempt.overTcp, nowUs);
      return;
    }
    if (attempt.purpose === 'without-edns' && !isFormRefusal(rcode)) upstream.refusesEdns = true;
    restoreQuestion(bytes, exchange.query, exchange.questionEnd);
    if (!isServerFailure(rcode)) {
      this.#finish(exchange, bytes, null, upstream.index);
      return;
    }
    exchange.fallback ??= Buffer.from(bytes);
    if (exchange.fallbackIndex < 0) exchange.fallbackIndex = upstream.index;
    this.#goOn(exchange, nowUs);
  }

  /** An attempt ended without an answer: the next server now, or wait, or give what there is. */
  #goOn(exchange: PendingExchange, nowUs: number): void {
    const untried = exchange.order[exchange.cursor];
    const hasFallback = exchange.fallback !== null;
    if (untried !== undefined && !(hasFallback && untried.health.isDown)) {
      this.#askNext(exchange, nowUs);
      return;
    }
    if (exchange.attempts.some(({ upstream }) => !hasFallback || !upstream.health.isDown)) return;
    if (hasFallback) this.#finish(exchange, exchange.fallback, null, exchange.fallbackIndex);
    else this.#tryOnceMore(exchange, nowUs);
  }

  /** Every server refused at once, or no socket opens: one more round, then the end. */
  #tryOnceMore(exchange: PendingExchange, nowUs: number): void {
    if (exchange.isLastRound || this.#set.order.length === 0) {
      this.#finish(exchange, null, 'refused', exchange.asked);
      return;
    }
    exchange.isLastRound = true;
    exchange.order = this.#set.order;
    exchange.cursor = 0;
    this.#wheel.schedule(exchange, Math.min(nowUs + REFUSED_RETRY_US, exchange.deadlineUs));
  }

  /** The budget is spent. */
  #expire(exchange: PendingExchange, nowUs: number): void {
    for (const attempt of [...exchange.attempts]) {
      this.#count('upstreamTimeouts');
      this.#set.missed(attempt, nowUs);
      this.#drop(attempt, true);
    }
    if (exchange.isFinished) return;
    const { fallback, fallbackIndex, asked } = exchange;
    if (fallback !== null) this.#finish(exchange, fallback, null, fallbackIndex);
    else this.#finish(exchange, null, 'timeout', asked);
  }

  #finish(
    exchange: PendingExchange,
    reply: Uint8Array | null,
    failure: ExchangeResult['failure'],
    upstream: number,
  ): void {
    exchange.isFinished = true;
    this.#unfinished--;
    if (!this.#isClosed) this.#release(exchange);
    this.#result.reply = reply;
    this.#result.failure = failure;
    this.#result.upstream = upstream;
    exchange.done(this.#result);
  }

  /** A finished exchange stays on the wheel only while late replies may come. */
  #release(exchange: PendingExchange): void {
    if (exchange.attempts.length === 0) this.#wheel.cancel(exchange);
    else this.#wheel.schedule(exchange, exchange.deadlineUs);
  }

  // -- bookkeeping -----------------------------------------------------------------------------

  #noteSilence(attempt: Attempt, nowUs: number): void {
    if (nowUs - attempt.sentUs >= attempt.upstream.health.hedgeUs) this.#set.missed(attempt, nowUs);
  }

  #drop(attempt: Attempt, timedOut: boolean): void {
    this.#remove(attempt);
    attempt.carrier?.forget(attempt, timedOut);
  }

  #remove(attempt: Attempt): void {
    const at = attempt.exchange.attempts.indexOf(attempt);
    if (at >= 0) attempt.exchange.attempts.splice(at, 1);
  }

  #count(name: CounterName): void {
    const slot = COUNTER[name];
    this.#slots[slot] = (this.#slots[slot] as number) + 1;
  }
}
