/**
 * The configured upstreams of one thread, and the order in which they are asked: those that answer
 * first, those that are silent behind them, each group as configured. Used by the upstream pool.
 */
import { LIMITS } from '../contract/limits.ts';
import type { Random } from '../engine/ports.ts';
import type { PlainServer } from './server-address.ts';
import { formatServer } from './server-address.ts';
import type { Attempt, CarrierOwner } from './upstream-attempt.ts';
import { Upstream } from './upstream.ts';

/** Time between two looks for sockets that are too old. */
const SWEEP_US = 1_000_000;
/** Each server may have at least so many sockets, however many servers there are. */
const SOCKETS_PER_SERVER_MIN = 16;

/** The servers, their health and their order. */
export class UpstreamSet {
  /** Replaced when it changes, never changed: a question keeps the order it began with. */
  order: readonly Upstream[] = [];
  readonly #owner: CarrierOwner;
  readonly #random: Random;
  #upstreams: Upstream[] = [];
  #sweptUs = 0;

  constructor(owner: CarrierOwner, random: Random) {
    this.#owner = owner;
    this.#random = random;
  }

  /** Takes a new configuration; servers that stay keep sockets and health, others are closed. */
  configure(servers: readonly PlainServer[]): void {
    const perServer = Math.floor(LIMITS.upstreamSocketsMax / Math.max(servers.length, 1));
    const socketsMax = Math.max(perServer, SOCKETS_PER_SERVER_MIN);
    const before = new Map(this.#upstreams.map((upstream) => [upstream.key, upstream]));
    this.#upstreams = servers.map((server, index) => {
      const known = before.get(formatServer(server));
      if (known === undefined) {
        return new Upstream(server, index, this.#owner, this.#random, socketsMax);
      }
      before.delete(known.key);
      known.index = index;
      return known;
    });
    this.#reorder();
    for (const gone of before.values()) gone.close();
  }

  /** Notes a verified reply to an attempt. */
  answered({ upstream, sentUs }: Attempt, nowUs: number): void {
    if (upstream.health.answered(nowUs - sentUs, nowUs)) this.#reorder();
  }

  /** Notes an attempt that got no reply in time, or whose way is closed. */
  missed({ upstream, sentUs }: Attempt, nowUs: number): void {
    if (!upstream.health.missed(sentUs, nowUs)) return;
    // After a change of network old sockets keep an address that leads nowhere.
    upstream.udp.retireAll();
    this.#reorder();
  }

  /** Retires old sockets; looks at most once a second. */
  sweep(nowUs: number): void {
    if (nowUs - this.#sweptUs < SWEEP_US) return;
    this.#sweptUs = nowUs;
    for (const upstream of this.#upstreams) upstream.sweep(nowUs);
  }

  /** Closes what no question uses, so that a quiet machine has no open ports. */
  rest(): void {
    for (const upstream of this.#upstreams) {
      upstream.udp.retireAll();
      upstream.tcp.sweep(Infinity);
    }
  }

  /** Closes every socket; what was in flight is reported as failed. */
  close(): void {
    for (const upstream of this.#upstreams) upstream.close();
  }

  /** Forgets health and peculiarities, for another network. */
  forget(): void {
    for (const upstream of this.#upstreams) upstream.forget();
    this.#reorder();
  }

  #reorder(): void {
    const up = this.#upstreams.filter((upstream) => !upstream.health.isDown);
    const down = this.#upstreams.filter((upstream) => upstream.health.isDown);
    this.order = [...up, ...down];
  }
}
