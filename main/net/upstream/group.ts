/**
 * The servers that one question may be asked at, and the order in which they are: those for a
 * suffix, the default ones, or the bootstrap servers. Used by the upstream pool.
 *
 *     in-order  as configured                 spread  beginning at a random one
 *     fastest   by measured round trip        race    as fastest, the first two at once
 *
 * In every strategy servers that answer late stand behind the others, those that are down behind
 * those.
 */
import type { Random } from '../../engine/query/ports.ts';
import { RANK_SLOW, RANK_UP } from './health.ts';
import type { Strategy } from './plan.ts';
import type { Upstream } from './upstream.ts';
import { labelsOf } from '../wall-clock.ts';

/** How long a question waits while offline: two round trips, within these. */
const OFFLINE_WAIT_MIN_US = 300_000;
const OFFLINE_WAIT_MAX_US = 1_500_000;
/** How long an order by round trip is believed. */
const ORDER_US = 100_000;
/** Time between two questions that also go to a server which was not measured lately. */
const EXPLORE_US = 1_000_000;
/** Labels of a zone in the default group: a name that somebody registered, or thereabouts. */
const ZONE_LABELS = 2;

/** Some servers and how they are used. */
export class UpstreamGroup {
  readonly upstreams: readonly Upstream[];
  readonly strategy: Strategy;
  #order: readonly Upstream[];
  readonly #zoneLabels: number;
  #orderedUs = 0;
  #exploredUs = -Infinity;

  /** @param suffix  what the names of its questions end with; '' for any names */
  constructor(upstreams: readonly Upstream[], strategy: Strategy, suffix = '') {
    this.upstreams = upstreams;
    const suffixLabels = suffix === '' ? 0 : suffix.split('.').length;
    this.#zoneLabels = Math.max(ZONE_LABELS, suffixLabels + 1);
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

  /**
   * What the silence of a question is laid to: the end of its name, so that many names below one dead
   * zone are one. @param end  behind the question
   */
  zoneOf(query: Uint8Array, end: number): string {
    return labelsOf(query, end).slice(-this.#zoneLabels).join('.');
  }

  /**
   * A server worth a question beside the first one, to learn how fast it is; null for none. One that
   * counts as slow is never asked first, so it could not show that it has become faster.
   */
  explore(nowUs: number): Upstream | null {
    if (nowUs - this.#exploredUs < EXPLORE_US || this.upstreams.length < 2) return null;
    this.#exploredUs = nowUs;
    const byTime = this.strategy === 'fastest' || this.strategy === 'race';
    const unmeasured = this.upstreams.find(
      ({ health, isResolved }) =>
        isResolved &&
        !health.isDown &&
        (byTime || health.rank === RANK_SLOW) &&
        health.needsMeasuring(nowUs),
    );
    return unmeasured ?? null;
  }

  /** True when nobody can be sent anything: the system has no way to any of the servers. */
  get isCutOff(): boolean {
    return this.upstreams.every(({ health, isResolved }) => !isResolved || health.isCutOff);
  }

  /** True while nobody answers anything: questions go out, but are not waited for in full. */
  isOffline(nowUs: number): boolean {
    let isSilent = false;
    for (const { health, isResolved } of this.upstreams) {
      if (!isResolved || health.isCutOff) continue;
      if (!health.isSilentAt(nowUs)) return false;
      isSilent = true;
    }
    return isSilent;
  }

  /** How long a question waits while offline. */
  get offlineWaitUs(): number {
    const roundTripUs = Math.max(...this.upstreams.map(({ health }) => health.roundTripUs));
    return Math.min(Math.max(2 * roundTripUs, OFFLINE_WAIT_MIN_US), OFFLINE_WAIT_MAX_US);
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
