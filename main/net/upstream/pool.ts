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
 *                   ▼ its time is up                    ▼
 *                 done(null), still listening         … when all say so: done(that reply)
 *                   │ a late answer
 *                   ▼
 *                 done(reply)
 *
 * While a server is in doubt the next one is asked at the same time, and once it is down it is asked
 * last, and now and then beside the others until it answers (upstream-health.ts). So a dead first
 * server costs one hedge delay once. What is somebody else's is counted and waited past; what leads
 * to another question at the same server is upstream-again.ts's business.
 * While nobody answers anything, questions are sent all the same, some at a time, and nobody waits
 * for long (upstream-asking.ts).
 */
import { COUNTER } from '../../contract/counters.ts';
import type { CounterName } from '../../contract/counters.ts';
import { LIMITS } from '../../contract/limits.ts';
import { HEDGE_MAX_US } from './health.ts';
import type { SendFailure } from '../transport/network-error.ts';
import type {
  Clock,
  Counters,
  Exchange,
  ExchangeResult,
  Random,
} from '../../engine/query/ports.ts';
import { copyBytes, RCODE } from '../../dns/wire.ts';
import { TICK_US, TimerWheel } from './timer-wheel.ts';
import type { WheelOwner } from './timer-wheel.ts';
import { PendingExchange } from './attempt.ts';
import type { Attempt, ExchangeOwner } from './attempt.ts';
import { ExchangeScheduler } from './scheduler.ts';
import type { SchedulerOwner } from './scheduler.ts';
import type { UpstreamServer } from '../upstream-address.ts';
import { questionEnd } from '../../dns/wire.ts';
import {
  ageReply,
  emptyReply,
  isServerFailure,
  isTruncated,
  RANK,
  rcodeOf,
  replyRank,
  restoreQuestion,
} from './message.ts';
import { planOf } from './plan.ts';
import type { UpstreamPlan } from './plan.ts';
import { asksOtherwise, asksWhole, checkFailed, doubtReply, learnFrom } from './again.ts';
import { REPLY_IS_BROKEN, REPLY_IS_FOREIGN, REPLY_IS_OURS, verifyReply } from './verify.ts';
import { UpstreamSet } from './set.ts';
import type { Upstream, UpstreamPorts, UpstreamState } from './upstream.ts';

/**
 * Many clients wait for exactly five seconds: the error leaves a little before, so that it reaches
 * them on a busy machine as well. The wheel calls up to a tick late, too.
 */
const BUDGET_PART = 0.95;
/** How long the servers that were not needed are listened to, to learn whether they live. */
const NOT_NEEDED_US = 2_000_000;
/** Replies are taken for so much longer than a question's time, if LIMITS.upstreamListenMs is less. */
const LISTEN_FACTOR = 1.5;

const NOBODY: readonly Upstream[] = [];

/** What a pool is made of. */
export interface UpstreamPoolOptions extends Omit<UpstreamPorts, 'owner'> {
  /** Servers in order, or a whole plan. */
  readonly servers: readonly UpstreamServer[] | UpstreamPlan;
  readonly counters: Counters;
}

