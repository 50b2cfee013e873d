/**
 * How a question is put to servers: which one is next, for how long it is waited for, whom to ask
 * beside it, and when nobody is left. Used by the upstream pool, which judges the replies.
 */
import { LIMITS } from '../../contract/limits.ts';
import type { Random } from '../../engine/query/ports.ts';
import type { TimerWheel } from './timer-wheel.ts';
import type { Attempt, AttemptPurpose, PendingExchange } from './attempt.ts';
import { buildAttempt } from './launch.ts';
import type { Upstream } from './upstream.ts';

/** A server that is just being restarted is back in a moment: wait before the second round. */
const REFUSED_RETRY_US = 100_000;
/** Connecting and asking take two round trips. */
const TCP_HEDGE_FACTOR = 2;
/** Servers that a question is sent to while offline. */
const OFFLINE_SERVERS_MAX = 3;
/** How long other servers are waited for when one has said SERVFAIL or the like. */
const FALLBACK_US = 2_000_000;
/** While no server takes a question it is offered again and again, for so long. */
const OFFER_US = 2_500_000;
const OFFER_AGAIN_US = 250_000;
/** Longest wait before a question is sent again: this, or a part of its time if that is more. */
const PATIENCE_MAX_US = 1_000_000;
const PATIENCE_PART = 5;

/** What the pool does for it. */
export interface SchedulerOwner {
  /** A question has left. */
  launched(overTcp: boolean): void;
  /** Finds the group and the order that hold now. */
  regroup(exchange: PendingExchange, nowUs: number): readonly Upstream[];
  /** Nobody is left to ask: this is the end. */
  finish(
    exchange: PendingExchange,
    reply: Uint8Array | null,
    failure: 'refused' | 'offline' | null,
    upstream: number,
  ): void;
  /** It is only listened to, and an attempt has ended. */
  release(exchange: PendingExchange, nowUs: number): void;
}

/** Puts questions to servers. */
export class ExchangeScheduler {
  readonly #owner: SchedulerOwner;
  readonly #wheel: TimerWheel<PendingExchange>;
  readonly #random: Random;
  #raceUntilUs = -Infinity;

  constructor(owner: SchedulerOwner, wheel: TimerWheel<PendingExchange>, random: Random) {
    this.#owner = owner;
    this.#wheel = wheel;
    this.#random = random;
  }

  /** On another network, or after a sleep, it is unknown who answers: for a while two are asked. */
  raceFor(us: number, nowUs: number): void {
    this.#raceUntilUs = nowUs + us;
  }

  /** Asks the first server, and whom the strategy, doubt or curiosity adds. */
  begin(exchange: PendingExchange, nowUs: number): void {
    const { group } = exchange;
    this.askNext(exchange, nowUs);
    const isRace = group.strategy === 'race' || nowUs < this.#raceUntilUs;
    const isUnsure = isRace || exchange.order[0]?.health.isInDoubt === true;
    if (isUnsure && exchange.order[1]?.health.isDown === false) this.askNext(exchange, nowUs);
    const unmeasured = group.explore(nowUs);
    if (unmeasured !== null && exchange.attempts.every(({ upstream }) => upstream !== unmeasured)) {
      this.#launch(exchange, unmeasured, 'ask', unmeasured.isStream, nowUs);
    }
    this.#probe(exchange, nowUs);
  }

  /** While offline: asks several servers at once and waits for a moment only. */
  askAll(exchange: PendingExchange, nowUs: number): void {
    const { group, order } = exchange;
    exchange.answerByUs = Math.min(nowUs + group.offlineWaitUs, exchange.deadlineUs);
    exchange.isLastRound = true;
    for (const upstream of order) {
      if (exchange.sent >= OFFLINE_SERVERS_MAX) break;
      this.#launch(exchange, upstream, 'ask', upstream.isStream, nowUs);
    }
    exchange.cursor = order.length;
    this.#wheel.schedule(exchange, exchange.answerByUs);
  }

  /** Asks the next server in order, round after round, and plans what happens if it is silent. */
  askNext(exchange: PendingExchange, nowUs: number): void {
    const count = exchange.order.length;
    for (let tries = 0; tries < count; tries++) {
      const round = Math.floor(exchange.cursor / count);
      const upstream = exchange.order[exchange.cursor++ % count] as Upstream;
      if (exchange.refusers?.includes(upstream) === true) continue;
      const isUnderWay = isUnderWayTo(exchange, upstream, nowUs);
      if (isUnderWay || this.#launch(exchange, upstream, 'ask', upstream.isStream, nowUs)) {
        this.#plan(exchange, upstream, upstream.isStream, round, nowUs);
        return;
      }
    }
    if (exchange.attempts.length > 0) this.#wheel.schedule(exchange, exchange.answerByUs);
    else this.#endRound(exchange, nowUs);
  }

