/**
 * Measures how late the main thread's event loop is. Owned by the service, read by the metrics.
 *
 * One timer a second, which a sleeping laptop does not mind; the two minutes before a read-out
 * count. `perf_hooks.monitorEventLoopDelay` would wake the process far more often.
 */
const INTERVAL_MS = 1_000;
const SAMPLES_MAX = 120;

export class LoopLag {
  readonly #samples = new Float64Array(SAMPLES_MAX);
  #taken = 0;
  #dueMs = performance.now() + INTERVAL_MS;
  readonly #timer: NodeJS.Timeout;

  constructor() {
    this.#timer = setInterval(() => {
      const nowMs = performance.now();
      this.#samples[this.#taken++ % SAMPLES_MAX] = Math.max(0, nowMs - this.#dueMs);
      this.#dueMs = nowMs + INTERVAL_MS;
    }, INTERVAL_MS);
    this.#timer.unref();
  }

  /** The 99th percentile of the lags, in milliseconds; 0 before the first second has passed. */
  p99Ms(): number {
    const count = Math.min(this.#taken, SAMPLES_MAX);
    const sorted = this.#samples.slice(0, count).sort();
    return sorted[Math.max(0, Math.ceil(count * 0.99) - 1)] ?? 0;
  }

  close(): void {
    clearInterval(this.#timer);
  }
}
