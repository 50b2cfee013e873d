/**
 * The log database as the writer has it: opened when needed, replaced when it is damaged, from a
 * newer program, or deleted under our feet.
 *
 * Used by writer.ts, which decides when to try again. Everything here is synchronous and throws
 * what SQLite or the file system threw; failure.ts sorts it.
 */
import { readdirSync } from 'node:fs';
import type { Database } from 'better-sqlite3';
import type { Batch } from './batch.ts';
import { BatchStatements } from './batch-statements.ts';
import type { FileIdentity } from './database.ts';
import {
  applyWalBounds,
  fileIdentity,
  isSetAside,
  openForWriting,
  setAside,
  walFileBytes,
} from './database.ts';
import type { LogSettings } from './messages.ts';
import type { RecordNames } from './record.ts';
import { RetentionRun, RetentionStatements } from './retention.ts';
import { SteadyClock } from './steady-clock.ts';
import type { RetentionBounds } from './retention.ts';
import type { StatusBlock } from './status-block.ts';
import { walBounds } from './wal-bounds.ts';

/** How often the file is looked for at its path. */
const IDENTITY_CHECK_MS = 1_000;
/** How long health tells of a database that was replaced. */
const EVENT_TOLD_MS = 10 * 60_000;
/** Events remembered; more in ten minutes say nothing new. */
const EVENTS_MAX = 4;

/** Thrown when a long reader keeps the write-ahead log from starting over at its bound. */
export class WalHeldError extends Error {
  readonly code = 'WAL_HELD';
}

/** What a store needs. */
const MS_PER_DAY = 86_400_000;

export interface LogStoreOptions {
  readonly directory: string;
  readonly settings: LogSettings;
  readonly status: StatusBlock;
  /** Wall clock, milliseconds since 1970. */
  readonly now: () => number;
  /** Time since any origin, which setting the clock does not change; for tests. */
  readonly elapsedMs?: () => number;
  /** `recentEvents` says something new. */
  readonly onEvent: () => void;
}

interface Open {
  readonly database: Database;
  readonly batches: BatchStatements;
  readonly retention: RetentionStatements;
  readonly identity: FileIdentity;
}

/** The writer's one connection and what hangs on it. Thread: the writer's. */
export class LogStore {
  readonly #directory: string;
  readonly #status: StatusBlock;
  readonly #now: () => number;
  readonly #clock: SteadyClock;
  readonly #onEvent: () => void;
  readonly #events: { readonly text: string; readonly atMs: number }[] = [];
  #bounds: RetentionBounds;
  #open: Open | null = null;
  #run: RetentionRun | null = null;
  #identityCheckedMs = -Infinity;

  constructor(options: LogStoreOptions) {
    this.#directory = options.directory;
    this.#status = options.status;
    this.#now = options.now;
    this.#clock = new SteadyClock(options.now, options.elapsedMs);
    this.#onEvent = options.onEvent;
    this.#bounds = retentionBounds(options.settings);
  }

  /** Opens the database unless it is open. */
  open(): void {
    this.#opened();
  }

  /** Whether the log takes more than its bound. */
  get isOverBound(): boolean {
    return this.#status.get('bytes') > this.#bounds.sizeMaxBytes;
  }

