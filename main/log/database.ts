/**
 * Opens the log database, sets a bad one aside, and measures it on disk.
 *
 * One connection per thread: the writer's (writer-thread.ts) and a read-only one (reader-thread.ts).
 */
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  renameSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import type { Database } from 'better-sqlite3';
import { developmentVariable } from '../contract/installed.ts';
import { migrate, NewerVersionError, schemaVersion, SCHEMA_VERSION } from './migrations.ts';
import type { WalBounds } from './wal-bounds.ts';

/** The database's file name below the log directory. */
export const DATABASE_NAME = 'queries.db';

/** The database file and what SQLite keeps beside it. */
const SUFFIXES = ['', '-wal', '-shm'] as const;

/** How long SQLite itself waits for a lock; above that the writer's own retry takes over. */
const BUSY_MS = 20;
/** Page cache of the writer: the right edge of two tables, no more. */
const WRITER_CACHE_KIB = 1_024;
const READER_CACHE_KIB = 4_096;
/** Where the database lies. */
export function databasePath(directory: string): string {
  return join(directory, DATABASE_NAME);
}

/**
 * Opens the database for writing, creating folder, file (readable by the owner only) and schema.
 *
 * @throws SqliteError or a file system error as they come (failure.ts); NewerVersionError
 */
export function openForWriting(directory: string): Database {
  makeDirectory(directory);
  const path = databasePath(directory);
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600));
  const database = connect(path, false);
  try {
    const version = schemaVersion(database);
    if (version > SCHEMA_VERSION) throw new NewerVersionError(version);
    // Takes effect on a new file only; must come before anything is written.
    database.pragma('auto_vacuum = INCREMENTAL');
    database.pragma('journal_mode = WAL');
    database.pragma('synchronous = NORMAL');
    database.pragma(`cache_size = -${WRITER_CACHE_KIB}`);
    migrate(database);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Opens the database read-only. Throws SqliteError, SQLITE_CANTOPEN when there is no file. */
export function openForReading(directory: string): Database {
  const database = connect(databasePath(directory), true);
  database.pragma(`cache_size = -${READER_CACHE_KIB}`);
  return database;
}

/** Tells SQLite the bounds of its write-ahead log. */
export function applyWalBounds(database: Database, bounds: WalBounds): void {
  database.pragma(`wal_autocheckpoint = ${bounds.checkpointPages}`);
  database.pragma(`journal_size_limit = ${bounds.checkpointBytes}`);
}

/** Which files lie at the database's path; "" for one that does not exist. */
export interface FileIdentity {
  readonly file: string;
  readonly wal: string;
}

/** Looks the files up: a part changes when a file was deleted or replaced. */
export function fileIdentity(directory: string): FileIdentity {
  const path = databasePath(directory);
  return { file: identityOf(path), wal: identityOf(`${path}-wal`) };
}

function identityOf(path: string): string {
  const file = statSync(path, { throwIfNoEntry: false });
  return file === undefined ? '' : `${file.dev}:${file.ino}`;
}

/** Bytes of the write-ahead log file; 0 when there is none. */
export function walFileBytes(directory: string): number {
  return statSync(`${databasePath(directory)}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}

/**
 * Renames the database and its companions to queries-<why>-<time>.db, -wal, -shm. Nothing is ever
 * deleted. The connection must be closed.
 *
 * @returns  the new name of the database file
 * @throws   a file system error when the folder cannot be written
 */
export function setAside(directory: string, why: 'corrupt' | 'newer', nowMs: number): string {
  const time = new Date(nowMs).toISOString().slice(0, 19).replaceAll(':', '-');
  let name = `queries-${why}-${time}.db`;
  for (let copy = 2; existsSync(join(directory, name)); copy++) {
    name = `queries-${why}-${time}-${copy}.db`;
  }
  const from = databasePath(directory);
  const to = join(directory, name);
  for (const suffix of SUFFIXES) {
    if (!existsSync(from + suffix)) continue;
    renameSync(from + suffix, to + suffix);
    chmodSync(to + suffix, 0o600);
  }
  return name;
}

/** Whether a file name is one that `setAside` gave. */
export function isSetAside(name: string): boolean {
  return /^queries-(corrupt|newer)-.*\.db$/.test(name);
}

/** Makes the folder; the data folder above it is there, or cannot be made either. */
function makeDirectory(directory: string): void {
  if (!existsSync(directory)) mkdirSync(directory, { mode: 0o700 });
}

function connect(path: string, readonly: boolean): Database {
  // A runtime that the packaged binding does not fit brings its own (Electron in tests).
  const nativeBinding = developmentVariable('SLUICE_SQLITE_BINDING');
  return new Sqlite(path, {
    readonly,
    fileMustExist: true,
    timeout: BUSY_MS,
    ...(nativeBinding === undefined || nativeBinding === '' ? {} : { nativeBinding }),
  });
}
