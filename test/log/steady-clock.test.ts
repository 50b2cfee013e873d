/** A log whose clock jumps keeps its rows (main/log/steady-clock.ts). */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import Database from 'better-sqlite3';
import { join } from 'node:path';
import { openForWriting } from '../../main/log/database.ts';
import { StatusBlock } from '../../main/log/status-block.ts';
import { STEADY_MS, SteadyClock } from '../../main/log/steady-clock.ts';
import { LogStore } from '../../main/log/store.ts';
import { tempDir } from '../support/temp-dir.ts';

const DAY_MS = 86_400_000;
const YEARS_MS = 3_660 * DAY_MS;
const START_MS = Date.UTC(2026, 5, 1);

function clocks() {
  const now = { wall: START_MS, elapsed: 0 };
  const pass = (ms: number): void => {
    now.wall += ms;
    now.elapsed += ms;
  };
  return { now, pass, wallMs: () => now.wall, elapsedMs: () => now.elapsed };
}

test('a jump either way makes the clock doubtful until it went steadily for a day', () => {
  for (const jumpMs of [YEARS_MS, -YEARS_MS]) {
    const { now, pass, wallMs, elapsedMs } = clocks();
    const clock = new SteadyClock(wallMs, elapsedMs);
    pass(3 * DAY_MS);
    assert.equal(clock.isSteady, true, 'time that passes, asleep or not, is no jump');
    now.wall += 5 * 60_000;
    assert.equal(clock.isSteady, true, 'nor is a correction');
    now.wall += jumpMs;
    assert.equal(clock.isSteady, false);
    pass(STEADY_MS - 1);
    assert.equal(clock.isSteady, false);
    pass(1);
    assert.equal(clock.isSteady, true);
  }
});

async function setUp(t: TestContext) {
  const directory = await tempDir(t);
  const database = openForWriting(directory);
  const insert = database.prepare(`INSERT INTO queries SELECT
    NULL, ?, '10.0.0.1', 'a.example', 1, 0, 0, 0, 0, 0, 0, 0, 0, ''`);
  for (let day = 1; day <= 20; day++) insert.run(START_MS - (21 - day) * DAY_MS);
  database.close();
  const time = clocks();
  const open = (): LogStore => {
    const store = new LogStore({
      directory,
      settings: { mode: 'full', retentionDays: 30, sizeMaxMiB: 64 },
      status: new StatusBlock(StatusBlock.createBuffer()),
      now: time.wallMs,
      elapsedMs: time.elapsedMs,
      onEvent: () => undefined,
    });
    store.open();
    return store;
  };
  const rows = (): number => {
    const reader = new Database(join(directory, 'queries.db'), { readonly: true });
    const count = reader.prepare('SELECT count(*) FROM queries').pluck().get() as number;
    reader.close();
    return count;
  };
  const prune = (store: LogStore): void => {
    store.beginRetention(true, false);
    while (store.isRetaining) store.stepRetention();
  };
  return { ...time, open, rows, prune };
}

test('ten years ahead while running, and at the start: no row goes before that is sure', async (t) => {
  const { now, pass, open, rows, prune } = await setUp(t);
  const first = open();
  prune(first);
  now.wall += YEARS_MS;
  prune(first);
  assert.equal(rows(), 20);
  first.close();
  const second = open();
  prune(second);
  assert.equal(rows(), 20, 'also for a program that starts with the wrong clock');
  now.wall -= YEARS_MS;
  pass(60_000);
  prune(second);
  pass(STEADY_MS);
  prune(second);
  assert.equal(rows(), 20, 'the clock was put right');
  pass(25 * DAY_MS);
  prune(second);
  assert.ok(rows() < 20, 'and rows age again');
  now.wall += YEARS_MS;
  prune(second);
  assert.ok(rows() > 0);
  pass(STEADY_MS);
  prune(second);
  assert.equal(rows(), 0, 'a clock that stays there is right');
  second.close();
});