  setSettings(settings: LogSettings): void {
    this.#bounds = retentionBounds(settings);
    if (this.#open !== null) applyWalBounds(this.#open.database, this.#bounds.wal);
  }

  /** Stores one batch. Returns the id of its last row. */
  append(batch: Batch, names: RecordNames): number {
    const open = this.#opened();
    if (this.#status.get('walBytes') > this.#bounds.wal.bytesMax) this.#shortenWal(open);
    const lastId = open.batches.store(batch, names);
    this.#measure(open);
    return lastId;
  }

  /** Whether a retention run is under way. */
  get isRetaining(): boolean {
    return this.#run !== null;
  }

  /**
   * Begins a retention run; false while the database is not open.
   *
   * @param isAsked  somebody wants it now: then the clock counts, whatever it did lately
   */
  beginRetention(sweeps: boolean, isAsked: boolean): boolean {
    if (this.#open === null) return false;
    const isSure = this.#clock.isSteady || isAsked;
    const nowMs = isSure ? this.#now() : -Infinity;
    this.#run = new RetentionRun(this.#open.retention, this.#bounds, nowMs, sweeps && isSure);
    return true;
  }

  /** One step of the run, a few milliseconds. Returns the number of rows removed. */
  stepRetention(): number {
    const run = this.#run;
    if (run === null) return 0;
    const removedBefore = run.removed;
    if (!run.step()) this.endRetention();
    return run.removed - removedBefore;
  }

  /** Gives up the run, if there is one. */
  endRetention(): void {
    if (this.#run === null) return;
    this.#run = null;
    if (this.#open !== null) this.#measure(this.#open);
  }

  /** Empties the write-ahead log as far as readers let it. */
  checkpoint(): void {
    if (this.#open === null) return;
    this.#open.retention.checkpoint();
    this.#measure(this.#open);
  }

  /** Renames the file and forgets it; the next call opens a new one. Throws when it cannot. */
  replace(why: 'corrupt' | 'newer'): void {
    this.close();
    const name = setAside(this.#directory, why, this.#now());
    const was = why === 'corrupt' ? 'was damaged' : 'was written by a newer version';
    this.#tell(`the log database ${was} and is kept as ${name}; a new one is in use`);
  }

  /** One sentence for each recent replacement; they make health degraded for ten minutes. */
  recentEvents(): string[] {
    const sinceMs = this.#now() - EVENT_TOLD_MS;
    return this.#events.filter((event) => event.atMs > sinceMs).map((event) => event.text);
  }

  /** What lies set aside in the folder, for the status report. */
  notices(): string[] {
    const names = listDirectory(this.#directory).filter(isSetAside).sort();
    const newest = names.at(-1);
    if (newest === undefined) return [];
    const files = names.length === 1 ? 'file' : 'files';
    return [
      `${names.length} older log database ${files} set aside in ${this.#directory}, ` +
        `the newest is ${newest}; delete what you do not need`,
    ];
  }

  /** Closes the connection; the next call opens it again. Never throws. */
  close(): void {
    const open = this.#open;
    this.#open = null;
    this.#run = null;
    if (open === null) return;
    try {
      open.database.close();
    } catch {
      // The connection is given up in any case; what it could not write is still in the ring.
      this.#status.add('failures', 1);
    }
  }

  #opened(): Open {
    const nowMs = this.#now();
    if (Math.abs(nowMs - this.#identityCheckedMs) >= IDENTITY_CHECK_MS) {
      this.#identityCheckedMs = nowMs;
      if (this.#open !== null && !this.#isAtItsPath(this.#open)) this.#giveUpDeleted();
    }
    if (this.#open === null) {
      this.#open = this.#connect();
      const { newestMs } = this.#open.retention;
      this.#clock.found(newestMs.get() ?? null, this.#bounds.retentionDays * MS_PER_DAY);
    }
    return this.#open;
  }

  #connect(): Open {
    const database = openForWriting(this.#directory);
    try {
      applyWalBounds(database, this.#bounds.wal);
      const batches = new BatchStatements(database);
      const retention = new RetentionStatements(database);
      // Touches both ends of the table, so that ordinary damage shows here and not with a batch.
      retention.firstId.get();
      retention.lastId.get();
      const open = { database, batches, retention, identity: fileIdentity(this.#directory) };
      this.#measure(open);
      return open;
    } catch (error) {
      database.close();
      throw error;
    }
  }

  #isAtItsPath(open: Open): boolean {
    const { file, wal } = fileIdentity(this.#directory);
    return file === open.identity.file && (wal === open.identity.wal || open.identity.wal === '');
  }

  #giveUpDeleted(): void {
    this.close();
    this.#tell('the log database was deleted or replaced while in use; it has been opened anew');
  }

  #shortenWal(open: Open): void {
    open.retention.checkpoint();
    this.#measure(open);
    if (this.#status.get('walBytes') <= this.#bounds.wal.bytesMax) return;
    throw new WalHeldError('the write-ahead log is held by a reader');
  }

  #measure(open: Open): void {
    const walBytes = walFileBytes(this.#directory);
    this.#status.set('walBytes', walBytes);
    this.#status.set('bytes', open.retention.fileBytes() + walBytes);
  }

  #tell(text: string): void {
    this.#events.push({ text, atMs: this.#now() });
    if (this.#events.length > EVENTS_MAX) this.#events.shift();
    this.#onEvent();
  }
}

function retentionBounds(settings: LogSettings): RetentionBounds {
  const sizeMaxBytes = settings.sizeMaxMiB * 1024 * 1024;
  return { retentionDays: settings.retentionDays, sizeMaxBytes, wal: walBounds(sizeMaxBytes) };
}

function listDirectory(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    // Only the notice is lost; a folder that cannot be read shows when the database is opened.
    return [];
  }
}
