/**
 * The timer wheel: order and time of calls, cancelling, rest. Real timers, real clock.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { systemClock } from '../../../main/net/clock.ts';
import { TICK_US, TimerWheel } from '../../../main/net/upstream/timer-wheel.ts';
import type { WheelEntry } from '../../../main/net/upstream/timer-wheel.ts';

class Entry implements WheelEntry {
  wheelNext: WheelEntry | null = null;
  wheelPrevious: WheelEntry | null = null;
  wheelTick = -1;
  plannedUs = 0;
  calledUs = -1;
}

function makeWheel(): { wheel: TimerWheel<Entry>; rested: Promise<void>; due: Entry[] } {
  const due: Entry[] = [];
  let rest: () => void = () => undefined;
  const rested = new Promise<void>((resolve) => {
    rest = resolve;
  });
  const wheel = new TimerWheel<Entry>(systemClock, {
    due: (entry, nowUs) => {
      entry.calledUs = nowUs;
      due.push(entry);
    },
    rested: () => {
      rest();
    },
  });
  return { wheel, rested, due };
}

test('entries are called once, never early; then the wheel rests', async () => {
  const { wheel, rested, due } = makeWheel();
  const entries = Array.from({ length: 300 }, () => new Entry());
  const startUs = systemClock.nowUs();
  entries.forEach((entry, index) => {
    entry.plannedUs = startUs + (index % 30) * 10_000;
    wheel.schedule(entry, entry.plannedUs);
  });
  const gone = entries.filter((_, index) => index % 3 === 0);
  for (const entry of gone) wheel.cancel(entry);
  await rested;
  assert.equal(due.length, 200);
  assert.equal(new Set(due).size, 200);
  for (const entry of due) assert.ok(entry.calledUs >= entry.plannedUs);
  assert.ok(gone.every((entry) => entry.calledUs === -1));
});

test('an entry may be moved, and may be scheduled again from its own call', async () => {
  const calls: number[] = [];
  const done = Promise.withResolvers<undefined>();
  const wheel: TimerWheel<Entry> = new TimerWheel<Entry>(systemClock, {
    due: (entry, nowUs) => {
      calls.push(nowUs);
      if (calls.length === 3) done.resolve(undefined);
      else wheel.schedule(entry, nowUs + 2 * TICK_US);
    },
    rested: () => undefined,
  });
  const entry = new Entry();
  wheel.schedule(entry, systemClock.nowUs() + 2_000_000);
  wheel.schedule(entry, systemClock.nowUs());
  await done.promise;
  wheel.close();
  const [first = 0, second = 0, third = 0] = calls;
  assert.ok(second - first >= 2 * TICK_US && third - second >= 2 * TICK_US);
});

test('any order of scheduling and cancelling leaves exactly the right entries', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(9), fc.integer({ min: -50, max: 2_000 })), { maxLength: 60 }),
      (steps) => {
        const { wheel } = makeWheel();
        const entries = Array.from({ length: 10 }, () => new Entry());
        const scheduled = new Set<Entry>();
        for (const [index, delayMs] of steps) {
          const entry = entries[index] as Entry;
          if (delayMs < 0) {
            wheel.cancel(entry);
            scheduled.delete(entry);
          } else {
            wheel.schedule(entry, systemClock.nowUs() + delayMs * 1_000);
            scheduled.add(entry);
          }
        }
        assert.deepEqual(new Set(wheel.close()), scheduled);
        assert.ok(entries.every(({ wheelTick }) => wheelTick === -1));
      },
    ),
  );
});
