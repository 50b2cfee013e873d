/**
 * Keeps the log within its age and its bytes, in small steps that the writer puts between batches.
 *
 * A run goes through: rows and minutes beyond the age, oldest rows beyond the bytes, giving pages
 * back to the file system. Each step is one short transaction of at most ROWS_PER_STEP rows, so a
 * run of any length never holds up a batch for more than a few milliseconds.
 */
import type { Database, Statement } from 'better-sqlite3';
import type { WalBounds } from './wal-bounds.ts';

/** Rows deleted in one transaction. */
export const ROWS_PER_STEP = 1_000;

const MS_PER_DAY = 86_400_000;
const MS_PER_MINUTE = 60_000;
/** Pages given back in one step: half a MiB. */
const VACUUM_PAGES = 128;
/** Rows of `minutes`, with their share of the tree. */
const MINUTE_BYTES = 64;

/** What is to be kept. */
export interface RetentionBounds {
  readonly retentionDays: number;
  /** Database and write-ahead log together. */
  readonly sizeMaxBytes: number;
  readonly wal: WalBounds;
}

type Phase = 'age' | 'sweep' | 'bytes' | 'minutes' | 'vacuum' | 'ended';

/** One run. Thread: the writer's, between two transactions. */
export class RetentionRun {
  /** Rows removed so far. */
  removed = 0;
  readonly #statements: RetentionStatements;
  readonly #bounds: RetentionBounds;
  readonly #cutoffMs: number;
  readonly #sweeps: boolean;
  #phase: Phase = 'age';
  #sweptId = 0;
  #shrinks = false;
  #bytesTarget = 0;

  /**
   * @param nowMs   -Infinity: nothing is too old
   * @param sweeps  look at every row, not only from the oldest on: finds old rows behind newer ones,
   *                left by a clock that was wrong
   */
  constructor(
    statements: RetentionStatements,
    bounds: RetentionBounds,
    nowMs: number,
    sweeps: boolean,
  ) {
    this.#statements = statements;
    this.#bounds = bounds;
    this.#cutoffMs = nowMs - bounds.retentionDays * MS_PER_DAY;
    this.#sweeps = sweeps;
  }

  /**
   * Does a few milliseconds of work.
   *
   * @returns  true while there is more to do
   * @throws   SqliteError; the run is then over
   */
  step(): boolean {
    this.#phase = this.#next();
    return this.#phase !== 'ended';
  }

  #next(): Phase {
    switch (this.#phase) {
      case 'age':
        return this.#age();
      case 'sweep':
        return this.#sweep();
      case 'bytes':
        return this.#bytes();
      case 'minutes':
        return this.#minutes();
      case 'vacuum':
        return this.#vacuum();
      case 'ended':
        return 'ended';
    }
  }

  /** Old rows among the oldest; stops at the first step that finds none. */
  #age(): Phase {
    const { changes } = this.#statements.deleteOldest.run(ROWS_PER_STEP, this.#cutoffMs);
    this.removed += changes;
    if (changes > 0) return 'age';
    const cutoffMinute = Math.floor(this.#cutoffMs / MS_PER_MINUTE);
    if (this.#statements.deleteMinutes.run(cutoffMinute, ROWS_PER_STEP).changes > 0) return 'age';
    if (!this.#sweeps) return this.#beginBytes();
    this.#sweptId = (this.#statements.firstId.get() ?? 1) - 1;
    return 'sweep';
  }

  #sweep(): Phase {
    const lastId = this.#statements.lastId.get() ?? 0;
    const from = this.#sweptId;
    if (from >= lastId) return this.#beginBytes();
    this.#sweptId = from + ROWS_PER_STEP;
    if (this.#statements.hasOld.get(from, this.#sweptId, this.#cutoffMs) === undefined)
      return 'sweep';
    this.removed += this.#statements.deleteOld.run(from, this.#sweptId, this.#cutoffMs).changes;
    return 'sweep';
  }

  /**
   * The target leaves room for the write-ahead log and 10 % for what comes until the next run, so
   * that steady logging prunes now and then, not at every tick.
   */
  #beginBytes(): Phase {
    const { sizeMaxBytes, wal } = this.#bounds;
    const room = sizeMaxBytes - wal.checkpointBytes;
    this.#bytesTarget = room * 0.9;
    this.#shrinks = this.#statements.fileBytes() > room;
    return this.#statements.usedBytes() > room * 0.97 ? 'minutes' : 'vacuum';
  }

  /** Statistics may take an eighth of the bound: 30 days need 3 MiB. */
  #minutes(): Phase {
    const rows = this.#statements.countMinutes.get() ?? 0;
    if (rows * MINUTE_BYTES <= this.#bounds.sizeMaxBytes / 8) return 'bytes';
    const { changes } = this.#statements.deleteMinutes.run(Number.MAX_SAFE_INTEGER, ROWS_PER_STEP);
    return changes > 0 ? 'minutes' : 'bytes';
  }

  #bytes(): Phase {
    if (this.#statements.usedBytes() <= this.#bytesTarget) return 'vacuum';
    const { changes } = this.#statements.deleteFirst.run(ROWS_PER_STEP);
    this.removed += changes;
    return changes > 0 ? 'bytes' : 'vacuum';
  }

  /** Free pages beyond a fifth of the file go back; fewer will be used again soon. */
  #vacuum(): Phase {
    const { pages, free } = this.#statements.pages();
    const keep = this.removed > 0 || this.#shrinks ? pages / 20 : pages / 5;
    if (free > Math.max(keep, VACUUM_PAGES / 2)) {
      this.#statements.vacuum(VACUUM_PAGES);
      return this.#statements.pages().free < free ? 'vacuum' : this.#finish();
    }
    return this.#finish();
  }

  #finish(): Phase {
    // The file itself becomes shorter when its pages are copied back from the write-ahead log.
    if (this.removed > 0) this.#statements.checkpoint();
    return 'ended';
  }
}

