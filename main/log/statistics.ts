/**
 * Statistics of a span of time: a series for the chart out of `minutes`, and the most blocked names
 * and busiest clients out of the rows.
 *
 * Called in the reader thread. The series is exact. The two top lists are counted from the newest
 * rows backwards within a time limit: of a very large log they cover its newest part.
 */
import type { Database, Statement } from 'better-sqlite3';
import { AppError } from '../contract/errors.ts';
import { OUTCOME } from '../contract/outcome.ts';
import type {
  StatisticsArguments,
  StatisticsPoint,
  StatisticsResult,
  UsedNamesArguments,
} from './messages.ts';
import { rowSpan, walkNewestFirst } from './row-span.ts';
import type { RowSpan } from './row-span.ts';

const MS_PER_MINUTE = 60_000;
const SPAN_DEFAULT_MS = 24 * 60 * MS_PER_MINUTE;
const STEP_DEFAULT_MINUTES = 5;
/** Points of one series; a longer span gets longer steps. */
export const STATISTICS_POINTS_MAX = 1_500;
/** Names in a top list. */
const TOP_ROWS = 10;
/** Different names counted at once; beyond it the rarest are forgotten. */
const TALLY_NAMES_MAX = 20_000;

/**
 * Counts what happened in a span of time: the last 24 hours unless told otherwise. The span is
 * widened to whole steps; steps are lengthened to stay within STATISTICS_POINTS_MAX.
 *
 * @param nowMs  wall clock
 * @param endMs  performance.now() at which to stop counting rows
 * @throws       AppError ARGUMENT_INVALID when the span ends before it begins; SqliteError
 */
export function queryStatistics(
  database: Database,
  asked: StatisticsArguments,
  nowMs: number,
  endMs: number,
): StatisticsResult {
  const span = wholeSteps(asked, nowMs);
  const top = topOfRows(database, span.sinceMs, span.untilMs, endMs);
  return { ...span, points: series(database, span), ...top };
}

interface Steps {
  readonly sinceMs: number;
  /** Exclusive. */
  readonly untilMs: number;
  readonly stepMinutes: number;
}

function wholeSteps(asked: StatisticsArguments, nowMs: number): Steps {
  const untilMs = asked.untilMs ?? nowMs;
  const sinceMs = asked.sinceMs ?? untilMs - SPAN_DEFAULT_MS;
  if (!(sinceMs <= untilMs)) {
    throw new AppError('ARGUMENT_INVALID', `statistics: sinceMs ${sinceMs} is after ${untilMs}`);
  }
  const minutes = (untilMs - sinceMs) / MS_PER_MINUTE;
  const leastMinutes = Math.ceil(minutes / (STATISTICS_POINTS_MAX - 1));
  const stepMinutes = Math.max(asked.stepMinutes ?? STEP_DEFAULT_MINUTES, leastMinutes, 1);
  const stepMs = stepMinutes * MS_PER_MINUTE;
  const first = Math.floor(sinceMs / stepMs);
  const last = Math.floor(untilMs / stepMs);
  return { sinceMs: first * stepMs, untilMs: (last + 1) * stepMs, stepMinutes };
}

interface StepRow {
  readonly step: number;
  readonly queries: number;
  readonly blocked: number;
  readonly cached: number;
  readonly failed: number;
}

/** One point a step, those without queries included, oldest first. */
function series(database: Database, steps: Steps): StatisticsPoint[] {
  const { sinceMs, untilMs, stepMinutes } = steps;
  const found = database
    .prepare<number[], StepRow>(
      `SELECT CAST((minute - ?) / ? AS INTEGER) AS step, sum(queries) AS queries, sum(blocked) AS blocked,
         sum(cached) AS cached, sum(failed) AS failed
       FROM minutes WHERE minute >= ? AND minute < ? GROUP BY step`,
    )
    .all(sinceMs / MS_PER_MINUTE, stepMinutes, sinceMs / MS_PER_MINUTE, untilMs / MS_PER_MINUTE);
  const stepMs = stepMinutes * MS_PER_MINUTE;
  const points: StatisticsPoint[] = [];
  for (let timeMs = sinceMs; timeMs < untilMs; timeMs += stepMs) {
    points.push({ timeMs, queries: 0, blocked: 0, cached: 0, failed: 0 });
  }
  for (const { step, queries, blocked, cached, failed } of found) {
    const point = points[step];
    if (point !== undefined) Object.assign(point, { queries, blocked, cached, failed });
  }
  return points;
}

function topOfRows(
  database: Database,
  sinceMs: number,
  untilMs: number,
  endMs: number,
): Pick<StatisticsResult, 'topBlocked' | 'topClients'> {
  const rows = 'FROM queries WHERE id >= ? AND id < ? AND time_ms >= ? AND time_ms < ?';
  const blocked = new Tally(
    database.prepare(
      `SELECT name AS text, count(*) AS count ${rows} AND outcome = ${OUTCOME.blocked} GROUP BY name`,
    ),
  );
  const clients = new Tally(
    database.prepare(`SELECT client AS text, count(*) AS count ${rows} GROUP BY client`),
  );
  const span = rowSpan(database, { sinceMs, untilMs: untilMs - 1 });
  walkNewestFirst(span, endMs, (piece) => {
    blocked.add(piece, sinceMs, untilMs);
    clients.add(piece, sinceMs, untilMs);
    return true;
  });
  return {
    topBlocked: blocked.top().map(([name, count]) => ({ name, count })),
    topClients: clients.top().map(([client, count]) => ({ client, clientName: '', count })),
  };
}

/**
 * Distinct names of a span of time, the most asked for first. Read backwards within a time limit, as
 * the top lists are. Called in the reader thread.
 *
 * @throws SqliteError
 */
export function usedNames(
  database: Database,
  { sinceMs, limit }: UsedNamesArguments,
  endMs: number,
): string[] {
  const sql = `SELECT name AS text, count(*) AS count FROM queries
    WHERE id >= ? AND id < ? AND time_ms >= ? AND time_ms < ? GROUP BY name`;
  const tally = new Tally(database.prepare(sql), limit * 2);
  walkNewestFirst(rowSpan(database, { sinceMs, untilMs: undefined }), endMs, (piece) => {
    tally.add(piece, sinceMs, Number.MAX_SAFE_INTEGER);
    return true;
  });
  return tally.top(limit).map(([name]) => name);
}

/** Counts by text over many pieces of the table, in bounded memory. */
class Tally {
  readonly #statement: Statement<number[], { text: string; count: number }>;
  readonly #namesMax: number;
  #counts = new Map<string, number>();

  constructor(statement: Statement, namesMax = TALLY_NAMES_MAX) {
    this.#statement = statement as Statement<number[], { text: string; count: number }>;
    this.#namesMax = namesMax;
  }

  add(piece: RowSpan, sinceMs: number, untilMs: number): void {
    for (const row of this.#statement.iterate(piece.low, piece.high, sinceMs, untilMs)) {
      this.#counts.set(row.text, (this.#counts.get(row.text) ?? 0) + row.count);
    }
    // A name among the ten most frequent is hardly ever among the rarest half of this many.
    if (this.#counts.size > this.#namesMax) {
      this.#counts = new Map(sorted(this.#counts).slice(0, this.#namesMax / 2));
    }
  }

  /** The most frequent first; equal counts by text. */
  top(rows = TOP_ROWS): [string, number][] {
    return sorted(this.#counts).slice(0, rows);
  }
}

function sorted(counts: ReadonlyMap<string, number>): [string, number][] {
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}
