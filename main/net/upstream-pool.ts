/**
 * Asks the upstreams: the engine's Exchange port over UDP, TCP, TLS and HTTPS. One a data-plane
 * thread.
 *
 * The life of a question, in the group of servers that its name belongs to (upstream-group.ts):
 *
 *     exchange ─▶ first healthy server ─ reply ───────────────────────────▶ done(reply)
 *                   │ silent for its hedge delay        │ TC, broken ─▶ same server over TCP
 *                   ▼                                   │ FORMERR to OPT ─▶ same server without OPT
 *                 next server as well, and so on        │ perhaps about the form ─▶ in a plainer one
 *                   │                                   │ perhaps forged ─▶ same server over TCP
 *                   │                                   │ SERVFAIL, REFUSED ─▶ next server
 *                   ▼ 2 s after the start               ▼
 *                 done(null)                          … when all say so: done(that reply)
 *
 * A server that was silent is down at once: the next question goes first to one that is not, and the
 * silent one is asked in parallel now and then until it answers (upstream-health.ts). So a dead
 * first server costs one hedge delay once. What is somebody else's is counted and waited past; what
 * leads to another question at the same server is upstream-again.ts's business.
 * While nobody answers, one question in a while is sent, and nobody waits for long (upstream-asking.ts).
 */
import { COUNTER } from '../contract/counters.ts';
import type { CounterName } from '../contract/counters.ts';
import { LIMITS } from '../contract/limits.ts';
import type { Clock, Counters, Exchange, ExchangeResult, Random } from '../engine/ports.ts';
import { copyBytes, RCODE } from '../engine/wire.ts';
import { TICK_US, TimerWheel } from './timer-wheel.ts';
import type { WheelOwner } from './timer-wheel.ts';
import { PendingExchange } from './upstream-attempt.ts';
import type { Attempt, CarrierOwner } from './upstream-attempt.ts';
import { Asking } from './upstream-asking.ts';
import type { AskingOwner } from './upstream-asking.ts';
import type { UpstreamServer } from './upstream-address.ts';
import {
  ageReply,
  emptyReply,
  isServerFailure,
  isTruncated,
  questionEnd,
  RANK,
  rcodeOf,
  replyRank,
  restoreQuestion,
} from './upstream-message.ts';
import { planOf } from './upstream-plan.ts';
import type { UpstreamPlan } from './upstream-plan.ts';
import { asksOtherwise, asksWhole, checkFailed, doubtReply, learnFrom } from './upstream-again.ts';
import {
  REPLY_IS_BROKEN,
  REPLY_IS_FOREIGN,
  REPLY_IS_OURS,
  verifyReply,
} from './upstream-verify.ts';
import { UpstreamSet } from './upstream-set.ts';
import type { Upstream, UpstreamPorts, UpstreamState } from './upstream.ts';

/** The wheel calls up to a tick late, so the deadline is set a tick early. */
const BUDGET_US = LIMITS.upstreamBudgetMs * 1000 - TICK_US;

const NOBODY: readonly Upstream[] = [];

/** What a pool is made of. */
export interface UpstreamPoolOptions extends Omit<UpstreamPorts, 'owner'> {
  /** Servers in order, or a whole plan. */
  readonly servers: readonly UpstreamServer[] | UpstreamPlan;
  readonly counters: Counters;
}