/** The upstreams of one thread. */
export class UpstreamPool
  implements Exchange, WheelOwner<PendingExchange>, ExchangeOwner, SchedulerOwner
{
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #slots: Float64Array;
  readonly #wheel: TimerWheel<PendingExchange>;
  readonly #set: UpstreamSet;
  readonly #asking: ExchangeScheduler;
  /** Questions whose askers wait; of them, those that were sent although offline. */
  #unfinished = 0;
  #offlineQuestions = 0;
  /** Others of which a reply may still come. */
  #listening = 0;
  #budgetUs = 0;
  #listenUs = 0;
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
    this.#asking = new ExchangeScheduler(this, this.#wheel, options.random);
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

  /** Questions whose askers were told, and of which replies may still come. */
  get listening(): number {
    return this.#listening;
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
    const isTooMuch = isOffline && this.#offlineQuestions >= LIMITS.upstreamOfflineMax;
    if (order.length === 0 || isTooMuch) {
      refuse(done, isTooMuch ? 'offline' : 'refused', -1);
      return;
    }
    const copy = Buffer.allocUnsafe(length);
    copyBytes(query, 0, copy, 0, length);
    const budgetUs = this.#budgetUs;
    const listenUs = this.#listenUs;
    const exchange = new PendingExchange(copy, end, done, nowUs, budgetUs, listenUs, group, order);
    this.#unfinished++;
    this.#set.sweep(nowUs);
    if (!isOffline) {
      this.#asking.begin(exchange, nowUs);
      return;
    }
    this.#offlineQuestions++;
    exchange.isOfflineQuestion = true;
    this.#asking.askAll(exchange, nowUs);
  }

  /** Replaces the servers; those that stay keep their sockets and what is known of them. */
  setServers(servers: readonly UpstreamServer[] | UpstreamPlan): void {
    const plan = 'servers' in servers ? servers : planOf(servers);
    this.#budgetUs = plan.timeoutMs * 1000 * BUDGET_PART - TICK_US;
    this.#listenUs = Math.max(LIMITS.upstreamListenMs * 1000, LISTEN_FACTOR * this.#budgetUs);
    this.#set.configure(plan);
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
      for (const attempt of [...exchange.attempts]) this.#drop(attempt);
      if (!exchange.isReported) this.finish(exchange, null, 'refused', exchange.asked);
    }
    this.#set.close();
  }

  // -- called by the wheel ---------------------------------------------------------------------

  due(exchange: PendingExchange, nowUs: number): void {
    for (const attempt of exchange.attempts) this.#noteSilence(attempt, nowUs);
    if (exchange.isReported) {
      if (nowUs < exchange.listenUntilUs) this.#wheel.schedule(exchange, exchange.listenUntilUs);
      else this.#stopListening(exchange);
    } else if (nowUs >= exchange.answerByUs) {
      this.#timeOut(exchange, nowUs);
    } else {
      this.#asking.askNext(exchange, nowUs);
    }
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
      this.#drop(attempt);
      doubtReply(attempt, verdict, this.#asking, nowUs);
    }
  }

  failed(attempt: Attempt, failure: SendFailure): void {
    const { exchange, upstream } = attempt;
    const nowUs = this.#clock.nowUs();
    this.#remove(attempt);
    if (this.#displaced !== null) {
      if (exchange.isReported) this.release(exchange, nowUs);
      else this.#displaced.add(exchange);
      return;
    }
    // TCP that is closed says nothing about a server that is asked over UDP.
    if (attempt.overTcp === upstream.isStream) {
      if (failure === 'closed') this.#set.missed(attempt);
      else this.#set.failed(attempt, failure, nowUs);
    }
    if (exchange.isFinished) {
      this.release(exchange, nowUs);
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
    this.#drop(attempt);
    if (!isTruncated(bytes)) attempt.rank = replyRank(bytes, exchange.questionEnd);
    learnFrom(attempt, nowUs);
    if (attempt.ageSeconds > 0) ageReply(bytes, exchange.questionEnd, attempt.ageSeconds);
    if (exchange.isFinished) {
      this.#set.late(upstream, isServerFailure(rcodeOf(bytes)), exchange.isAnswered, nowUs);
      this.release(exchange, nowUs);
    } else if (!asksOtherwise(attempt, bytes, this.#asking, nowUs)) {
      this.#judge(attempt, bytes, nowUs);
    }
  }

  /** The server lives, but what it says cannot be read: TCP may say it better, or another server. */
  #acceptBroken(attempt: Attempt, nowUs: number): void {
    const { upstream, exchange } = attempt;
    this.#set.answered(attempt, nowUs);
    this.#drop(attempt);
    if (exchange.isFinished) this.release(exchange, nowUs);
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

  /** The asker waits no longer. */
  #timeOut(exchange: PendingExchange, nowUs: number): void {
    const isSpent = nowUs >= exchange.deadlineUs;
    if (isSpent) this.#count('upstreamTimeouts', exchange.attempts.length);
    this.#dropRepeats(exchange);
    const { fallback, fallbackIndex, asked } = exchange;
    if (fallback !== null) this.finish(exchange, fallback, null, fallbackIndex);
    else this.finish(exchange, null, isSpent ? 'timeout' : 'offline', asked);
  }

  /** Tells the asker what came; a second time only an answer after a failure. */
  finish(
    exchange: PendingExchange,
    reply: Uint8Array | null,
    failure: ExchangeResult['failure'],
    upstream: number,
  ): void {
    const isLate = exchange.isReported;
    const nowUs = this.#clock.nowUs();
    exchange.isReported = true;
    if (!isLate) {
      this.#unfinished--;
      if (exchange.isOfflineQuestion) this.#offlineQuestions--;
    }
    if (exchange.isAnswered) {
      exchange.isFinished = true;
      if (exchange.attempts.length > 0) this.#notePassedOver(exchange, nowUs);
      exchange.listenUntilUs = Math.min(exchange.listenUntilUs, nowUs + NOT_NEEDED_US);
    }
    if (!this.#isClosed) this.release(exchange, nowUs);
    if (isLate && !exchange.isAnswered) return;
    this.#result.reply = reply;
    this.#result.failure = failure;
    this.#result.upstream = upstream;
    exchange.done(this.#result);
  }

  /** The asker was told. The exchange stays only while replies may come, and not too many do. */
  release(exchange: PendingExchange, nowUs: number): void {
    const isEmpty = exchange.attempts.length === 0;
    if (isEmpty || (!exchange.isListening && this.#listening >= LIMITS.upstreamListenersMax)) {
      this.#stopListening(exchange);
      return;
    }
    if (!exchange.isListening) this.#listening++;
    exchange.isListening = true;
    // Those that were asked just now have had no time to answer; then they are to be looked at.
    const isNoted = exchange.attempts.every(({ isMissed }) => isMissed);
    const lookUs = isNoted ? exchange.listenUntilUs : nowUs + HEDGE_MAX_US;
    this.#wheel.schedule(exchange, Math.min(lookUs, exchange.listenUntilUs));
  }

  /** Of what was sent again and again, the first and the last are enough to listen to. */
  #dropRepeats({ attempts }: PendingExchange): void {
    for (const attempt of [...attempts]) {
      const isSame = ({ upstream, overTcp }: Attempt): boolean =>
        upstream === attempt.upstream && overTcp === attempt.overTcp;
      const same = attempts.filter(isSame);
      if (same[0] !== attempt && same.at(-1) !== attempt) this.#drop(attempt);
    }
  }

  /** It is answered: what has not been sent yet need not be, and who was silent was outdone. */
  #notePassedOver({ attempts }: PendingExchange, nowUs: number): void {
    for (const attempt of [...attempts]) {
      if (attempt.isQueued) this.#drop(attempt);
      else if (attempt.isMissed && attempt.overTcp === attempt.upstream.isStream) {
        this.#set.outdone(attempt, nowUs);
      }
    }
  }

  #stopListening(exchange: PendingExchange): void {
    if (exchange.isListening) this.#listening--;
    exchange.isListening = false;
    exchange.isFinished = true;
    this.#wheel.cancel(exchange);
    const { attempts } = exchange;
    for (let last = attempts.at(-1); last !== undefined; last = attempts.at(-1)) this.#drop(last);
  }

  // -- bookkeeping -----------------------------------------------------------------------------

  #noteSilence(attempt: Attempt, nowUs: number): void {
    const { upstream, exchange, overTcp } = attempt;
    if (attempt.isMissed || nowUs - attempt.sentUs < upstream.health.hedgeUs) return;
    attempt.isMissed = true;
    if (overTcp && !upstream.isStream) upstream.quirks.tcpFailed(nowUs);
    attempt.connection?.doubt(attempt);
    if (overTcp !== upstream.isStream) return;
    this.#set.missed(attempt);
    if (exchange.isAnswered) this.#set.outdone(attempt, nowUs);
  }

  #drop(attempt: Attempt): void {
    this.#remove(attempt);
    attempt.connection?.forget(attempt);
  }

  #remove(attempt: Attempt): void {
    const { attempts } = attempt.exchange;
    const at = attempts.indexOf(attempt);
    if (at < 0) return;
    const last = attempts.pop() as Attempt;
    if (at < attempts.length) attempts[at] = last;
  }

  #count(name: CounterName, times = 1): void {
    const slot = COUNTER[name];
    this.#slots[slot] = (this.#slots[slot] as number) + times;
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
