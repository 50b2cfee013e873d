/**
 * Which ids a span of time covers, and how a long table is read in short pieces.
 *
 * Used by the reader thread (search.ts, statistics.ts). There is no index on time: `minutes` knows
 * the first and last id of each minute, whatever the clock did meanwhile.
 */
import type { Database } from 'better-sqlite3';

const MS_PER_MINUTE = 60_000;
/** The latest time that a Date can hold. */
const TIME_MS_MAX = 8.64e15;
/** Rows read in the first piece, and at least and at most in later ones. */
const PIECE_ROWS_FIRST = 4_096;
const PIECE_ROWS_MIN = 512;
const PIECE_ROWS_MAX = 262_144;
/** Aimed time of one piece: how late the end of the time box can be noticed. */
const PIECE_MS = 40;

/** Ids from `low` (inclusive) to `high` (exclusive). */
export interface RowSpan {
  readonly low: number;
  readonly high: number;
}

/** A span of time; either end may be open. Both ends inclusive, milliseconds since 1970. */
export interface TimeSpan {
  readonly sinceMs: number | undefined;
  readonly untilMs: number | undefined;
}

/** The ids that may lie in a span of time; rows in between may still be outside of it. */
export function rowSpan(database: Database, time: TimeSpan): RowSpan {
  const last = database.prepare('SELECT max(id) FROM queries').pluck().get() as number | null;
  const all = { low: 1, high: (last ?? 0) + 1 };
  if (time.sinceMs === undefined && time.untilMs === undefined) return all;
  const sinceMinute = minuteOf(time.sinceMs, 0);
  const untilMinute = minuteOf(time.untilMs, TIME_MS_MAX);
  const { low, high, oldest } = minuteSpan(database, sinceMinute, untilMinute);
  // Statistics may have been pruned before their rows: then nothing is known about the oldest.
  const reachesBack = sinceMinute < (oldest ?? Infinity);
  if (low === null || high === null) return reachesBack ? all : { low: 1, high: 1 };
  return { low: reachesBack ? all.low : low, high: high + 1 };
}

/** The ids of the minutes in a span of time, and the oldest minute of all; null where none is. */
interface MinuteSpan {
  readonly low: number | null;
  readonly high: number | null;
  readonly oldest: number | null;
}

function minuteSpan(database: Database, sinceMinute: number, untilMinute: number): MinuteSpan {
  return database
    .prepare(
      `SELECT min(first_id) AS low, max(last_id) AS high,
         (SELECT min(minute) FROM minutes) AS oldest
       FROM minutes WHERE minute BETWEEN ? AND ?`,
    )
    .get(sinceMinute, untilMinute) as MinuteSpan;
}

function minuteOf(timeMs: number | undefined, otherwiseMs: number): number {
  return Math.floor((timeMs ?? otherwiseMs) / MS_PER_MINUTE);
}

/**
 * Goes through a span from its newest end in pieces of about PIECE_MS each.
 *
 * @param visit   called with each piece; false ends the walk
 * @param endMs   performance.now() at which to stop
 * @returns       the lowest id visited, and whether time ran out before the end
 */
export function walkNewestFirst(
  span: RowSpan,
  endMs: number,
  visit: (piece: RowSpan) => boolean,
): { low: number; outOfTime: boolean } {
  let high = span.high;
  let rows = PIECE_ROWS_FIRST;
  while (high > span.low) {
    const begunMs = performance.now();
    if (begunMs >= endMs) return { low: high, outOfTime: true };
    const low = Math.max(span.low, high - rows);
    const goesOn = visit({ low, high });
    high = low;
    if (!goesOn) break;
    const factor = PIECE_MS / Math.max(1, performance.now() - begunMs);
    rows = Math.round(rows * Math.min(4, Math.max(0.25, factor)));
    rows = Math.min(PIECE_ROWS_MAX, Math.max(PIECE_ROWS_MIN, rows));
  }
  return { low: high, outOfTime: false };
}
