import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { test } from 'node:test';
import { databasePath, walFileBytes } from '../../main/log/database.ts';
import {
  countRows,
  facts,
  openLog,
  otherConnection,
  temporaryDirectory,
  until,
} from './fixtures.ts';
import type { OpenLog } from './fixtures.ts';

const DAY_MS = 86_400_000;

/** Pushes and waits for room when the ring is full. */
async function store({ log, ring }: OpenLog, count: number, timeMs: number): Promise<void> {
  const target = log.state.stored + count;
  const record = facts('a-name-of-ordinary-length.example', { timeMs });
  for (let index = 0; index < count; index++) {
    record.timeMs = timeMs + index;
    while (!ring.push(record)) await new Promise((resolve) => setImmediate(resolve));
  }
  await until('all is stored', () => log.state.stored === target);
}

test('rows and statistics beyond the age go, newer ones stay', async (t) => {
  const open = await openLog(t, { settings: { retentionDays: 7 } });
  const nowMs = Date.now();
  await store(open, 2_500, nowMs - 8 * DAY_MS);
  await store(open, 700, nowMs - 6 * DAY_MS);
  await open.log.prune();
  const database = otherConnection(t, open.directory);
  assert.equal(countRows(database), 700);
  assert.equal(open.log.state.pruned, 2_500);
  const oldest = database.prepare('SELECT min(minute) FROM minutes').pluck().get() as number;
  assert.ok(oldest * 60_000 >= nowMs - 7 * DAY_MS - 60_000);
});

test('old rows behind newer ones are found as well, and those another program put there', async (t) => {
  const open = await openLog(t, { settings: { retentionDays: 7 } });
  const nowMs = Date.now();
  await store(open, 2_000, nowMs);
  await store(open, 1_500, nowMs - 8 * DAY_MS);
  const database = otherConnection(t, open.directory);
  database.exec(`INSERT INTO queries
    SELECT NULL, ${nowMs - 9 * DAY_MS}, '10.0.0.1', 'foreign.example', 1, 0, 0, 0, 0, 0, 0, 0, 0, ''
    FROM queries LIMIT 10`);
  await store(open, 10, nowMs);
  await open.log.prune();
  assert.equal(countRows(database), 2_010);
});

test('a shorter age in the settings takes effect', async (t) => {
  const open = await openLog(t);
  await store(open, 300, Date.now() - 8 * DAY_MS);
  await open.log.prune();
  const database = otherConnection(t, open.directory);
  assert.equal(countRows(database), 300);
  open.log.setSettings({ mode: 'full', retentionDays: 7, sizeMaxMiB: 512 });
  await until('they are gone', () => countRows(database) === 0);
});

test('the log stays within its bytes without being asked, the newest rows stay', async (t) => {
  const open = await openLog(t, { settings: { sizeMaxMiB: 2 } });
  const sizeMax = 2 * 1024 * 1024;
  let largest = 0;
  for (let round = 0; round < 8; round++) {
    await store(open, 8_000, Date.now());
    largest = Math.max(largest, open.log.state.bytes);
  }
  // 64,000 rows would take some 5 MiB. A run may be a second away, so the bound may be passed.
  assert.ok(largest < 2.5 * sizeMax, `${largest} bytes`);
  await open.log.prune();
  const path = databasePath(open.directory);
  const onDisk = statSync(path).size + walFileBytes(open.directory);
  assert.ok(onDisk <= sizeMax, `${onDisk} bytes on disk`);
  assert.ok(open.log.state.bytes <= sizeMax, `${open.log.state.bytes} bytes`);
  const database = otherConnection(t, open.directory);
  const [low, high] = database.prepare('SELECT min(id), max(id) FROM queries').raw().get() as [
    number,
    number,
  ];
  assert.equal(high, 64_000);
  assert.ok(low > 1 && countRows(database) === high - low + 1);
  assert.ok(countRows(database) > 5_000, 'not more than needed is removed');
});

test('the file shrinks after much was removed', async (t) => {
  const open = await openLog(t, { settings: { retentionDays: 7 } });
  await store(open, 60_000, Date.now() - 8 * DAY_MS);
  await store(open, 100, Date.now());
  const path = databasePath(open.directory);
  const before = statSync(path).size;
  await open.log.prune();
  const after = statSync(path).size;
  assert.ok(after < before / 4, `${before} bytes before, ${after} after`);
});

test('logging goes on at its rate while a large run works: nothing is dropped', async (t) => {
  const open = await openLog(t, { settings: { retentionDays: 7 } });
  await store(open, 80_000, Date.now() - 8 * DAY_MS);
  const { log, ring } = open;
  const storedBefore = log.state.stored;
  const droppedBefore = ring.dropped;
  const run = { ended: false };
  const pruned = log.prune().then(() => (run.ended = true));
  // 5,000 a second, in the small portions of a real listener.
  let pushed = 0;
  const begunMs = performance.now();
  while (!run.ended || pushed < 2_000) {
    await new Promise((resolve) => setTimeout(resolve, 2));
    const due = Math.floor((performance.now() - begunMs) * 5);
    for (; pushed < due; pushed++) ring.push(facts('now.example'));
  }
  await pruned;
  await until('all is stored', () => log.state.stored === storedBefore + pushed);
  assert.equal(ring.dropped, droppedBefore);
  assert.equal(countRows(otherConnection(t, open.directory)), pushed);
});

test('retention of a log that cannot be opened ends at once', async (t) => {
  const directory = temporaryDirectory(t);
  const { log } = await openLog(t, { directory: `${directory}/missing\0/x` });
  assert.equal(log.state.state, 'degraded');
  await log.prune();
});
