/**
 * What the tests of the log share: facts to push, a folder, a log on it, locks, and a small disk.
 */
import { execFileSync, fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import type { Database } from 'better-sqlite3';
import { OUTCOME, REASON } from '../../main/contract/outcome.ts';
import type { QueryEvent } from '../../main/contract/query-event.ts';
import { writeName } from '../../main/dns/name.ts';
import { LIST_ID_NONE } from '../../main/engine/filter/engine-config.ts';
import type { LogFacts } from '../../main/engine/query/ports.ts';
import { databasePath } from '../../main/log/database.ts';
import type { LogSettings } from '../../main/log/messages.ts';
import { QueryLog } from '../../main/log/query-log.ts';
import { LogRing } from '../../main/log/ring.ts';

/** Facts about one answer; names in presentation form. */
export function facts(name: string, changes: Partial<LogFacts> = {}): LogFacts {
  const bytes = new Uint8Array(255);
  return {
    timeMs: Date.now(),
    address: ipv4(192, 168, 1, 7),
    transport: 'udp',
    name: bytes,
    nameLength: writeName(name, bytes, 0),
    type: 1,
    qclass: 1,
    rcode: 0,
    outcome: OUTCOME.forwarded,
    reason: REASON.none,
    listId: LIST_ID_NONE,
    matchedLabels: 0,
    matched: new Uint8Array(0),
    matchedLength: 0,
    upstream: -1,
    durationUs: 1_000,
    ...changes,
  };
}

export function ipv4(a: number, b: number, c: number, d: number): Uint8Array {
  return new Uint8Array([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, a, b, c, d]);
}

/** A folder of the test's own, removed afterwards. */
export function temporaryDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-log-'));
  t.after(() => {
    rmSync(directory, { recursive: true, force: true });
  });
  return directory;
}

export const SETTINGS: LogSettings = { mode: 'full', retentionDays: 30, sizeMaxMiB: 512 };

/** A log with one ring, and what it told. */
export interface OpenLog {
  readonly log: QueryLog;
  readonly ring: LogRing;
  readonly directory: string;
  readonly live: { rows: QueryEvent[]; leftOut: number; atMs: number }[];
}

/** Opens a log and closes it after the test. */
export async function openLog(
  t: TestContext,
  options: {
    directory?: string;
    slots?: number;
    settings?: Partial<LogSettings>;
    writerEntry?: URL;
  } = {},
): Promise<OpenLog> {
  const directory = options.directory ?? temporaryDirectory(t);
  const buffer = LogRing.createBuffer(options.slots ?? 4_096);
  const live: OpenLog['live'] = [];
  const log = await QueryLog.open({
    directory,
    settings: { ...SETTINGS, ...options.settings },
    rings: [buffer],
    onLive: (rows, leftOut) => live.push({ rows, leftOut, atMs: performance.now() }),
    onState: () => undefined,
    ...(options.writerEntry === undefined ? {} : { writerEntry: options.writerEntry }),
  });
  t.after(() => log.close());
  return { log, ring: new LogRing(buffer), directory, live };
}

/**
 * Waits for something another thread or process does; fails after `timeMs`.
 *
 * @returns  the longest time that this thread itself was late, milliseconds: on a busy machine the
 *           others were as well
 */
export async function until(what: string, check: () => boolean, timeMs = 20_000): Promise<number> {
  const endMs = performance.now() + timeMs;
  let latestMs = 0;
  while (!check()) {
    const begunMs = performance.now();
    if (begunMs > endMs) throw new Error(`waited ${timeMs} ms in vain until ${what}`);
    await sleep(2);
    latestMs = Math.max(latestMs, performance.now() - begunMs - 2);
  }
  return latestMs;
}

/** A second connection to the log database, as another program would have it. */
export function otherConnection(t: TestContext, directory: string): Database {
  const database = new Sqlite(databasePath(directory), { timeout: 5_000 });
  t.after(() => database.close());
  return database;
}

export function countRows(database: Database): number {
  return database.prepare('SELECT count(*) FROM queries').pluck().get() as number;
}

/** Sums of the statistics table; to be compared with the rows. */
export function countStatistics(database: Database): number {
  return (database.prepare('SELECT sum(queries) FROM minutes').pluck().get() as number | null) ?? 0;
}

/**
 * A disk of its own for the test, or the reason why there can be none.
 *
 * @returns  the mount point; `remount` changes its options, e.g. 'ro' or 'size=4m'
 */
export function smallDisk(
  t: TestContext,
  size: string,
): { directory: string; remount(options: string): void } | { missing: string } {
  if (process.platform !== 'linux') return { missing: 'needs Linux, for a small tmpfs' };
  if (process.getuid?.() !== 0) return { missing: 'needs root, to mount a small tmpfs' };
  const directory = mkdtempSync(join(tmpdir(), 'sluice-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', directory]);
  } catch {
    rmSync(directory, { recursive: true });
    return { missing: 'needs the right to mount a tmpfs (not given in this container)' };
  }
  t.after(() => {
    execFileSync('umount', ['-l', directory]);
    rmSync(directory, { recursive: true });
  });
  return {
    directory,
    remount: (options) => {
      execFileSync('mount', ['-o', `remount,${options}`, directory]);
    },
  };
}

/** Starts another Node process on a file of this folder and waits for its first message. */
export async function startChild(file: string, argument: string): Promise<ChildProcess> {
  const child = fork(join(import.meta.dirname, file), [argument], { stdio: 'inherit' });
  await new Promise<void>((resolve, reject) => {
    child.once('message', () => {
      resolve();
    });
    child.once('exit', (code) => {
      reject(new Error(`${file} ended with ${code} before it was ready`));
    });
  });
  return child;
}
