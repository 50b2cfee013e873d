/**
 * When a list is fetched next: every refresh interval with jitter, so that not all installations
 * and not all lists ask at once; after failures sooner, then ever later, never beyond the interval.
 */

/** Time and timers, passed in so that tests own them. */
export interface ListClock {
  /** Milliseconds since 1970. */
  wallMs(): number;
  /** Calls once after `ms`; must not keep the process alive. Returns what cancels it. */
  after(ms: number, call: () => void): () => void;
}

const FIRST_RETRY_MS = 60_000;
/** Interval times 1 ± this. */
const JITTER = 0.1;
/** A manager that wakes early just looks again: the clock may have been set back meanwhile. */
const TIMER_MS_MAX = 3_600_000;

export const SYSTEM_CLOCK: ListClock = {
  wallMs: () => Date.now(),
  after: (ms, call) => {
    const timer = setTimeout(call, Math.min(ms, TIMER_MS_MAX));
    timer.unref();
    return () => {
      clearTimeout(timer);
    };
  },
};

/**
 * Milliseconds from an attempt to the next.
 *
 * @param failures  attempts that failed in a row, this one included; 0 after a good one
 * @param random    0 <= random < 1
 */
export function delayAfter(refreshMs: number, failures: number, random: number): number {
  const backOff = failures === 0 ? refreshMs : FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 20);
  return Math.round(Math.min(backOff, refreshMs) * (1 - JITTER + 2 * JITTER * random));
}

/**
 * When a list is due by the time of its last attempt, in milliseconds since 1970: at once when there
 * was none, when its time has passed meanwhile, or when the clock says that it was in the future.
 */
export function dueAtStart(nowMs: number, checkedAtMs: number | null, delayMs: number): number {
  if (checkedAtMs === null || checkedAtMs > nowMs) return nowMs;
  return Math.max(nowMs, checkedAtMs + delayMs);
}

/**
 * The same for a list of which it is known when it is due: at once when that is further ahead than
 * any delay, because the clock was set back since.
 */
export function dueByClock(nowMs: number, dueAtMs: number, refreshMs: number): number {
  return dueAtMs - nowMs > refreshMs * (1 + JITTER) + 1 ? nowMs : dueAtMs;
}
