/**
 * The servers that one question may be asked at, and the order in which they are: those for a
 * suffix, the default ones, or the bootstrap servers. Used by the upstream pool.
 *
 *     in-order  as configured                 spread  beginning at a random one
 *     fastest   by measured round trip        race    as fastest, the first two at once
 *
 * In every strategy servers that answer late stand behind the others, silent ones behind those.
 */
import type { Random } from '../engine/ports.ts';
import { RANK_UP } from './upstream-health.ts';
import type { Strategy } from './upstream-plan.ts';
import type { Upstream } from './upstream.ts';

/** Silence of every server that means being offline, once questions ran out of time as well. */
const OFFLINE_US = 1_500_000;
const TIMEOUTS_MIN = 2;
/** Time between two questions that are really sent while offline. */
const RECOVERY_US = 250_000;
/** How long an order by round trip is believed. */
const ORDER_US = 100_000;
/** Time between two questions that also go to a server which was not measured lately. */
const EXPLORE_US = 1_000_000;

/** Some servers and how they are used. */
export class UpstreamGroup {
  readonly upstreams: readonly Upstream[];
  readonly strategy: Strategy;
  #order: readonly Upstream[];
  #orderedUs = 0;
  #timeouts = 0;
  #recoveryUs = -Infinity;
  #exploredUs = -Infinity;

  constructor(upstreams: readonly Upstream[], strategy: Strategy) {
    this.upstreams = upstreams;
    this.strategy = upstreams.length > 1 ? strategy : 'in-order';
    this.#order = this.#sorted();
  }

  /** The servers in the order to ask. Never changed afterwards: a question keeps its order. */
  orderFor(nowUs: number, random: Random): readonly Upstream[] {
    if (this.strategy === 'in-order') return this.#order;
    if (this.strategy === 'spread') return this.#rotated(random);
    if (nowUs - this.#orderedUs > ORDER_US) {
      this.#orderedUs = nowUs;
      this.#order = this.#sorted();
    }
    return this.#order;
  }

  /** The rank of a server has changed. */
  reorder(): void {
    this.#order = this.#sorted();
  }

  /** A server worth a question beside the first one, to learn how fast it is; null for none. */
  explore(nowUs: number): Upstream | null {
    if (this.strategy !== 'fastest' && this.strategy !== 'race') return null;
    if (nowUs - this.#exploredUs < EXPLORE_US) return null;
    this.#exploredUs = nowUs;
    const unmeasured = this.upstreams.find(
      ({ health, isResolved }) => isResolved && !health.isDown && health.needsMeasuring(nowUs),
    );
    return unmeasured ?? null;
  }

  /** A question got no reply in all its time. */
  timedOut(): void {
    this.#timeouts++;
  }

  /** True while nobody answers, and it is no use to wait. */
  isOffline(nowUs: number): boolean {
    const isSilent = this.upstreams.every(
      ({ health, isResolved }) => !isResolved || health.isSilentFor(OFFLINE_US, nowUs),
    );
    if (!isSilent) this.#timeouts = 0;
    return isSilent && this.#timeouts >= TIMEOUTS_MIN;
  }

  /** While offline: whether this question is sent, to see whether somebody is back. */
  takesRecoveryProbe(nowUs: number): boolean {
    if (nowUs - this.#recoveryUs < RECOVERY_US) return false;
    this.#recoveryUs = nowUs;
    return true;
  }

  #sorted(): readonly Upstream[] {
    const byTime = this.strategy === 'fastest' || this.strategy === 'race';
    // Sorting is stable: equals stay as configured. What was never measured may be the fastest.
    return [...this.upstreams].sort(
      (left, right) =>
        left.health.rank - right.health.rank ||
        (byTime ? left.health.roundTripUs - right.health.roundTripUs : 0),
    );
  }

  #rotated(random: Random): readonly Upstream[] {
    const order = this.#order;
    let up = 0;
    while (up < order.length && order[up]?.health.rank === RANK_UP) up++;
    if (up < 2) return order;
    const first = random.uint32() % up;
    return [...order.slice(first, up), ...order.slice(0, first), ...order.slice(up)];
  }
}
