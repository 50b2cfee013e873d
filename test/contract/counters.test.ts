/** The latency histogram's buckets (main/contract/counters.ts). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  COUNTER,
  COUNTERS,
  HISTOGRAM_BUCKETS,
  histogramBucket,
  histogramLowerUs,
} from '../../main/contract/counters.ts';
import { OUTCOMES } from '../../main/contract/outcome.ts';

test('a duration falls between the edges of its bucket, and buckets are narrow', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 33_000_000 }), (us) => {
      const index = histogramBucket(us);
      const lower = histogramLowerUs(index);
      const upper = histogramLowerUs(index + 1);
      assert.ok(lower <= us && us < upper, `${us} µs in [${lower}, ${upper})`);
      assert.ok(upper - lower <= Math.max(1, lower / 16));
    }),
  );
});

test('the last bucket takes everything from 30 s up', () => {
  assert.ok(histogramLowerUs(HISTOGRAM_BUCKETS - 1) > 30_000_000);
  assert.equal(histogramBucket(2 ** 31 - 1), HISTOGRAM_BUCKETS - 1);
});

test('every outcome has a counter of its name', () => {
  for (const outcome of OUTCOMES) assert.equal(COUNTERS[COUNTER[outcome]], outcome);
});
