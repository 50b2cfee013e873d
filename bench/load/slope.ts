/** Straight-line fits over samples, for telling a leak from a sawtooth. */

export interface Sample {
  /** Seconds since the start. */
  readonly atSeconds: number;
  readonly bytes: number;
}

/** Least-squares slope in bytes a minute; 0 for fewer than two samples. */
export function slopePerMinute(samples: readonly Sample[]): number {
  if (samples.length < 2) return 0;
  const meanAt = mean(samples.map((sample) => sample.atSeconds));
  const meanBytes = mean(samples.map((sample) => sample.bytes));
  let above = 0;
  let below = 0;
  for (const { atSeconds, bytes } of samples) {
    above += (atSeconds - meanAt) * (bytes - meanBytes);
    below += (atSeconds - meanAt) ** 2;
  }
  return below === 0 ? 0 : (above / below) * 60;
}

/** Mean of the last third over the mean of the first third. */
export function lastThirdOverFirst(samples: readonly Sample[]): number {
  const third = Math.max(1, Math.floor(samples.length / 3));
  const first = mean(samples.slice(0, third).map((sample) => sample.bytes));
  return mean(samples.slice(-third).map((sample) => sample.bytes)) / first;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}
