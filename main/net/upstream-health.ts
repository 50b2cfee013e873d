/**
 * What is known about one upstream: how fast it answers, and whether it does. Kept by the upstream
 * pool; a server that is down is asked only in parallel to one that is not.
 */

/** Hedge delay before the first reply is measured, and for a server that is down. */
const HEDGE_UNKNOWN_US = 400_000;
const HEDGE_DOWN_US = 200_000;
const HEDGE_MIN_US = 150_000;
const HEDGE_MAX_US = 500_000;
/** Time between two probes of a server that is down: doubles from the first to the last. */
const BACKOFF_FIRST_US = 1_000_000;
const BACKOFF_LAST_US = 30_000_000;

/** Round-trip time and failures of one server. All times are the monotonic clock's, in µs. */
export class UpstreamHealth {
  /** Smoothed round trip and its deviation, as TCP keeps them (RFC 6298 §2). 0: none measured. */
  #smoothedUs = 0;
  #deviationUs = 0;
  #repliedUs = -1;
  #missedUs = -1;
  /** Rounds without a reply since the last one. */
  #failures = 0;
  #probeUs = 0;

  /** True from the first silence or refusal until the next reply. */
  get isDown(): boolean {
    return this.#failures > 0;
  }

  /** How long a question waits for this server before the next is asked as well. */
  get hedgeUs(): number {
    if (this.isDown) return HEDGE_DOWN_US;
    if (this.#smoothedUs === 0) return HEDGE_UNKNOWN_US;
    const expectedUs = this.#smoothedUs + 4 * this.#deviationUs;
    return Math.min(Math.max(expectedUs, HEDGE_MIN_US), HEDGE_MAX_US);
  }

  /** Notes a verified reply, late ones too. @returns whether the server was down */
  answered(tookUs: number, nowUs: number): boolean {
    const wasDown = this.isDown;
    if (this.#smoothedUs === 0) {
      this.#smoothedUs = tookUs;
      this.#deviationUs = tookUs / 2;
    } else {
      this.#deviationUs += (Math.abs(tookUs - this.#smoothedUs) - this.#deviationUs) / 4;
      this.#smoothedUs += (tookUs - this.#smoothedUs) / 8;
    }
    this.#repliedUs = nowUs;
    this.#failures = 0;
    return wasDown;
  }

  /**
   * Notes that a question sent at `sentUs` got no reply in time, or a refusal. It says nothing when
   * the server has answered something since; and many questions sent in one silence are one failure.
   *
   * @returns whether the server has just gone down
   */
  missed(sentUs: number, nowUs: number): boolean {
    if (this.#repliedUs >= sentUs || this.#missedUs > sentUs) return false;
    this.#missedUs = nowUs;
    this.#failures++;
    this.#planProbe(nowUs);
    return this.#failures === 1;
  }

  /** True when it is time to ask a server that is down; then plans the next time. */
  takesProbe(nowUs: number): boolean {
    if (!this.isDown || nowUs < this.#probeUs) return false;
    this.#planProbe(nowUs);
    return true;
  }

  #planProbe(nowUs: number): void {
    const doublings = Math.min(Math.max(this.#failures - 1, 0), 10);
    this.#probeUs = nowUs + Math.min(BACKOFF_FIRST_US * 2 ** doublings, BACKOFF_LAST_US);
  }
}
