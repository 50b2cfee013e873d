/**
 * How a question is put to servers: which one is next, for how long it is waited for, whom to ask
 * beside it, and when nobody is left. Used by the upstream pool, which judges the replies.
 */
import { LIMITS } from '../contract/limits.ts';
import type { Random } from '../engine/ports.ts';
import type { TimerWheel } from './timer-wheel.ts';
import type { Attempt, AttemptPurpose, PendingExchange } from './upstream-attempt.ts';
import { buildAttempt } from './upstream-launch.ts';
import type { Upstream } from './upstream.ts';

/** A server that is just being restarted is back in a moment: wait before the second round. */
const REFUSED_RETRY_US = 100_000;
/** Connecting and asking take two round trips. */
const TCP_HEDGE_FACTOR = 2;
/** How long a question that is sent while offline is waited for. */
const OFFLINE_US = 150_000;
/** Servers that such a question is sent to. */
const OFFLINE_SERVERS_MAX = 3;

/** What the pool does for it. */
export interface AskingOwner {
  /** A question has left. */
  launched(overTcp: boolean): void;
  /** Finds the group and the order that hold now. */
  regroup(exchange: PendingExchange, nowUs: number): readonly Upstream[];
  /** Nobody is left to ask: this is the end. */
  finish(
    exchange: PendingExchange,
    reply: Uint8Array | null,
    failure: 'refused' | null,
    upstream: number,
  ): void;
}

/** Puts questions to servers. */
export class Asking {
  readonly #owner: AskingOwner;
  readonly #wheel: TimerWheel<PendingExchange>;
  readonly #random: Random;
  #raceUntilUs = -Infinity;

  constructor(owner: AskingOwner, wheel: TimerWheel<PendingExchange>, random: Random) {
    this.#owner = owner;
    this.#wheel = wheel;
    this.#random = random;
  }

  /** On another network, or after a sleep, it is unknown who answers: for a while two are asked. */
  raceFor(us: number, nowUs: number): void {
    this.#raceUntilUs = nowUs + us;
  }

  /** Asks the first server, and whom the strategy or curiosity adds. */
  begin(exchange: PendingExchange, nowUs: number): void {
    const { group } = exchange;
    this.askNext(exchange, nowUs);
    const isRace = group.strategy === 'race' || nowUs < this.#raceUntilUs;
    if (isRace && exchange.order[1]?.health.isDown === false) this.askNext(exchange, nowUs);
    const unmeasured = group.explore(nowUs);
    if (unmeasured !== null && exchange.attempts.every(({ upstream }) => upstream !== unmeasured)) {
      this.#launch(exchange, unmeasured, 'ask', unmeasured.isStream, nowUs);
    }
    this.#probe(exchange, nowUs);
  }

  /** While offline: asks several servers at once and waits for a moment only. */
  askAll(exchange: PendingExchange, nowUs: number): void {
    exchange.answerByUs = nowUs + OFFLINE_US;
    exchange.isLastRound = true;
    for (const upstream of exchange.order) {
      if (exchange.sent >= OFFLINE_SERVERS_MAX) break;
      this.#launch(exchange, upstream, 'ask', upstream.isStream, nowUs);
    }
    exchange.cursor = exchange.order.length;
    this.#wheel.schedule(exchange, exchange.answerByUs);
  }

  /** Asks the next server in order, round after round, and plans what happens if it is silent. */
  askNext(exchange: PendingExchange, nowUs: number): void {
    const count = exchange.order.length;
    for (let tries = 0; tries < count; tries++) {
      const round = Math.floor(exchange.cursor / count);
      const upstream = exchange.order[exchange.cursor++ % count] as Upstream;
      if (this.#launch(exchange, upstream, 'ask', upstream.isStream, nowUs)) {
        this.#plan(exchange, upstream, upstream.isStream, round, nowUs);
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
  askAgain(attempt: Attempt, purpose: AttemptPurpose, overTcp: boolean, nowUs: number): void {
    const { exchange, upstream } = attempt;
    if (this.#launch(exchange, upstream, purpose, overTcp, nowUs)) {
      this.#plan(exchange, upstream, overTcp, 0, nowUs);
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
    const patienceUs = (isHedged ? hedgeUs : resendUs) * 2 ** round * factor;
    const untilUs = Math.min(exchange.deadlineUs, exchange.answerByUs);
    this.#wheel.schedule(exchange, Math.min(nowUs + patienceUs, untilUs));
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
    const untried = exchange.order[exchange.cursor];
    const hasFallback = exchange.fallback !== null;
    if (untried !== undefined && !(hasFallback && untried.health.isDown)) {
      this.askNext(exchange, nowUs);
      return;
    }
    if (exchange.attempts.some(({ upstream }) => !hasFallback || !upstream.health.isDown)) return;
    if (hasFallback) this.#owner.finish(exchange, exchange.fallback, null, exchange.fallbackIndex);
    else this.#tryOnceMore(exchange, nowUs);
  }

  /** Every server refused at once, or no socket opens: one more round, then the end. */
  #tryOnceMore(exchange: PendingExchange, nowUs: number): void {
    const order = this.#owner.regroup(exchange, nowUs);
    if (exchange.isLastRound || order.length === 0) {
      this.#owner.finish(exchange, null, 'refused', exchange.asked);
      return;
    }
    exchange.isLastRound = true;
    exchange.order = order;
    exchange.cursor = 0;
    this.#wheel.schedule(exchange, Math.min(nowUs + REFUSED_RETRY_US, exchange.deadlineUs));
  }
}
