/**
 * The configured upstreams of one thread in their groups: which group a question belongs to, and
 * what a change of one server's health means. Used by the upstream pool.
 */
import { LIMITS } from '../../contract/limits.ts';
import { handlesFor } from '../handle-limit.ts';
import type { SendFailure } from '../transport/network-error.ts';
import { planOf } from './plan.ts';
import type { UpstreamPlan } from './plan.ts';
import type { Attempt } from './attempt.ts';
import { UpstreamGroup } from './group.ts';
import { upstreamKey } from '../upstream-address.ts';
import type { UpstreamServer } from '../upstream-address.ts';
import { Upstream } from './upstream.ts';
import type { UpstreamPorts } from './upstream.ts';
import { asksForTime, isClockWrong, labelsOf } from '../wall-clock.ts';

/** Time between two looks for sockets that are too old. */
const SWEEP_US = 1_000_000;
/** Each server may have at least so many sockets, however many servers there are. */
const SOCKETS_PER_SERVER_MIN = 16;

/** The servers, their health and their groups. */
export class UpstreamSet {
  readonly #ports: UpstreamPorts;
  #upstreams: Upstream[] = [];
  #defaults: UpstreamGroup;
  readonly #suffixes = new Map<string, UpstreamGroup>();
  /** For names of time servers while the clock is wrong; null without bootstrap servers. */
  #time: UpstreamGroup | null = null;
  #addresses: Readonly<Record<string, readonly string[]>> = {};
  #sweptUs = 0;
  #wasClockWrong = false;

  constructor(ports: UpstreamPorts) {
    this.#ports = ports;
    this.#defaults = new UpstreamGroup([], 'in-order');
    this.configure(planOf([]));
  }

  /** Takes a new plan; servers that stay keep sockets and health, others are closed. */
  configure(plan: UpstreamPlan): void {
    const before = new Map(this.#upstreams.map((upstream) => [upstream.key, upstream]));
    const perServer = Math.floor(LIMITS.upstreamSocketsMax / Math.max(plan.servers.length, 1));
    const socketsMax = handlesFor(Math.max(perServer, SOCKETS_PER_SERVER_MIN));
    const take = (server: UpstreamServer, index: number): Upstream => {
      const known = before.get(upstreamKey(server));
      before.delete(upstreamKey(server));
      const upstream = known ?? new Upstream(server, index, this.#ports, socketsMax);
      upstream.index = index;
      upstream.mixesCase = plan.mixedCase && !upstream.isSecure;
      return upstream;
    };
    const configured = plan.servers.map(take);
    this.#defaults = new UpstreamGroup(configured.slice(0, plan.defaults), plan.strategy);
    this.#suffixes.clear();
    for (const { suffix, servers } of plan.suffixes) {
      const group = servers.flatMap((index) => configured[index] ?? []);
      this.#suffixes.set(suffix, new UpstreamGroup(group, plan.strategy, suffix));
    }
    const byKey = new Map(configured.map((upstream) => [upstream.key, upstream]));
    const bootstrap = plan.bootstrap.map(
      (server) => byKey.get(upstreamKey(server)) ?? take(server, -1),
    );
    this.#time = bootstrap.length > 0 ? new UpstreamGroup(bootstrap, 'in-order') : null;
    this.#upstreams = [...new Set([...configured, ...bootstrap])];
    this.setAddresses(this.#addresses);
    for (const gone of before.values()) gone.close();
  }

  /** Takes the addresses that the hosts of encrypted servers have, by host name. */
  setAddresses(addresses: Readonly<Record<string, readonly string[]>>): void {
    this.#addresses = addresses;
    for (const upstream of this.#upstreams) {
      if (upstream.host !== '') upstream.setAddresses(addresses[upstream.host] ?? []);
    }
  }

  /** The group for a query of ours. @param end  behind its question */
  groupFor(query: Uint8Array, end: number): UpstreamGroup {
    if (this.#suffixes.size > 0) {
      const labels = labelsOf(query, end);
      for (let first = 0; first < labels.length; first++) {
        const group = this.#suffixes.get(labels.slice(first).join('.'));
        if (group !== undefined) return group;
      }
    }
    if (this.#time !== null && this.#isClockWrong() && asksForTime(query, end)) return this.#time;
    return this.#defaults;
  }

  /** How every configured server is doing, in the order of the plan. */
  states(): Upstream['state'][] {
    return this.#upstreams.filter(({ index }) => index >= 0).map(({ state }) => state);
  }

  /** Notes a verified reply to an attempt. */
  answered({ upstream, sentUs }: Attempt, nowUs: number): void {
    upstream.replied();
    if (upstream.health.answered(nowUs - sentUs, nowUs)) this.#reorder();
  }

  /** Notes a reply with an answer in it, and who had refused the same question before. */
  helped(helper: Upstream, refusers: readonly Upstream[], nowUs: number): void {
    let isChanged = helper.health.helped();
    for (const upstream of refusers) {
      if (upstream !== helper && upstream.health.refused(nowUs)) isChanged = true;
    }
    if (isChanged) this.#reorder();
  }

  /** Notes a reply to a question that is settled. @param isAnswered  another server had an answer */
  late({ health }: Upstream, isFailure: boolean, isAnswered: boolean, nowUs: number): void {
    if (isFailure && !isAnswered) return;
    if (isFailure ? health.refused(nowUs) : health.helped()) this.#reorder();
  }

  /** Notes that an attempt was silent for longer than expected, or its connection closed. */
  missed({ upstream, exchange, sentUs }: Attempt): void {
    const { health } = upstream;
    const wasInDoubt = health.isInDoubt;
    upstream.failures++;
    health.missed(exchange.zone, sentUs);
    if (health.isInDoubt && !wasInDoubt) upstream.renewSockets();
  }

  /** Notes that another server answered what an attempt was silent about. */
  outdone({ upstream, exchange, sentUs }: Attempt, nowUs: number): void {
    if (!upstream.health.outdone(exchange.zone, sentUs, nowUs)) return;
    upstream.renewSockets();
    this.#reorder();
  }

  /** Notes that an attempt cannot have arrived. */
  failed({ upstream, sentUs }: Attempt, failure: SendFailure, nowUs: number): void {
    upstream.failures++;
    if (!upstream.health.failed(failure, sentUs, nowUs)) return;
    upstream.renewSockets();
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
    for (const upstream of this.#upstreams) upstream.rest();
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

  /** A clock that was set right makes certificates valid: nobody needs to wait for a probe. */
  #isClockWrong(): boolean {
    const isWrong = isClockWrong(this.#ports.clock.wallMs());
    const isOver = this.#wasClockWrong && !isWrong;
    this.#wasClockWrong = isWrong;
    if (isOver) this.forget();
    return isWrong;
  }

  #reorder(): void {
    this.#defaults.reorder();
    this.#time?.reorder();
    for (const group of this.#suffixes.values()) group.reorder();
  }
}
