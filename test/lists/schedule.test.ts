import assert from 'node:assert/strict';
import { test } from 'node:test';
import { delayAfter, dueAtStart, dueByClock } from '../../main/lists/schedule.ts';

const HOUR = 3_600_000;

test('delays lie within a tenth of the interval, back-off never goes beyond it', () => {
  assert.equal(delayAfter(6 * HOUR, 0, 0), 5.4 * HOUR);
  assert.equal(delayAfter(6 * HOUR, 0, 0.5), 6 * HOUR);
  assert.ok(delayAfter(6 * HOUR, 0, 0.999) <= 6.6 * HOUR);
  assert.equal(delayAfter(6 * HOUR, 1, 0.5), 60_000);
  assert.equal(delayAfter(6 * HOUR, 3, 0.5), 240_000);
  assert.equal(delayAfter(6 * HOUR, 1e6, 0.5), 6 * HOUR);
  assert.equal(delayAfter(1_800, 5, 0.5), 1_800, 'a short interval needs no back-off');
});

test('a list is due at once when it was never asked for, is late, or the clock went back', () => {
  assert.equal(dueAtStart(1_000, null, 500), 1_000);
  assert.equal(dueAtStart(1_000, 900, 500), 1_400);
  assert.equal(dueAtStart(1_000, 100, 500), 1_000);
  assert.equal(dueAtStart(1_000, 9_999, 500), 1_000);
});

test('a clock that was set back ten years stops no refresh', () => {
  const hour = 3_600_000;
  assert.equal(dueByClock(1_000, 1_000 + 6 * hour, 6 * hour), 1_000 + 6 * hour);
  assert.equal(dueByClock(1_000, 1_000 + Math.round(6.6 * hour), 6 * hour), 1_000 + 6.6 * hour);
  assert.equal(dueByClock(1_000, 87_600 * hour, 6 * hour), 1_000);
});