/** The upstreams of one thread. */
export class UpstreamPool
  implements Exchange, WheelOwner<PendingExchange>, CarrierOwner, AskingOwner
{
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #slots: Float64Array;
  readonly #wheel: TimerWheel<PendingExchange>;
  readonly #set: UpstreamSet;
  readonly #asking: Asking;
  /** Questions that nobody has answered yet. */
  #unfinished = 0;
  #isClosed = false;
  /** While `reset` closes sockets: what was on them, to be sent again. */
  #displaced: Set<PendingExchange> | null = null;
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
    this.#asking = new Asking(this, this.#wheel, options.random);
    const { clock, random, udp, authorities, onTrouble, onUnreachable } = options;
    this.#set = new UpstreamSet({
      ...{ owner: this, clock, random, udp, authorities, onTrouble, onUnreachable },
    });
    this.setServers(options.servers);
  }

  /** Questions in flight. */
  get unfinished(): number {
    return this.#unfinished;
  }

  /** How every configured server is doing. */
  get states(): UpstreamState[] {
    return this.#set.states();
  }

  exchange(query: Uint8Array, length: number, done: (result: ExchangeResult) => void): void {
    const end = questionEnd(query, length);
    const isFull = this.#unfinished >= LIMITS.pendingQuestionsMax;
    if (isFull || this.#isClosed || end > length) {
      refuse(done, isFull ? 'full' : 'refused', -1);
      return;
    }
    const nowUs = this.#clock.nowUs();
    const group = this.#set.groupFor(query, end);
    const order = group.orderFor(nowUs, this.#random);
    const isOffline = group.isOffline(nowUs);
    if (order.length === 0 || (isOffline && !group.takesRecoveryProbe(nowUs))) {
      refuse(done, isOffline ? 'offline' : 'refused', -1);
      return;
    }
    const copy = Buffer.allocUnsafe(length);
    copyBytes(query, 0, copy, 0, length);
    const exchange = new PendingExchange(copy, end, done, nowUs + BUDGET_US, group, order);
    this.#unfinished++;
    this.#set.sweep(nowUs);
    if (isOffline) this.#asking.askAll(exchange, nowUs);
    else this.#asking.begin(exchange, nowUs);
  }

  /** Replaces the servers; those that stay keep their sockets and what is known of them. */
  setServers(servers: readonly UpstreamServer[] | UpstreamPlan): void {
    this.#set.configure('servers' in servers ? servers : planOf(servers));
  }

  /** Takes the addresses of encrypted servers' host names. */
  setAddresses(addresses: Readonly<Record<string, readonly string[]>>): void {
    this.#set.setAddresses(addresses);
  }

  /**
   * For another network, or after a sleep: drops every socket and what was learned; what is in flight
   * is sent again, and for LIMITS.upstreamRaceMs each question goes to two servers at once.
   */
  reset(): void {
    const displaced = new Set<PendingExchange>();
    this.#displaced = displaced;
    this.#set.close();
    this.#displaced = null;
    this.#set.forget();
    const nowUs = this.#clock.nowUs();
    this.#asking.raceFor(LIMITS.upstreamRaceMs * 1000, nowUs);
    for (const exchange of displaced) {
      exchange.order = this.regroup(exchange, nowUs);
      exchange.cursor = 0;
      exchange.sent = 0;
      exchange.answerByUs = exchange.deadlineUs;
      this.#asking.begin(exchange, nowUs);
    }
  }

  /** Closes everything; what is in flight ends without a reply. Idempotent. */
  close(): void {
    this.#isClosed = true;
    for (const exchange of this.#wheel.close()) {
      for (const attempt of [...exchange.attempts]) this.#drop(attempt, false);
      if (!exchange.isFinished) this.finish(exchange, null, 'refused', exchange.asked);
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
    if (nowUs >= exchange.answerByUs) this.finish(exchange, null, 'offline', exchange.asked);
    else this.#asking.askNext(exchange, nowUs);
  }

  rested(): void {
    this.#set.rest();
  }

  // -- called by sockets and connections -------------------------------------------------------

  replied(attempt: Attempt, bytes: Buffer): void {
    const { exchange } = attempt;
    const nowUs = this.#clock.nowUs();
    const verdict = verifyReply(attempt, bytes, nowUs);
    this.#count(verdict.counter);
    if (verdict === REPLY_IS_OURS) this.#accept(attempt, nowUs);
    else if (verdict === REPLY_IS_BROKEN) this.#acceptBroken(attempt, nowUs);
    else if (verdict !== REPLY_IS_FOREIGN && !exchange.isFinished) {
      this.#drop(attempt, false);
      doubtReply(attempt, verdict, this.#asking, nowUs);
    }
  }

  failed(attempt: Attempt): void {
    const { exchange, upstream } = attempt;
    const nowUs = this.#clock.nowUs();
    this.#remove(attempt);
    if (this.#displaced !== null) {
      if (exchange.isFinished) this.#release(exchange);
      else this.#displaced.add(exchange);
      return;
    }
    // TCP that is closed says nothing about a server that is asked over UDP.
    if (attempt.overTcp === upstream.isStream) this.#set.missed(attempt, nowUs);
    if (exchange.isFinished) {
      this.#release(exchange);
    } else if (attempt.purpose === 'check' && attempt.overTcp) {
      checkFailed(attempt, this.#asking, nowUs);
    } else {
      this.#asking.goOn(exchange, nowUs);
    }
  }

  // -- called by Asking ------------------------------------------------------------------------

  launched(overTcp: boolean): void {
    this.#count('upstreamSent');
    if (overTcp) this.#count('upstreamTcp');
  }

  regroup(exchange: PendingExchange, nowUs: number): readonly Upstream[] {
    exchange.group = this.#set.groupFor(exchange.query, exchange.questionEnd);
    return exchange.group.orderFor(nowUs, this.#random);
  }

  strayed(): void {
    this.#count('upstreamMismatched');
  }

  // -- the course of a question ----------------------------------------------------------------

  /** Takes a verified reply, perhaps a late one. */
  #accept(attempt: Attempt, nowUs: number): void {
    const { upstream, exchange } = attempt;
    const bytes = attempt.reply as Buffer;
    this.#set.answered(attempt, nowUs);
    this.#drop(attempt, false);
    if (!isTruncated(bytes)) attempt.rank = replyRank(bytes, exchange.questionEnd);
    learnFrom(attempt, nowUs);
    if (attempt.ageSeconds > 0) ageReply(bytes, exchange.questionEnd, attempt.ageSeconds);
    if (exchange.isFinished) {
      this.#set.late(upstream, isServerFailure(rcodeOf(bytes)), exchange.isAnswered, nowUs);
      this.#release(exchange);
    } else if (!asksOtherwise(attempt, bytes, this.#asking, nowUs)) {
      this.#judge(attempt, bytes, nowUs);
    }
  }

  /** The server lives, but what it says cannot be read: TCP may say it better, or another server. */
  #acceptBroken(attempt: Attempt, nowUs: number): void {
    const { upstream, exchange } = attempt;
    this.#set.answered(attempt, nowUs);
    this.#drop(attempt, false);
    if (exchange.isFinished) this.#release(exchange);
    else if (!asksWhole(attempt, this.#asking, nowUs)) {
      const { query, questionEnd } = exchange;
      const failure = emptyReply(query, questionEnd, RCODE.servFail);
      this.#refused(exchange, upstream, failure, RANK.useless, nowUs);
    }
  }

  /** Looks at a reply: an answer, or a failure that another server may not have. */
  #judge({ exchange, upstream, rank }: Attempt, bytes: Buffer, nowUs: number): void {
    restoreQuestion(bytes, exchange.query, exchange.questionEnd);
    if (rank >= RANK.failure) {
      this.#refused(exchange, upstream, Buffer.from(bytes), rank, nowUs);
      return;
    }
    exchange.isAnswered = true;
    this.#set.helped(upstream, exchange.refusers ?? NOBODY, nowUs);
    this.finish(exchange, bytes, null, upstream.index);
  }

  #refused(
    exchange: PendingExchange,
    upstream: Upstream,
    reply: Buffer,
    rank: number,
    nowUs: number,
  ): void {
    exchange.refusers ??= [];
    exchange.refusers.push(upstream);
    exchange.offer(reply, rank, upstream);
    this.#asking.goOn(exchange, nowUs);
  }

  /** The budget is spent. */
  #expire(exchange: PendingExchange, nowUs: number): void {
    for (const attempt of [...exchange.attempts]) {
      this.#count('upstreamTimeouts');
      this.#set.missed(attempt, nowUs);
      this.#drop(attempt, true);
    }
    if (exchange.isFinished) return;
    exchange.group.timedOut();
    const { fallback, fallbackIndex, asked } = exchange;
    if (fallback !== null) this.finish(exchange, fallback, null, fallbackIndex);
    else this.finish(exchange, null, 'timeout', asked);
  }

  finish(
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
    if (nowUs - attempt.sentUs < attempt.upstream.health.hedgeUs) return;
    this.#set.missed(attempt, nowUs);
    if (attempt.overTcp && !attempt.upstream.isStream) attempt.upstream.quirks.tcpFailed(nowUs);
    attempt.carrier?.doubt(attempt);
  }

  #drop(attempt: Attempt, timedOut: boolean): void {
    this.#remove(attempt);
    attempt.carrier?.forget(attempt, timedOut);
  }

  #remove(attempt: Attempt): void {
    const { attempts } = attempt.exchange;
    const at = attempts.indexOf(attempt);
    if (at < 0) return;
    const last = attempts.pop() as Attempt;
    if (at < attempts.length) attempts[at] = last;
  }

  #count(name: CounterName): void {
    const slot = COUNTER[name];
    this.#slots[slot] = (this.#slots[slot] as number) + 1;
  }
}

/** Ends a question before it began; not before `exchange` has returned. */
function refuse(
  done: (result: ExchangeResult) => void,
  failure: ExchangeResult['failure'],
  upstream: number,
): void {
  setImmediate(done, { reply: null, failure, upstream });
}