  /** Asks the same server another way; the next one when that cannot be sent. */
  askAgain(attempt: Attempt, purpose: AttemptPurpose, overTcp: boolean, nowUs: number): void {
    const { exchange, upstream } = attempt;
    if (this.#launch(exchange, upstream, purpose, overTcp, nowUs)) {
      if (!exchange.isReported) this.#plan(exchange, upstream, overTcp, 0, nowUs);
    } else {
      this.goOn(exchange, nowUs);
    }
  }

  #plan(
    exchange: PendingExchange,
    upstream: Upstream,
    overTcp: boolean,
    round: number,
    nowUs: number,
  ): void {
    const isHedged = exchange.cursor < exchange.order.length;
    const { hedgeUs, resendUs } = upstream.health;
    const factor = overTcp && !upstream.isStream ? TCP_HEDGE_FACTOR : 1;
    const budgetUs = exchange.deadlineUs - exchange.startedUs;
    const patienceUs = Math.min(
      (isHedged ? hedgeUs : resendUs) * 2 ** round * factor,
      Math.max(PATIENCE_MAX_US, budgetUs / PATIENCE_PART),
    );
    this.#wheel.schedule(exchange, Math.min(nowUs + patienceUs, exchange.answerByUs));
  }

  #launch(
    exchange: PendingExchange,
    upstream: Upstream,
    purpose: AttemptPurpose,
    overTcp: boolean,
    nowUs: number,
  ): boolean {
    if (exchange.sent >= LIMITS.upstreamAttemptsMax) return false;
    const attempt = buildAttempt(exchange, upstream, purpose, overTcp, this.#random, nowUs);
    if (!upstream.way(overTcp).send(attempt, nowUs)) return false;
    exchange.attempts.push(attempt);
    exchange.sent++;
    exchange.asked = upstream.index;
    upstream.sent++;
    this.#owner.launched(overTcp);
    return true;
  }

  /** Asks servers that are down in parallel, when it is time to see whether they are back. */
  #probe(exchange: PendingExchange, nowUs: number): void {
    const order = exchange.order;
    for (let index = order.length - 1; index > 0; index--) {
      const upstream = order[index] as Upstream;
      if (!upstream.health.isDown) return;
      if (!upstream.health.takesProbe(nowUs)) continue;
      this.#launch(exchange, upstream, 'ask', upstream.isStream, nowUs);
    }
  }

  /** An attempt ended without an answer: the next server now, or wait, or give what there is. */
  goOn(exchange: PendingExchange, nowUs: number): void {
    if (exchange.isReported) {
      this.#owner.release(exchange, nowUs);
      return;
    }
    const untried = exchange.order[exchange.cursor];
    const hasFallback = exchange.fallback !== null;
    if (hasFallback) exchange.answerByUs = Math.min(exchange.answerByUs, nowUs + FALLBACK_US);
    if (untried !== undefined && !(hasFallback && untried.health.isDown)) {
      this.askNext(exchange, nowUs);
      return;
    }
    if (exchange.attempts.some(({ upstream }) => !hasFallback || !upstream.health.isDown)) return;
    this.#endRound(exchange, nowUs);
  }

  /**
   * Nobody is left to wait for. With nothing to give, every server refused at once or no socket opens:
   * one more round, then the end.
   */
  #endRound(exchange: PendingExchange, nowUs: number): void {
    const { fallback, fallbackIndex } = exchange;
    if (fallback !== null) {
      this.#owner.finish(exchange, fallback, null, fallbackIndex);
      return;
    }
    const order = this.#owner.regroup(exchange, nowUs);
    if (order.length === 0 || isSpent(exchange, nowUs)) {
      const isOffline = order.length > 0 && (exchange.sent === 0 || exchange.group.isCutOff);
      this.#owner.finish(exchange, null, isOffline ? 'offline' : 'refused', exchange.asked);
      return;
    }
    const waitUs = exchange.isLastRound ? OFFER_AGAIN_US : REFUSED_RETRY_US;
    exchange.isLastRound = true;
    exchange.order = order;
    exchange.cursor = 0;
    this.#wheel.schedule(exchange, Math.min(nowUs + waitUs, exchange.answerByUs));
  }
}

/** Nobody takes it, and another round would not help. */
function isSpent({ sent, group, startedUs, isLastRound }: PendingExchange, nowUs: number): boolean {
  if (sent >= LIMITS.upstreamAttemptsMax) return true;
  // After a failure a server takes no connection for a moment: then nobody was asked yet.
  const isOffered = sent === 0 && !group.isCutOff && nowUs - startedUs < OFFER_US;
  return isLastRound && !isOffered;
}

/**
 * Whether it would be of no use to send a question to a server again: it is queued, or left on a
 * sound connection a moment ago. Later it would: a server behind that one may have lost it.
 */
function isUnderWayTo({ attempts }: PendingExchange, server: Upstream, nowUs: number): boolean {
  if (attempts.length === 0) return false;
  const { resendUs, roundTripUs } = server.health;
  const resendFromUs = nowUs - Math.max(resendUs, 2 * roundTripUs);
  for (const { upstream, connection: carrier, sentUs } of attempts) {
    if (upstream === server && carrier?.isSound === true && sentUs > resendFromUs) return true;
  }
  return false;
}
