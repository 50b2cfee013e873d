/**
 * Decides whether the program is well, and says in plain sentences what is not.
 *
 * Owned by the service, which feeds it counter samples and problems as they come and go.
 */
import type { CounterSnapshot } from '../../contract/counters.ts';
import type { ListStatus } from '../../contract/methods/methods.ts';
import type { ServiceClock } from '../../system/clock.ts';
import type { LogState } from './parts.ts';

/** Time over which upstream failures and dropped log records count as "lately". */
export const LATELY_MS = 60_000;
/** Failed questions without one upstream answer that make the upstreams a problem. */
const FAILURES_MIN = 3;
/** The same while no upstream has ever answered. */
const FIRST_FAILURES_MIN = 2;
/** How long a fault of the data plane is shown. */
const FAULT_SHOWN_MS = 10 * 60_000;
/** Problems kept by name; there are only a few names in the program. */
const PROBLEMS_MAX = 32;

export interface HealthInput {
  readonly log: LogState;
  readonly lists: readonly ListStatus[];
  readonly blockedNames: number;
  /** Address of the last client outside `dns.allow`, as the log may show it; '' for none. */
  readonly lastDenied: string;
}

export interface HealthReport {
  readonly health: 'ok' | 'degraded';
  readonly degradedReasons: string[];
  readonly notices: string[];
}

interface Sample {
  readonly atMs: number;
  readonly failed: number;
  readonly upstreamAnswered: number;
  readonly logDropped: number;
  readonly denied: number;
}

export class Health {
  readonly #clock: ServiceClock;
  readonly #problems = new Map<string, string>();
  readonly #notices = new Map<string, string>();
  #fault: { readonly atMs: number; readonly reason: string } | null = null;
  #samples: Sample[] = [];

  constructor(clock: ServiceClock) {
    this.#clock = clock;
  }

  /** A lasting problem under a name of the caller's choice; null ends it. */
  setProblem(name: string, sentence: string | null): void {
    setOrDelete(this.#problems, name, sentence);
  }

  /** The lasting problems, one sentence each. */
  get problems(): readonly string[] {
    return [...this.#problems.values()];
  }

  /** As `setProblem`, for what is worth telling but no fault. */
  setNotice(name: string, sentence: string | null): void {
    setOrDelete(this.#notices, name, sentence);
  }

  /** The data plane had a fault and survived it. @param reason  one sentence */
  fault(reason: string): void {
    this.#fault = { atMs: this.#clock.monotonicMs(), reason };
  }

  /** Takes a read-out of the counters; called every few seconds. */
  sample(counters: CounterSnapshot): void {
    const atMs = this.#clock.monotonicMs();
    const { failed, upstreamAnswered, logDropped, denied } = counters;
    this.#samples.push({ atMs, failed, upstreamAnswered, logDropped, denied });
    // The newest sample that is older than the window stays: it is where the window begins.
    const begin = this.#samples.findLastIndex((sample) => sample.atMs <= atMs - LATELY_MS);
    if (begin > 0) this.#samples.splice(0, begin);
  }

  report(input: HealthInput): HealthReport {
    const degradedReasons = [
      ...this.#problems.values(),
      ...this.#faultReasons(),
      ...input.log.reasons,
      ...this.#upstreamReasons(),
      ...listReasons(input),
    ];
    if (input.log.state === 'degraded' && input.log.reasons.length === 0) {
      degradedReasons.push('The query log cannot be written.');
    }
    const notices = [
      ...this.#notices.values(),
      ...this.#dropNotices(),
      ...this.#deniedNotices(input.lastDenied),
      ...input.log.notices,
      ...listNotices(input),
    ];
    return { health: degradedReasons.length === 0 ? 'ok' : 'degraded', degradedReasons, notices };
  }

  #faultReasons(): string[] {
    if (!this.#fault || this.#clock.monotonicMs() - this.#fault.atMs > FAULT_SHOWN_MS) return [];
    return [`The DNS engine had a fault: ${sentence(this.#fault.reason)}`];
  }

  #upstreamReasons(): string[] {
    const failed = this.#lately('failed');
    const isNew = (this.#samples.at(-1)?.upstreamAnswered ?? 0) === 0;
    if (failed < (isNew ? FIRST_FAILURES_MIN : FAILURES_MIN)) return [];
    if (this.#lately('upstreamAnswered') > 0) return [];
    return [`No upstream server answered in the last minute; ${String(failed)} questions failed.`];
  }

  #dropNotices(): string[] {
    const dropped = this.#lately('logDropped');
    if (dropped === 0) return [];
    return [
      `${String(dropped)} log records were dropped in the last minute; DNS was not affected.`,
    ];
  }

  #deniedNotices(last: string): string[] {
    const denied = this.#lately('denied');
    if (denied === 0) return [];
    const who = last === '' ? '' : `, the last one from ${last}`;
    return [
      `${String(denied)} questions of clients outside dns.allow were dropped in the last minute` +
        `${who}. To answer them, add their network to dns.allow.`,
    ];
  }

  #lately(key: 'failed' | 'upstreamAnswered' | 'logDropped' | 'denied'): number {
    const first = this.#samples[0];
    const last = this.#samples.at(-1);
    return first && last ? Math.max(0, last[key] - first[key]) : 0;
  }
}

function setOrDelete(map: Map<string, string>, name: string, sentence: string | null): void {
  if (sentence === null) map.delete(name);
  else if (map.size < PROBLEMS_MAX || map.has(name)) map.set(name, sentence);
}

function listReasons({ lists, blockedNames }: HealthInput): string[] {
  if (blockedNames > 0) return [];
  return lists
    .filter((list) => list.enabled && list.state === 'failed' && list.updatedAtMs === null)
    .map((list) => `Nothing is blocked: the list "${list.name}" failed: ${sentence(list.error)}`);
}

function listNotices({ lists, blockedNames }: HealthInput): string[] {
  const notices: string[] = [];
  for (const list of lists) {
    if (!list.enabled || list.state !== 'failed') continue;
    if (list.updatedAtMs !== null) {
      notices.push(
        `The list "${list.name}" was not updated, its last good copy is in use: ` +
          sentence(list.error),
      );
    } else if (blockedNames > 0) {
      notices.push(`The list "${list.name}" is not in use: ${sentence(list.error)}`);
    }
  }
  return notices;
}

function sentence(text: string): string {
  const plain = text.trim();
  return plain === '' || /[.!?]$/.test(plain) ? plain : `${plain}.`;
}
