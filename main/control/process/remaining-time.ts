/**
 * How much of a span is left, whatever happens to the wall clock: while the program runs and over a
 * restart of it, time is counted by the machine's own uptime, sleep included. Only over a restart of
 * the machine the wall clock has to do. Used for pauses and for temporary rules.
 */
import type { ServiceClock } from '../../system/clock.ts';

/**
 * A machine that seems to have been off for longer has a wrong clock (a real-time clock that lost
 * its battery may say any year); nothing is taken off then. A machine that was off that long keeps
 * a temporary rule for the minutes it still had.
 */
const OFF_MS_MAX = 366 * 24 * 3_600_000;

/** A moment, by all clocks there are. Goes into files. */
export interface Moment {
  readonly wallMs: number;
  readonly bootId: string;
  readonly elapsedMs: number;
}

export function momentNow(clock: ServiceClock): Moment {
  const { id: bootId, elapsedMs } = clock.boot();
  return { wallMs: clock.wallMs(), bootId, elapsedMs };
}

/** Milliseconds from `then` to `now`, at least 0; 0 where no clock can tell. */
export function elapsedBetween(then: Moment, now: Moment): number {
  const byUptime = now.elapsedMs - then.elapsedMs;
  const isSameBoot = then.bootId === now.bootId && byUptime >= 0;
  if (isSameBoot) return byUptime;
  const byWall = now.wallMs - then.wallMs;
  return byWall >= 0 && byWall <= OFF_MS_MAX ? byWall : 0;
}

/** A moment from a file; undefined when it is none. */
export function parseMoment(value: unknown): Moment | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { wallMs, bootId, elapsedMs } = value as Partial<Moment>;
  if (typeof bootId !== 'string') return undefined;
  if (!isFiniteNumber(wallMs) || !isFiniteNumber(elapsedMs)) return undefined;
  return { wallMs, bootId, elapsedMs };
}

export function isFiniteNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}
