/**
 * The log database's schema, as numbered steps; `user_version` says how many have been done.
 *
 * Called by the writer thread when it opens the file. Each step has a test of the same number. A step is
 * never changed once released: append another one.
 */
import type { Database } from 'better-sqlite3';

/** Steps in order; step number n brings `user_version` from n-1 to n. */
export const MIGRATIONS: readonly string[] = [
  // 1. Rows, their statistics by minute, and the texts that rows share.
  //
  // No index on time: ids grow with time, and `minutes` maps a span of time to a span of ids.
  // `list` and `upstream` point into `labels` (0: none): settings change, old rows keep the name.
  // `outcome`, `reason`: contract/outcome.ts. `matched_labels`: labels of the suffix that a rule
  // named. `transport`: 0 UDP, 1 TCP.
  `CREATE TABLE queries (
     id INTEGER PRIMARY KEY,
     time_ms INTEGER NOT NULL,
     client TEXT NOT NULL,
     name TEXT NOT NULL,
     type INTEGER NOT NULL,
     outcome INTEGER NOT NULL,
     reason INTEGER NOT NULL,
     rcode INTEGER NOT NULL,
     list INTEGER NOT NULL,
     matched_labels INTEGER NOT NULL,
     upstream INTEGER NOT NULL,
     duration_us INTEGER NOT NULL,
     transport INTEGER NOT NULL
   );
   CREATE TABLE minutes (
     minute INTEGER PRIMARY KEY,
     queries INTEGER NOT NULL,
     forwarded INTEGER NOT NULL,
     cached INTEGER NOT NULL,
     blocked INTEGER NOT NULL,
     local INTEGER NOT NULL,
     failed INTEGER NOT NULL,
     rejected INTEGER NOT NULL,
     stale INTEGER NOT NULL,
     first_id INTEGER NOT NULL,
     last_id INTEGER NOT NULL
   );
   CREATE TABLE labels (
     id INTEGER PRIMARY KEY,
     text TEXT NOT NULL UNIQUE
   );`,
  // 2. The listed name of a row that was blocked because of a name its answer led to (reason
  // cname); '' for all others, whose `matched_labels` tell it.
  `ALTER TABLE queries ADD COLUMN matched_target TEXT NOT NULL DEFAULT '';`,
];

/** The newest version this program knows. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/** Thrown for a file that a newer program wrote. It has not been touched. */
export class NewerVersionError extends Error {
  readonly version: number;

  constructor(version: number) {
    super(`the log database has version ${version}, newer than ${SCHEMA_VERSION}`);
    this.name = 'NewerVersionError';
    this.version = version;
  }
}

/** The schema version of an open file; 0 for an empty one. */
export function schemaVersion(database: Database): number {
  return database.pragma('user_version', { simple: true }) as number;
}

/**
 * Brings the file to `target`, each step in its own transaction.
 *
 * @throws NewerVersionError for a file beyond SCHEMA_VERSION; SqliteError when a step fails
 */
export function migrate(database: Database, target: number = SCHEMA_VERSION): void {
  const version = schemaVersion(database);
  if (version > SCHEMA_VERSION) throw new NewerVersionError(version);
  for (let step = version; step < target; step++) {
    database.exec('BEGIN IMMEDIATE');
    try {
      database.exec(MIGRATIONS[step] as string);
      database.pragma(`user_version = ${step + 1}`);
      database.exec('COMMIT');
    } catch (error) {
      if (database.inTransaction) database.exec('ROLLBACK');
      throw error;
    }
  }
}
