import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { LogRing, SPILL_SLOTS } from '../../main/log/ring.ts';
import { facts } from './fixtures.ts';

/** A ring whose records are told apart by their duration. */
function numbered(slots: number): { ring: LogRing; push: (number: number) => boolean } {
  const ring = new LogRing(LogRing.createBuffer(slots));
  const template = facts('a.example');
  const push = (number: number): boolean => {
    template.durationUs = number;
    return ring.push(template);
  };
  return { ring, push };
}

test('4,096 slots take exactly 4,096 records and drop the next one', () => {
  const { ring, push } = numbered(4_096);
  for (let number = 0; number < 4_096; number++) assert.equal(push(number), true);
  assert.equal(push(4_096), false);
  assert.equal(push(4_097), false);
  assert.deepEqual([ring.depth, ring.pushed, ring.dropped], [4_096, 4_096, 2]);

  ring.advance(1);
  assert.equal(push(4_098), true);
  assert.equal(push(4_099), false);
  const seen: number[] = [];
  ring.drain(10_000, (records, slot) => seen.push(records.durationUs(slot)));
  const expected = [...Array.from({ length: 4_095 }, (_, index) => index + 1), 4_098];
  assert.deepEqual(seen, expected);
  assert.equal(ring.depth, 0);
});

test('a ring of any size keeps order and count under every interleaving', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('push' as const), count: fc.integer({ min: 1, max: 9 }) }),
    fc.record({ kind: fc.constant('drain' as const), count: fc.integer({ min: 0, max: 9 }) }),
    fc.record({ kind: fc.constant('reopen' as const), count: fc.constant(0) }),
  );
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 13 }),
      fc.array(step, { maxLength: 200 }),
      (slots, steps) => {
        const buffer = LogRing.createBuffer(slots);
        let producer = new LogRing(buffer);
        let consumer = new LogRing(buffer);
        const template = facts('x.example');
        const model: number[] = [];
        let next = 0;
        let dropped = 0;
        for (const { kind, count } of steps) {
          if (kind === 'reopen') {
            producer = new LogRing(buffer);
            consumer = new LogRing(buffer);
          } else if (kind === 'push') {
            for (let index = 0; index < count; index++) {
              template.durationUs = next;
              const taken = producer.push(template);
              assert.equal(taken, model.length < slots);
              if (taken) model.push(next);
              else dropped++;
              next++;
            }
          } else {
            const seen: number[] = [];
            consumer.drain(count, (records, slot) => seen.push(records.durationUs(slot)));
            assert.deepEqual(seen, model.splice(0, count));
          }
          assert.equal(consumer.depth, model.length);
          assert.equal(producer.depth, model.length);
          assert.equal(consumer.pushed + consumer.dropped, next);
          assert.equal(consumer.dropped, dropped);
        }
      },
    ),
    { numRuns: 300 },
  );
});

test('two threads: nothing is lost, repeated or reordered, and each drop is counted', async () => {
  const buffer = LogRing.createBuffer(37);
  const ring = new LogRing(buffer);
  const total = 300_000;
  const worker = new Worker(new URL('ring-producer.ts', import.meta.url), {
    workerData: { buffer, total },
  });
  const result = new Promise<number[]>((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
  let last = -1;
  let taken = 0;
  const visit = (records: LogRing['records'], slot: number): void => {
    const number = records.durationUs(slot);
    assert.ok(number > last, `${number} after ${last}`);
    // The name repeats the number: a torn record would not.
    assert.equal(records.nameText(slot), `n${number}.example`);
    last = number;
    taken++;
  };
  const state = { ended: false };
  void result.then(() => (state.ended = true));
  while (!state.ended || ring.depth > 0) {
    if (ring.drain(1 + (taken % 40), visit) > 0) continue;
    await new Promise((resolve) => setImmediate(resolve));
  }
  const [accepted, refused] = await result;
  assert.equal((accepted ?? 0) + (refused ?? 0), total);
  assert.equal(taken, accepted);
  assert.deepEqual([ring.pushed, ring.dropped], [accepted, refused]);
  await worker.terminate();
});

test('the consumer is woken once, when the depth it asked for is reached', async () => {
  const { ring, push } = numbered(16);
  let wakes = 0;
  let woken = (): void => undefined;
  const onWake = (): void => {
    wakes++;
    woken();
  };
  const wake = (): Promise<void> => new Promise((resolve) => (woken = resolve));
  // Atomics.waitAsync does not keep a thread alive; the writer has its message port for that.
  const alive = setInterval(() => undefined, 1_000);

  assert.equal(ring.arm(1, onWake), true);
  const first = wake();
  push(0);
  push(1);
  await first;
  assert.equal(wakes, 1);

  assert.equal(ring.arm(2, onWake), false, 'two are there already');
  assert.equal(ring.arm(4, onWake), true);
  assert.equal(ring.arm(5, onWake), true, 'a later request replaces the earlier one');
  const second = wake();
  push(2);
  push(3);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(wakes, 1);
  push(4);
  await second;
  assert.equal(wakes, 2);
  clearInterval(alive);
});

test('the last dropped records can still be seen, and an overwritten one is recognised', () => {
  const { ring, push } = numbered(1);
  push(0);
  for (let number = 1; number <= SPILL_SLOTS + 5; number++) push(number);
  assert.equal(ring.spilled, SPILL_SLOTS + 5);
  const newest = ring.spilled - 1;
  assert.equal(ring.spill.durationUs(ring.spillSlotOf(newest)), SPILL_SLOTS + 5);
  assert.equal(ring.spillIsWhole(newest), true);
  assert.equal(ring.spillIsWhole(ring.spilled - SPILL_SLOTS + 1), true);
  assert.equal(ring.spillIsWhole(ring.spilled - SPILL_SLOTS), false);
});

test('memory that is no ring is refused', () => {
  assert.throws(() => new LogRing(new SharedArrayBuffer(4_096)), /log ring/);
  assert.throws(() => LogRing.createBuffer(0), /at least one slot/);
});
