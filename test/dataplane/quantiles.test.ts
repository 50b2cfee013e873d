/**
 * Quantiles out of the histogram against the exact ones of the same values.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  COUNTER_BLOCK_SLOTS,
  COUNTERS,
  HISTOGRAM_BUCKETS,
  histogramBucket,
} from '../../main/contract/counters.ts';
import { readLatency, sumHistogram } from '../../main/dataplane/quantiles.ts';

const UPSTREAM_AT = COUNTERS.length + HISTOGRAM_BUCKETS;

function blockOf(valuesUs: readonly number[]): Float64Array {
  const block = new Float64Array(COUNTER_BLOCK_SLOTS);
  for (const value of valuesUs) {
    const slot = UPSTREAM_AT + histogramBucket(value);
    block[slot] = (block[slot] ?? 0) + 1;
  }
  return block;
}

test('nothing measured is 0', () => {
  const zero = { p50Us: 0, p95Us: 0, p99Us: 0, p999Us: 0 };
  assert.deepEqual(readLatency(sumHistogram([blockOf([])], 'upstream')), zero);
  assert.deepEqual(readLatency(sumHistogram([blockOf([500])], 'local')), zero);
});

test('37 ms is reported as 37 ms, not as the edge of a bucket far away', () => {
  const block = blockOf(new Array<number>(1_000).fill(37_000));
  const latency = readLatency(sumHistogram([block], 'upstream'));
  assert.ok(latency.p50Us >= 35_000 && latency.p50Us <= 39_000, String(latency.p50Us));
});

test('any values, over any number of threads: within 10 % of the exact quantile', () => {
  const value = fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 2_000_000 }));
  fc.assert(
    fc.property(
      fc.array(value, { minLength: 1, maxLength: 400 }),
      fc.integer({ min: 1, max: 4 }),
      (values, threads) => {
        const blocks = Array.from({ length: threads }, (_, thread) =>
          blockOf(values.filter((_value, index) => index % threads === thread)),
        );
        const latency = readLatency(sumHistogram(blocks, 'upstream'));
        const sorted = [...values].sort((a, b) => a - b);
        const shares = { p50Us: 0.5, p95Us: 0.95, p99Us: 0.99, p999Us: 0.999 };
        for (const [name, share] of Object.entries(shares)) {
          const exact = sorted[Math.ceil(share * sorted.length) - 1] ?? NaN;
          const read = latency[name as keyof typeof shares];
          // Below 16 µs a bucket is one microsecond wide, more than a tenth of so little.
          assert.ok(
            Math.abs(read - exact) <= Math.max(0.1 * exact, 1),
            `${name}: ${String(read)} for ${String(exact)}`,
          );
        }
      },
    ),
  );
});
