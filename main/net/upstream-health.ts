/**
 * What is known about one upstream: how fast it answers, and whether it does. Kept by the upstream
 * pool; a server that is down is asked only in parallel to one that is not.
 *
 *     up ──silence or closed──▶ down ──reply──▶ up      slow: answers, but later than people wait
 *      └──three refusals that another server could answer──▶ down
 */

/** Hedge delay before the first reply is measured, and for a server that is down. */
const HEDGE_UNKNOWN_US = 150_000;
const HEDGE_DOWN_US = 150_000;
const HEDGE_MIN_US = 150_000;
const HEDGE_MAX_US = 500_000;
/** Time before the same server is asked again: a resolver may need so long for a fresh name. */
const RESEND_MIN_US = 400_000;
/** A server whose answers take longer stands behind those that are faster. */
const SLOW_US = 300_000;
/** Time between two probes of a server that is down: doubles from the first to the last. */
const BACKOFF_FIRST_US = 1_000_000;
const BACKOFF_LAST_US = 30_000_000;
/** Refusals in a row, of questions that another server answered, that make a server down. */
const REFUSALS_MAX = 3;
/** A smoothed time without a fresh measurement is believed for so long. */
const MEASURED_US = 30_000_000;

/** Rank in the order of asking. */
export const RANK_UP = 0;
export const RANK_SLOW = 1;
export const RANK_DOWN = 2;

/** Round-trip time and failures of one server. All times are the monotonic clock's, in µs. */
export class UpstreamHealth {
  /** Smoothed round trip and its deviation, as TCP keeps them (RFC 6298 §2). 0: none measured. */
  #smoothedUs = 0;
  #deviationUs = 0;
  #repliedUs = -1;
  #missedUs = -1;
  /** When the first question left that was not answered since the last reply; -1: none. */
  #silentUs = -1;
  /** Rounds without a reply since the last one. */
  #failures = 0;
  #refusals = 0;
  #probeUs = 0;

  /** True from the first silence until the next reply, and while it only refuses. */
  get isDown(): boolean {
    return this.#failures > 0 || this.isRefusing;
  }

  get isRefusing(): boolean {
    return this.#refusals >= REFUSALS_MAX;
  }

  get rank(): number {
    if (this.isDown) return RANK_DOWN;
    return this.#smoothedUs > SLOW_US ? RANK_SLOW : RANK_UP;
  }

  /** Smoothed round trip; 0 when none was measured. */
  get roundTripUs(): number {
    return this.#smoothedUs;
  }

  /** How long a question waits for this server before the next is asked as well. */
  get hedgeUs(): number {
    if (this.isDown) return HEDGE_DOWN_US;
    if (this.#smoothedUs === 0) return HEDGE_UNKNOWN_US;
    const expectedUs = this.#smoothedUs + 4 * this.#deviationUs;
    return Math.min(Math.max(expectedUs, HEDGE_MIN_US), HEDGE_MAX_US);
  }

  /** How long a question waits before it is sent to this very server again. */
  get resendUs(): number {
    return Math.max(this.hedgeUs, RESEND_MIN_US);
  }

  /** True when the round trip is not known, or only from long ago. */
  needsMeasuring(nowUs: number): boolean {
    return this.#repliedUs < 0 || nowUs - this.#repliedUs > MEASURED_US;
  }

  /** True when nothing was heard for `forUs` although something was asked. */
  isSilentFor(forUs: number, nowUs: number): boolean {
    return this.#failures > 0 && this.#silentUs >= 0 && nowUs - this.#silentUs >= forUs;
  }

  /** Notes a verified reply, late ones too. @returns whether the rank has changed */
  answered(tookUs: number, nowUs: number): boolean {
    const rank = this.rank;
    if (this.#smoothedUs === 0) {
      this.#smoothedUs = tookUs;
      this.#deviationUs = tookUs / 2;
    } else {
      this.#deviationUs += (Math.abs(tookUs - this.#smoothedUs) - this.#deviationUs) / 4;
      this.#smoothedUs += (tookUs - this.#smoothedUs) / 8;
    }
    this.#repliedUs = nowUs;
    this.#failures = 0;
    this.#silentUs = -1;
    return this.rank !== rank;
  }

  /** Notes a reply with an answer in it. @returns whether the rank has changed */
  helped(): boolean {
    const wasRefusing = this.isRefusing;
    this.#refusals = 0;
    return wasRefusing;
  }

  /** Notes SERVFAIL or the like to a question that another server answered. @returns as `missed` */
  refused(nowUs: number): boolean {
    this.#refusals++;
    if (this.#refusals < REFUSALS_MAX) return false;
    this.#planProbe(nowUs, this.#refusals - REFUSALS_MAX);
    return this.#refusals === REFUSALS_MAX;
  }

  /**
   * Notes that a question sent at `sentUs` got no reply in time, or that its way closed. It says
   * nothing when the server has answered something since; and many questions sent in one silence
   * are one failure.
   *
   * @returns whether the server has just gone down
   */
  missed(sentUs: number, nowUs: number): boolean {
    if (this.#repliedUs >= sentUs || this.#missedUs > sentUs) return false;
    const wasDown = this.isDown;
    if (this.#silentUs < 0) this.#silentUs = sentUs;
    this.#missedUs = nowUs;
    this.#failures++;
    this.#planProbe(nowUs, this.#failures - 1);
    return !wasDown;
  }

  /** True when it is time to ask a server that is down; then plans the next time. */
  takesProbe(nowUs: number): boolean {
    if (!this.isDown || nowUs < this.#probeUs) return false;
    this.#planProbe(nowUs, Math.max(this.#failures, this.#refusals - REFUSALS_MAX + 1) - 1);
    return true;
  }

  #planProbe(nowUs: number, earlier: number): void {
    const doublings = Math.min(Math.max(earlier, 0), 10);
    this.#probeUs = nowUs + Math.min(BACKOFF_FIRST_US * 2 ** doublings, BACKOFF_LAST_US);
  }
}
