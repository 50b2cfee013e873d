/**
 * Latency quantiles out of the threads' histograms. Main thread.
 */
import { COUNTERS, HISTOGRAM_BUCKETS, HISTOGRAMS, histogramLowerUs } from '../contract/counters.ts';
import type { HistogramName } from '../contract/counters.ts';
import type { Latency } from '../contract/methods/methods.ts';

/** One histogram summed over threads; buckets as in contract/counters.ts. */
export function sumHistogram(blocks: readonly Float64Array[], name: HistogramName): Float64Array {
  const start = COUNTERS.length + HISTOGRAMS.indexOf(name) * HISTOGRAM_BUCKETS;
  const sums = new Float64Array(HISTOGRAM_BUCKETS);
  for (const block of blocks) {
    for (let bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
      sums[bucket] = (sums[bucket] as number) + (block[start + bucket] as number);
    }
  }
  return sums;
}

/**
 * Reads the quantiles of a histogram, in microseconds.
 *
 * Interpolated inside the bucket, whose width is at most 1/16 of its lower edge: the error is below
 * 6.25 %. All 0 when nothing was measured.
 */
export function readLatency(sums: Float64Array): Latency {
  const total = sums.reduce((sum, count) => sum + count, 0);
  return {
    p50Us: quantile(sums, total, 0.5),
    p95Us: quantile(sums, total, 0.95),
    p99Us: quantile(sums, total, 0.99),
    p999Us: quantile(sums, total, 0.999),
  };
}

/** @param share  of the values that are at most the result; 0..1 */
function quantile(counts: Float64Array, total: number, share: number): number {
  if (total === 0) return 0;
  const wanted = share * total;
  let before = 0;
  for (let bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
    const count = counts[bucket] as number;
    if (count > 0 && before + count >= wanted) {
      const lowerUs = histogramLowerUs(bucket);
      const widthUs = histogramLowerUs(bucket + 1) - lowerUs;
      return lowerUs + (widthUs * (wanted - before)) / count;
    }
    before += count;
  }
  return histogramLowerUs(HISTOGRAM_BUCKETS - 1);
}
