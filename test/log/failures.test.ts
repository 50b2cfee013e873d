import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { databasePath, walFileBytes } from '../../main/log/database.ts';
import { SCHEMA_VERSION } from '../../main/log/migrations.ts';
import type { OpenLog } from './fixtures.ts';
import {
  countRows,
  countStatistics,
  facts,
  openLog,
  otherConnection,
  smallDisk,
  startChild,
  temporaryDirectory,
  until,
} from './fixtures.ts';

/** Pushes records and returns the longest time that one push took, milliseconds. */
function pushMany(ring: OpenLog['ring'], count: number): number {
  let longestMs = 0;
  const record = facts('query.example');
  for (let index = 0; index < count; index++) {
    record.durationUs = index;
    const begunMs = performance.now();
    ring.push(record);
    longestMs = Math.max(longestMs, performance.now() - begunMs);
  }
  return longestMs;
}

test('a database locked for 5 s: no push waits, and every record is stored or counted', async (t) => {
  const { log, ring, directory } = await openLog(t);
  const child = await startChild('lock-holder.ts', databasePath(directory));
  t.after(() => child.kill());
  const longestMs = pushMany(ring, 10_000);
  assert.ok(longestMs < 500, `one push took ${longestMs} ms`);
  assert.equal(ring.depth, 4_096, 'exactly the slots are kept while the writer is stalled');
  assert.equal(ring.dropped, 10_000 - 4_096);
  assert.equal(log.state.state, 'ok', 'a short lock is nothing to tell');
  await until('health tells of it', () => log.state.state === 'degraded');
  assert.match(log.state.reasons.join(), /another program has locked its database/);
  await sleep(3_500);
  assert.equal(log.state.stored, 0);

  const released = new Promise((resolve) => child.once('exit', resolve));
  child.send('release');
  await released;
  await until('all is stored', () => log.state.stored === 4_096);
  await until('health is well again', () => log.state.state === 'ok');
  assert.equal(log.state.stored + ring.dropped, 10_000);
  assert.equal(log.state.dropped, 0);
  const database = otherConnection(t, directory);
  assert.equal(countRows(database), 4_096);
  assert.equal(countStatistics(database), 4_096);
  assert.equal(log.state.batches, log.state.statisticsUpdates);
});

test('locks that come and go: nothing is lost, stored twice or out of order', async (t) => {
  const { log, ring, directory } = await openLog(t, { slots: 700 });
  ring.push(facts('first.example', { durationUs: 0 }));
  await until('the database is there', () => log.state.stored === 1);
  const other = otherConnection(t, directory);
  const record = facts('query.example');
  let pushed = 1;
  for (let round = 0; round < 25; round++) {
    other.exec('BEGIN IMMEDIATE');
    for (let index = 0; index < 10 + round * 13; index++) {
      record.durationUs = pushed++;
      ring.push(record);
    }
    await sleep((round * 37) % 90);
    other.exec('COMMIT');
    await sleep((round * 53) % 70);
  }
  await log.close();
  assert.equal(log.state.stored + ring.dropped, pushed);
  assert.equal(log.state.dropped, 0);
  const numbers = other.prepare('SELECT duration_us FROM queries ORDER BY id').pluck().all();
  assert.equal(numbers.length, log.state.stored);
  for (let index = 1; index < numbers.length; index++) {
    assert.ok((numbers[index] as number) > (numbers[index - 1] as number));
  }
  assert.equal(countStatistics(other), log.state.stored);
});

test('closing under a lock ends in time and counts what is lost', async (t) => {
  const { log, ring, directory } = await openLog(t);
  const child = await startChild('lock-holder.ts', databasePath(directory));
  t.after(() => child.kill());
  pushMany(ring, 5_000);
  const begunMs = performance.now();
  await log.close();
  const tookMs = performance.now() - begunMs;
  assert.ok(tookMs < 3_300, `took ${tookMs} ms`);
  assert.equal(log.state.stored + log.state.dropped + ring.dropped, 5_000);
  assert.deepEqual([log.state.stored, log.state.dropped], [0, 4_096]);
});

test('live rows go on while the database is locked, even with the ring full', async (t) => {
  const { log, ring, directory, live } = await openLog(t);
  log.setLive(true);
  const child = await startChild('lock-holder.ts', databasePath(directory));
  t.after(() => child.kill());
  let pushed = 0;
  const push = (count: number): void => {
    for (let index = 0; index < count; index++) ring.push(facts(`n${pushed++}.example`));
  };
  const shown = (): number =>
    live.reduce((sum, { rows, leftOut }) => sum + rows.length + leftOut, 0);
  push(4_096);
  await until('the queued rows were shown', () => shown() === 4_096);
  push(10);
  await until('dropped rows are shown as well', () => shown() === 4_106);
  assert.deepEqual(
    live.at(-1)?.rows.map((row) => row.name),
    Array.from({ length: 10 }, (_, index) => `n${4_096 + index}.example`),
  );
  assert.deepEqual(new Set(live.at(-1)?.rows.map((row) => row.id)), new Set([0]));
  child.send('release');
  await until('the queue is stored', () => log.state.stored === 4_096);
  await sleep(300);
  assert.equal(shown(), 4_106, 'nothing is shown twice');
});

