import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../main/contract/limits.ts';
import { OUTCOME } from '../../main/contract/outcome.ts';
import { LogRing } from '../../main/log/ring.ts';
import { QueryLog } from '../../main/log/query-log.ts';
import {
  countRows,
  countStatistics,
  facts,
  openLog,
  otherConnection,
  SETTINGS,
  temporaryDirectory,
  until,
} from './fixtures.ts';

test('one record is stored within 600 ms, in a batch of its own', async (t) => {
  const { log, ring, directory } = await openLog(t);
  const begunMs = performance.now();
  ring.push(facts('one.example'));
  const lateMs = await until('it is stored', () => log.state.stored === 1);
  const tookMs = performance.now() - begunMs - lateMs;
  assert.ok(tookMs + lateMs >= LIMITS.logFlushMs - 20, `it waits for company; took ${tookMs} ms`);
  assert.ok(tookMs <= 600, `took ${tookMs} ms`);
  assert.equal(countRows(otherConnection(t, directory)), 1);
  assert.deepEqual([log.state.batches, log.state.statisticsUpdates], [1, 1]);
});

test('256 records in a burst are stored at once, the 257th waits its time', async (t) => {
  const { log, ring } = await openLog(t);
  const begunMs = performance.now();
  for (let index = 0; index < 257; index++) ring.push(facts(`n${index}.example`));
  let lateMs = await until('a batch is stored', () => log.state.stored > 0);
  assert.ok(performance.now() - begunMs - lateMs < LIMITS.logFlushMs - 100);
  assert.deepEqual([log.state.stored, log.state.batches], [256, 1]);
  lateMs += await until('the rest is stored', () => log.state.stored === 257);
  const tookMs = performance.now() - begunMs;
  assert.ok(tookMs >= LIMITS.logFlushMs - 20, `took ${tookMs} ms`);
  assert.ok(tookMs - lateMs <= 620, `took ${tookMs} ms`);
  assert.equal(log.state.batches, 2);
});

test('10,000 records need 40 batches and no more than time adds', async (t) => {
  const { log, ring, directory } = await openLog(t);
  const begunMs = performance.now();
  for (let index = 0; index < 10_000; index++) {
    while (!ring.push(facts(`n${index}.example`, { outcome: (index % 7) as 0 }))) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  await until('all are stored', () => log.state.stored === 10_000);
  const elapsedMs = performance.now() - begunMs;
  const { batches, statisticsUpdates } = log.state;
  assert.ok(batches >= 40, `${batches} batches`);
  assert.ok(batches <= 40 + Math.floor(elapsedMs / LIMITS.logFlushMs), `${batches} batches`);
  assert.equal(statisticsUpdates, batches);

  const database = otherConnection(t, directory);
  assert.equal(countRows(database), 10_000);
  assert.equal(countStatistics(database), 10_000);
  const wrong = database
    .prepare(
      `SELECT count(*) FROM minutes WHERE queries !=
         forwarded + cached + blocked + local + failed + rejected + stale`,
    )
    .pluck()
    .get();
  assert.equal(wrong, 0);
  const blocked = database
    .prepare('SELECT sum(blocked), (SELECT count(*) FROM queries WHERE outcome = ?) FROM minutes')
    .raw()
    .get(OUTCOME.blocked) as [number, number];
  assert.equal(blocked[0], blocked[1]);
});

test('several rings share one batch, in order of arrival', async (t) => {
  const directory = temporaryDirectory(t);
  const buffers = [0, 1, 2].map(() => LogRing.createBuffer(300));
  const rings = buffers.map((buffer) => new LogRing(buffer));
  const log = await QueryLog.open({
    directory,
    settings: SETTINGS,
    rings: buffers,
    onLive: () => undefined,
    onState: () => undefined,
  });
  t.after(() => log.close());
  const begunMs = performance.now();
  const timeMs = Date.now();
  for (let index = 0; index < 256; index++) {
    rings[index % 3]?.push(facts(`n${index}.example`, { timeMs: timeMs + index }));
  }
  const lateMs = await until('the batch is stored', () => log.state.stored === 256);
  const tookMs = performance.now() - begunMs - lateMs;
  assert.ok(tookMs < LIMITS.logFlushMs - 100, 'although no ring alone had 256');
  assert.equal(log.state.batches, 1);
  const names = otherConnection(t, directory)
    .prepare('SELECT name FROM queries ORDER BY id')
    .pluck()
    .all();
  assert.deepEqual(
    names,
    Array.from({ length: 256 }, (_, index) => `n${index}.example`),
  );
});

test('a ring that is full before a batch has come together does not wait', async (t) => {
  const { log, ring } = await openLog(t, { slots: 10 });
  const begunMs = performance.now();
  for (let index = 0; index < 10; index++) ring.push(facts(`n${index}.example`));
  const lateMs = await until('they are stored', () => log.state.stored === 10);
  assert.ok(performance.now() - begunMs - lateMs < LIMITS.logFlushMs - 100);
});

test('records across minutes are counted in the minute they arrived in', async (t) => {
  const { log, ring, directory } = await openLog(t);
  const minute = 29_000_000;
  for (const [offset, count] of [3, 1, 2].entries()) {
    for (let index = 0; index < count; index++) {
      ring.push(facts('a.example', { timeMs: (minute + offset) * 60_000 + index }));
    }
  }
  ring.push(facts('late.example', { timeMs: minute * 60_000 }));
  await log.close();
  const rows = otherConnection(t, directory)
    .prepare('SELECT minute - ?, queries, first_id, last_id FROM minutes ORDER BY minute')
    .raw()
    .all(minute);
  assert.deepEqual(rows, [
    [0, 4, 1, 7],
    [1, 1, 4, 4],
    [2, 2, 5, 6],
  ]);
});

test('close stores what is queued, and a new log goes on in the same file', async (t) => {
  const first = await openLog(t);
  for (let index = 0; index < 1_000; index++) first.ring.push(facts(`n${index}.example`));
  await first.log.close();
  await first.log.close();
  assert.deepEqual([first.log.state.stored, first.log.state.dropped], [1_000, 0]);
  assert.equal(first.log.state.writers, 0);

  const second = await openLog(t, { directory: first.directory });
  second.ring.push(facts('again.example'));
  await until('it is stored', () => second.log.state.stored === 1);
  const database = otherConnection(t, first.directory);
  assert.equal(countRows(database), 1_001);
  assert.equal(database.prepare('SELECT max(id) FROM queries').pluck().get(), 1_001);
});

test('an idle log wakes nobody, and takes the next record up again', async (t) => {
  const { log, ring } = await openLog(t);
  for (let round = 1; round <= 3; round++) {
    ring.push(facts('a.example'));
    await until('it is stored', () => log.state.stored === round);
    assert.equal(log.state.batches, round);
  }
});
