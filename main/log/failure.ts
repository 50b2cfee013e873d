/**
 * What went wrong with the log database, in words a person can act on, and how soon to try again.
 *
 * Called by the writer (writer.ts) and the reader (reader-thread.ts) with whatever SQLite or the
 * file system threw.
 */
import { accessSync, constants, statfsSync } from 'node:fs';
import { NewerVersionError } from './migrations.ts';

export type FailureKind =
  | 'locked' // another program holds the database
  | 'reader' // another program reads an old state for so long that the log cannot be tidied
  | 'full' // no room on the disk
  | 'unwritable' // file or folder is read-only, or may not be opened
  | 'corrupt' // not a database, or a damaged one
  | 'newer' // written by a newer program
  | 'other';

/** How the writer reacts to a kind of failure. */
export interface FailureRule {
  /** First and longest wait before the next attempt; doubled in between. */
  readonly retryMs: number;
  readonly retryMaxMs: number;
  /** How long it may last before health says degraded. */
  readonly tellAfterMs: number;
  /** Whether the next attempt needs a new connection. */
  readonly reopen: boolean;
}

export const FAILURE_RULES: Readonly<Record<FailureKind, FailureRule>> = {
  locked: { retryMs: 25, retryMaxMs: 250, tellAfterMs: 1_000, reopen: false },
  reader: { retryMs: 250, retryMaxMs: 1_000, tellAfterMs: 0, reopen: false },
  full: { retryMs: 500, retryMaxMs: 4_000, tellAfterMs: 0, reopen: false },
  unwritable: { retryMs: 500, retryMaxMs: 4_000, tellAfterMs: 0, reopen: true },
  corrupt: { retryMs: 500, retryMaxMs: 30_000, tellAfterMs: 0, reopen: true },
  newer: { retryMs: 500, retryMaxMs: 30_000, tellAfterMs: 0, reopen: true },
  other: { retryMs: 500, retryMaxMs: 8_000, tellAfterMs: 0, reopen: true },
};

/** Below this many free bytes a disk counts as full when SQLite is not specific. */
const FREE_BYTES_MIN = 256 * 1024;

/** Sorts a thrown value by SQLite result code or errno. */
export function failureKind(error: unknown, directory: string): FailureKind {
  if (error instanceof NewerVersionError) return 'newer';
  const code = errorCode(error);
  if (code === 'WAL_HELD') return 'reader';
  // On a full disk SQLite may fail to make room for its shared index instead.
  if (/^SQLITE_(IOERR|CANTOPEN)/.test(code) && isDiskFull(directory)) return 'full';
  if (/^SQLITE_(BUSY|LOCKED)/.test(code)) return 'locked';
  if (/^(SQLITE_FULL|ENOSPC|EDQUOT)/.test(code)) return 'full';
  if (/^(SQLITE_CORRUPT|SQLITE_NOTADB|SQLITE_FORMAT)/.test(code)) return 'corrupt';
  if (/^(SQLITE_READONLY|SQLITE_CANTOPEN|SQLITE_PERM|SQLITE_AUTH)/.test(code)) return 'unwritable';
  if (/^(EACCES|EPERM|EROFS|ENOENT|ENOTDIR|EEXIST|EISDIR)$/.test(code)) return 'unwritable';
  return 'other';
}

/** One plain sentence for the health report, without a full stop. */
export function failureReason(kind: FailureKind, error: unknown, directory: string): string {
  switch (kind) {
    case 'locked':
      return 'the query log is not being stored: another program has locked its database';
    case 'reader':
      return 'the query log is not being stored: another program has been reading its database for too long';
    case 'full':
      return `the query log is not being stored: the disk that holds ${directory} is full`;
    case 'unwritable':
      return `the query log is not being stored: ${directory} ${unwritableText(errorCode(error), directory)}`;
    case 'corrupt':
      return `the query log is not being stored: its database is damaged and cannot be set aside in ${directory}`;
    case 'newer':
      return `the query log is not being stored: its database is of a newer version and cannot be set aside in ${directory}`;
    case 'other':
      return `the query log is not being stored: ${errorText(error)}`;
  }
}

function unwritableText(thrown: string, directory: string): string {
  // SQLite says only that it could not open a file; the system knows why.
  const code = thrown === 'SQLITE_CANTOPEN' ? accessCode(directory, thrown) : thrown;
  if (/^(EROFS|SQLITE_READONLY)/.test(code)) return `is read-only (${code})`;
  if (/^(EACCES|EPERM|SQLITE_PERM|SQLITE_AUTH)/.test(code)) return `may not be written (${code})`;
  return `cannot be written (${code})`;
}

function accessCode(directory: string, otherwise: string): string {
  try {
    accessSync(directory, constants.W_OK);
    return otherwise;
  } catch (error) {
    return errorCode(error);
  }
}

/** SQLite's result code name or the errno name; "" when there is none. */
export function errorCode(error: unknown): string {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : '';
}

function errorText(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  const code = errorCode(error);
  return code === '' ? text : `${text} (${code})`;
}

function isDiskFull(directory: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize < FREE_BYTES_MIN;
  } catch {
    // A folder that cannot be asked is not known to be full.
    return false;
  }
}