test('a full disk: degraded with the reason, nothing lost uncounted, well again with room', async (t) => {
  const disk = smallDisk(t, '2m');
  if ('missing' in disk) {
    t.skip(disk.missing);
    return;
  }
  const { log, ring } = await openLog(t, { directory: disk.directory });
  let pushed = 0;
  await until('the disk is full', () => {
    pushMany(ring, 200);
    pushed += 200;
    return log.state.state === 'degraded';
  });
  assert.match(log.state.reasons.join(), /the disk that holds .* is full/);
  pushMany(ring, 10_000);
  pushed += 10_000;
  await until('the ring is full', () => ring.depth === 4_096);
  assert.equal(log.state.stored + ring.depth + ring.dropped, pushed);

  disk.remount('size=32m');
  await until('all is stored', () => ring.depth === 0);
  await until('health is well again', () => log.state.state === 'ok');
  assert.equal(log.state.stored + ring.dropped, pushed);
  await log.close();
  const database = otherConnection(t, disk.directory);
  assert.equal(countRows(database), log.state.stored);
  assert.equal(countStatistics(database), log.state.stored);
  assert.equal(database.pragma('integrity_check', { simple: true }), 'ok');
});

test('closing on a full disk counts what is lost', async (t) => {
  const disk = smallDisk(t, '1m');
  if ('missing' in disk) {
    t.skip(disk.missing);
    return;
  }
  const { log, ring } = await openLog(t, { directory: disk.directory });
  let pushed = 0;
  await until('the disk is full', () => {
    pushMany(ring, 200);
    pushed += 200;
    return log.state.state === 'degraded';
  });
  await log.close();
  assert.ok(log.state.dropped > 0);
  assert.equal(log.state.stored + log.state.dropped + ring.dropped, pushed);
});

test('a read-only disk: degraded with the reason, stored when it can be written', async (t) => {
  const disk = smallDisk(t, '8m');
  if ('missing' in disk) {
    t.skip(disk.missing);
    return;
  }
  disk.remount('ro');
  const directory = join(disk.directory, 'log');
  const { log, ring } = await openLog(t, { directory });
  assert.equal(log.state.state, 'degraded');
  assert.match(log.state.reasons.join(), /is read-only \(EROFS\)/);
  pushMany(ring, 100);
  disk.remount('rw');
  await until('all is stored', () => log.state.stored === 100);
  await until('health is well again', () => log.state.state === 'ok');
});

test('an existing database on a disk that became read-only', async (t) => {
  const disk = smallDisk(t, '8m');
  if ('missing' in disk) {
    t.skip(disk.missing);
    return;
  }
  const first = await openLog(t, { directory: disk.directory });
  pushMany(first.ring, 10);
  await first.log.close();
  disk.remount('ro');
  const { log, ring } = await openLog(t, { directory: disk.directory });
  assert.equal(log.state.state, 'degraded');
  assert.match(log.state.reasons.join(), /is read-only/);
  pushMany(ring, 10);
  disk.remount('rw');
  await until('all is stored', () => log.state.stored === 10);
  assert.equal(countRows(otherConnection(t, disk.directory)), 20);
});

test('a folder that cannot be made: a file is in the way', async (t) => {
  const parent = temporaryDirectory(t);
  const directory = join(parent, 'log');
  writeFileSync(directory, 'in the way');
  const { log, ring } = await openLog(t, { directory });
  assert.equal(log.state.state, 'degraded');
  pushMany(ring, 3);
  rmSync(directory);
  await until('all is stored', () => log.state.stored === 3);
  await until('health is well again', () => log.state.state === 'ok');
});

test('a file that is no database is set aside whole, and health tells of it', async (t) => {
  const directory = temporaryDirectory(t);
  const garbage = Buffer.alloc(20_000, 'not a database ');
  writeFileSync(databasePath(directory), garbage);
  writeFileSync(`${databasePath(directory)}-wal`, 'old wal');
  const { log, ring } = await openLog(t, { directory });
  pushMany(ring, 300);
  await until('records are stored', () => log.state.stored === 300);
  const aside = readdirSync(directory).filter((name) => /^queries-corrupt-.*\.db$/.test(name));
  assert.equal(aside.length, 1);
  assert.deepEqual(readFileSync(join(directory, aside[0] as string)), garbage);
  assert.equal(log.state.state, 'degraded');
  assert.match(log.state.reasons.join(), /was damaged and is kept as queries-corrupt-/);
  assert.match(log.state.notices.join(), new RegExp(aside[0] as string));
});

test('damage inside a database is noticed, the file set aside, and nothing queued is lost', async (t) => {
  const directory = temporaryDirectory(t);
  const first = await openLog(t, { directory });
  pushMany(first.ring, 4_000);
  await first.log.close();
  const path = databasePath(directory);
  const bytes = readFileSync(path);
  // All but the header and the schema: the trees of both tables.
  bytes.fill(0xa5, 4_096);
  writeFileSync(path, bytes);
  const { log, ring } = await openLog(t, { directory });
  pushMany(ring, 500);
  await until('records are stored', () => log.state.stored === 500);
  assert.equal(countRows(otherConnection(t, directory)), 500);
  assert.equal(readdirSync(directory).filter((name) => name.endsWith('.db')).length, 2);
});

