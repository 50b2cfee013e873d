import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { LIMITS } from '../../main/contract/limits.ts';
import { METHODS, queryEventSchema } from '../../main/contract/methods/methods.ts';
import { facts, openLog, until } from './fixtures.ts';

test('a live row is shown before it is stored, as the event it is', async (t) => {
  const { log, ring, live } = await openLog(t);
  log.setNames(new Map([[7, 'Ads']]), ['9.9.9.9']);
  log.setLive(true);
  await log.prune();
  ring.push(facts('www.example', { upstream: 0 }));
  await until('it is shown', () => live.length > 0);
  assert.equal(log.state.stored, 0);
  const [row] = live[0]?.rows ?? [];
  assert.equal(queryEventSchema.parse(row).name, 'www.example');
  assert.deepEqual([row?.id, row?.upstream], [0, '9.9.9.9']);
  await until('it is stored', () => log.state.stored === 1);
  await sleep(400);
  assert.equal(live.length, 1, 'it is shown once');
});

test('at most four updates a second with 100 rows each; rows and left out add up', async (t) => {
  const { log, ring, live } = await openLog(t);
  log.setLive(true);
  await log.prune();
  const total = 6_000;
  let pushed = 0;
  const begunMs = performance.now();
  while (pushed < total) {
    await sleep(5);
    const due = Math.min(total, Math.floor((performance.now() - begunMs) * 4));
    for (; pushed < due; pushed++) ring.push(facts(`n${pushed}.example`));
  }
  const shown = (): number =>
    live.reduce((sum, { rows, leftOut }) => sum + rows.length + leftOut, 0);
  await until('all were shown or counted', () => shown() === total);
  const elapsedMs = performance.now() - begunMs;
  assert.ok(live.length <= 1 + elapsedMs / LIMITS.liveIntervalMs, `${live.length} updates`);
  assert.ok(live.length >= 3, `${live.length} updates`);
  for (const { rows } of live) assert.ok(rows.length <= LIMITS.liveRowsMax);
  assert.equal(live.at(-1)?.rows.at(-1)?.name, `n${total - 1}.example`, 'newest last');
  const ids = live.flatMap(({ rows }) => rows.map((row) => row.id)).filter((id) => id > 0);
  for (const id of ids) assert.ok(id <= total);
  const { rows } = METHODS['queries.search'].output.parse(await log.search({ limit: 500 }));
  const byId = new Map(rows.map((row) => [row.id, row.name]));
  for (const row of live.at(-1)?.rows ?? []) {
    if (row.id > 0) assert.equal(byId.get(row.id), row.name);
  }
});

test('nothing is sent while live is off, and switching on shows only what comes then', async (t) => {
  const { log, ring, live } = await openLog(t);
  ring.push(facts('before.example'));
  await sleep(350);
  assert.equal(live.length, 0);
  log.setLive(true);
  await log.prune();
  ring.push(facts('after.example'));
  await until('the second is shown', () => live.length > 0);
  assert.deepEqual(
    live.flatMap(({ rows }) => rows.map((row) => row.name)),
    ['after.example'],
  );
  log.setLive(false);
  await log.prune();
  ring.push(facts('later.example'));
  await until('it is stored', () => log.state.stored === 3);
  assert.equal(live.length, 1);
});
