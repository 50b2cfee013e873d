/**
 * The live topic: at most four updates a second, bounded rows and subscribers, silent alone.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../../main/contract/limits.ts';
import type { LiveUpdate } from '../../../main/contract/methods/methods.ts';
import type { QueryEvent } from '../../../main/contract/query-event.ts';
import { NewestUpdate } from '../../../main/api/newest-update.ts';
import { LiveTopic } from '../../../main/control/reports/live.ts';
import { FakeClock } from '../fakes.ts';

function row(id: number): QueryEvent {
  return { id, name: `n${String(id)}.example` } as QueryEvent;
}

function setUp() {
  const clock = new FakeClock();
  const source: boolean[] = [];
  const topic = new LiveTopic({
    clock,
    facts: () => ({ timeMs: clock.wallMs() }) as LiveUpdate,
    setSource: (on) => source.push(on),
  });
  const updates: LiveUpdate[] = [];
  const times: number[] = [];
  const take = (update: LiveUpdate) => {
    updates.push(update);
    times.push(clock.monotonicMs());
  };
  return { clock, source, topic, updates, times, take };
}

test('nothing is collected or sent while nobody subscribes', () => {
  const { clock, source, topic, updates, take } = setUp();
  topic.push([row(1)], 5);
  topic.touch();
  assert.equal(clock.timers, 0);
  const end = topic.subscribe(take);
  clock.advance(0);
  assert.deepEqual(
    updates.map(({ rows, rowsLeftOut }) => [rows.length, rowsLeftOut]),
    [[0, 0]],
  );
  end();
  end();
  assert.deepEqual(source, [true, false]);
  assert.equal(clock.timers, 0);
});

test('updates come at most four a second, and once a second when nothing happens', () => {
  const { clock, topic, times, take } = setUp();
  topic.subscribe(take);
  for (let step = 0; step < 200; step++) {
    topic.push([row(step)], 0);
    clock.advance(10);
  }
  assert.ok(times.length >= 8 && times.length <= 9, String(times.length));
  for (const [index, time] of times.entries()) {
    const before = times[index - 1];
    if (before !== undefined) assert.ok(time - before >= LIMITS.liveIntervalMs);
  }
  const busy = times.length;
  clock.advance(10_000);
  assert.ok(times.length - busy >= 10 && times.length - busy <= 11);
});

test('rows are bounded, the newest stay, and the others are counted', () => {
  const { clock, topic, updates, take } = setUp();
  topic.subscribe(take);
  clock.advance(0);
  for (let step = 0; step < 50; step++) {
    topic.push(
      Array.from({ length: 10 }, (_, index) => row(step * 10 + index)),
      3,
    );
  }
  clock.advance(250);
  const last = updates.at(-1);
  assert.equal(last?.rows.length, LIMITS.liveRowsMax);
  assert.equal(last.rows.at(-1)?.id, 499);
  assert.equal(last.rowsLeftOut, 500 - LIMITS.liveRowsMax + 150);
});

test('subscribers are bounded; one refused is counted; a place is free again after one leaves', () => {
  const { topic, take } = setUp();
  const ends = Array.from({ length: LIMITS.subscribersMax }, () => topic.subscribe(take));
  assert.throws(() => topic.subscribe(take), { code: 'TOO_MANY' });
  assert.deepEqual([topic.queue.depth, topic.queue.dropped], [LIMITS.subscribersMax, 1]);
  ends[0]?.();
  topic.subscribe(take);
  topic.close();
  assert.equal(topic.queue.depth, 0);
});

test('a subscriber that throws loses its place, the others get their update', () => {
  const { clock, topic, updates, take } = setUp();
  topic.subscribe(() => {
    throw new Error('window gone');
  });
  topic.subscribe(take);
  clock.advance(0);
  assert.equal(updates.length, 1);
  assert.equal(topic.queue.depth, 1);
});

test('a slow subscriber costs one update; it gets the newest and the count of what it missed', () => {
  const sent: LiveUpdate[] = [];
  const newest = new NewestUpdate((update) => {
    sent.push(update);
    return false;
  });
  const update = (id: number) => ({ rows: [row(id), row(id)], rowsLeftOut: 1 }) as LiveUpdate;
  for (let id = 1; id <= 1_000; id++) newest.push(update(id));
  assert.equal(sent.length, 1);
  newest.ready();
  assert.equal(sent.length, 2);
  assert.equal(sent[1]?.rows[0]?.id, 1_000);
  assert.equal(sent[1].rowsLeftOut, 1 + 998 * 3);
  newest.ready();
  newest.push(update(1_001));
  assert.deepEqual([sent.length, sent[2]?.rowsLeftOut], [3, 1]);
});