test('a database of a newer version is set aside as it is', async (t) => {
  const directory = temporaryDirectory(t);
  const newer = new Sqlite(databasePath(directory));
  newer.exec('CREATE TABLE future (x); INSERT INTO future VALUES (42)');
  newer.pragma(`user_version = ${SCHEMA_VERSION + 1}`);
  newer.close();
  const before = readFileSync(databasePath(directory));
  const { log, ring } = await openLog(t, { directory });
  pushMany(ring, 1);
  await until('it is stored', () => log.state.stored === 1);
  const aside = readdirSync(directory).find((name) => name.startsWith('queries-newer-')) as string;
  assert.deepEqual(readFileSync(join(directory, aside)), before);
  assert.match(log.state.reasons.join(), /was written by a newer version/);
});

test('a database deleted under our feet is made anew', async (t) => {
  const { log, ring, directory } = await openLog(t);
  pushMany(ring, 256);
  await until('the first batch is stored', () => log.state.stored === 256);
  rmSync(directory, { recursive: true });
  await sleep(1_100);
  pushMany(ring, 256);
  await until('the second batch is stored', () => log.state.stored === 512);
  assert.equal(countRows(otherConnection(t, directory)), 256);
  assert.match(log.state.reasons.join(), /was deleted or replaced while in use/);
});

test('a reader that never ends: the write-ahead log stops at its bound, and goes on after it', async (t) => {
  const { log, ring, directory } = await openLog(t, { settings: { sizeMaxMiB: 20 } });
  pushMany(ring, 1);
  await until('the database is there', () => log.state.stored === 1);
  const reader = otherConnection(t, directory);
  reader.exec('BEGIN');
  assert.equal(countRows(reader), 1);
  await until('health tells of it', () => {
    pushMany(ring, 300);
    return log.state.state === 'degraded';
  });
  assert.match(
    log.state.reasons.join(),
    /another program has been reading its database for too long/,
  );
  const bytes = walFileBytes(directory);
  assert.ok(bytes >= 16 * 1024 * 1024 && bytes < 17 * 1024 * 1024, `${bytes} bytes`);
  const refused = ring.dropped;
  pushMany(ring, 5_000);
  assert.ok(ring.dropped > refused);
  reader.exec('COMMIT');
  await until('all is stored', () => ring.depth === 0);
  await until('health is well again', () => log.state.state === 'ok');
  assert.equal(log.state.stored, ring.pushed);
  assert.ok(walFileBytes(directory) < 4 * 1024 * 1024);
});

test('a writer that crashes is started again and stores what is in the ring', async (t) => {
  const { log, ring, directory } = await openLog(t, {
    writerEntry: new URL('crashing-writer.ts', import.meta.url),
  });
  pushMany(ring, 1_000);
  await until('it has crashed', () => log.state.restarts === 1);
  assert.equal(log.state.state, 'degraded');
  assert.match(
    log.state.reasons.join(),
    /its writer ended \(crashed on purpose\) and starts again/,
  );
  pushMany(ring, 1_000);
  await until('all is stored', () => log.state.stored === 2_000);
  assert.equal(log.state.state, 'ok');
  assert.equal(countRows(otherConnection(t, directory)), 2_000);
});

test('a writer that cannot even be made is tried again, and nothing else ends', async (t) => {
  // new Worker throws, as it does for want of threads.
  const { log } = await openLog(t, { writerEntry: new URL('https://nowhere.example/') });
  assert.match(log.state.reasons.join(), /its writer ended \(.*\) and starts again/);
  await until('it was tried again', () => log.state.restarts >= 2);
});

test('kill -9 in the middle of writing leaves a database that opens and is whole', async (t) => {
  const directory = temporaryDirectory(t);
  for (let round = 0; round < 5; round++) {
    const child = await startChild('killed-program.ts', directory);
    await sleep(40 + round * 37);
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await gone;
    const database = new Sqlite(databasePath(directory));
    assert.equal(database.pragma('integrity_check', { simple: true }), 'ok');
    assert.equal(countStatistics(database), countRows(database));
    database.close();
  }
  const { log, ring } = await openLog(t, { directory });
  pushMany(ring, 1);
  await until('it is stored', () => log.state.stored === 1);
  assert.equal(log.state.state, 'ok');
  assert.ok(countRows(otherConnection(t, directory)) > 256);
});

test('only the owner can read the log', async (t) => {
  const parent = temporaryDirectory(t);
  const directory = join(parent, 'log');
  mkdirSync(directory);
  const { log, ring } = await openLog(t, { directory });
  pushMany(ring, 1);
  await until('it is stored', () => log.state.stored === 1);
  for (const suffix of ['', '-wal', '-shm']) {
    assert.ok(existsSync(databasePath(directory) + suffix));
    assert.equal(statSync(databasePath(directory) + suffix).mode & 0o077, 0);
  }
});
