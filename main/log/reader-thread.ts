/**
 * Entry of the log reader's thread: answers searches and statistics from a connection of its own,
 * read-only, so that no report can hold up the writer.
 *
 * Started by reader-client.ts at the first call and ended when idle. One call at a time.
 */
import { constants, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import type { Database } from 'better-sqlite3';
import { AppError, invariant, toWire } from '../contract/errors.ts';
import { LIMITS } from '../contract/limits.ts';
import { fileIdentity, openForReading } from './database.ts';
import { errorCode, failureKind } from './failure.ts';
import type { FromReader, ReaderCall, ReaderCalls, ReaderData, ToReader } from './messages.ts';
import { searchQueries } from './search.ts';
import { queryStatistics, usedNames } from './statistics.ts';

invariant(parentPort !== null, 'the log reader runs in a worker thread');
const port = parentPort;
const { directory } = workerData as ReaderData;

let database: Database | null = null;
let openFile = '';

lowerPriority();

port.on('message', (message: ToReader) => {
  if (message.kind === 'close') {
    database?.close();
    port.close();
    return;
  }
  port.postMessage(answer(message));
});

function answer(message: Exclude<ToReader, { kind: 'close' }>): FromReader {
  const { id } = message;
  const endMs = performance.now() + LIMITS.searchMs;
  try {
    const open = opened();
    return { id, ok: true, value: read(open, message, endMs) };
  } catch (error) {
    // Whatever is wrong with the file, the next call looks again.
    database?.close();
    database = null;
    return { id, ok: false, error: toWire(readable(error)) };
  }
}

function read(
  open: Database,
  message: Exclude<ToReader, { kind: 'close' }>,
  endMs: number,
): ReaderCalls[ReaderCall]['result'] {
  switch (message.kind) {
    case 'search':
      return searchQueries(open, message.arguments, endMs);
    case 'statistics':
      return queryStatistics(open, message.arguments, Date.now(), endMs);
    case 'usedNames':
      return usedNames(open, message.arguments, endMs);
  }
}

/** The connection, made anew when the file at the path is another one. */
function opened(): Database {
  const { file } = fileIdentity(directory);
  if (database !== null && file === openFile) return database;
  database?.close();
  database = openForReading(directory);
  openFile = file;
  return database;
}

/** What SQLite threw as something a person can act on. */
function readable(error: unknown): unknown {
  const code = errorCode(error);
  if (error instanceof AppError || !code.startsWith('SQLITE_')) return error;
  const reasons: Readonly<Record<string, string>> = {
    locked: 'another program has locked its database',
    corrupt: 'its database is damaged',
    unwritable: `its database in ${directory} cannot be opened`,
  };
  const text = error instanceof Error ? error.message : code;
  const reason = reasons[failureKind(error, directory)] ?? text;
  return new AppError('LOG_UNAVAILABLE', `search the query log: ${reason} (${code})`, error);
}

/** Only Linux knows priorities of threads; elsewhere it would be that of the whole process. */
function lowerPriority(): void {
  if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
}