/** The statements of one connection. */
export class RetentionStatements {
  readonly deleteOldest: Statement<[number, number]>;
  readonly deleteOld: Statement<[number, number, number]>;
  readonly deleteFirst: Statement<[number]>;
  readonly deleteMinutes: Statement<[number, number]>;
  readonly hasOld: Statement<[number, number, number], number>;
  readonly firstId: Statement<[], number | null>;
  readonly lastId: Statement<[], number | null>;
  /** Of the row that was written last; its time may be that of a wrong clock. */
  readonly newestMs: Statement<[], number>;
  readonly countMinutes: Statement<[], number>;
  readonly #database: Database;
  readonly #pageCount: Statement<[], number>;
  readonly #freeCount: Statement<[], number>;
  readonly #pageBytes: number;

  constructor(database: Database) {
    this.#database = database;
    this.deleteOldest = database.prepare(`DELETE FROM queries WHERE id IN (
      SELECT id FROM (SELECT id, time_ms FROM queries ORDER BY id LIMIT ?) WHERE time_ms < ?)`);
    this.deleteOld = database.prepare(
      'DELETE FROM queries WHERE id > ? AND id <= ? AND time_ms < ?',
    );
    this.deleteFirst = database.prepare(
      'DELETE FROM queries WHERE id IN (SELECT id FROM queries ORDER BY id LIMIT ?)',
    );
    this.deleteMinutes = database.prepare(`DELETE FROM minutes WHERE minute IN (
      SELECT minute FROM minutes WHERE minute < ? ORDER BY minute LIMIT ?)`);
    this.hasOld = plucked(
      database,
      'SELECT 1 FROM queries WHERE id > ? AND id <= ? AND time_ms < ? LIMIT 1',
    );
    this.firstId = plucked(database, 'SELECT min(id) FROM queries');
    this.lastId = plucked(database, 'SELECT max(id) FROM queries');
    this.newestMs = plucked(database, 'SELECT time_ms FROM queries ORDER BY id DESC LIMIT 1');
    this.countMinutes = plucked(database, 'SELECT count(*) FROM minutes');
    this.#pageCount = plucked(database, 'PRAGMA page_count');
    this.#freeCount = plucked(database, 'PRAGMA freelist_count');
    this.#pageBytes = database.pragma('page_size', { simple: true }) as number;
  }

  /** Pages of the database, those in the write-ahead log included, and how many of them are free. */
  pages(): { pages: number; free: number } {
    return { pages: this.#pageCount.get() ?? 0, free: this.#freeCount.get() ?? 0 };
  }

  /** Bytes of the database that hold something. */
  usedBytes(): number {
    const { pages, free } = this.pages();
    return (pages - free) * this.#pageBytes;
  }

  /** Bytes of the database, free pages included. */
  fileBytes(): number {
    return (this.#pageCount.get() ?? 0) * this.#pageBytes;
  }

  /** Moves up to `pages` free pages to the end and cuts them off. */
  vacuum(pages: number): void {
    this.#database.pragma(`incremental_vacuum(${pages})`);
  }

  /** Copies the write-ahead log back and empties it, unless somebody reads from it. */
  checkpoint(): void {
    this.#database.pragma('wal_checkpoint(TRUNCATE)');
  }
}

function plucked<Parameters extends unknown[], Result>(
  database: Database,
  sql: string,
): Statement<Parameters, Result> {
  const statement = database.prepare<Parameters, Result>(sql);
  statement.pluck();
  return statement as unknown as Statement<Parameters, Result>;
}
