/**
 * Time for the control plane, passed in so that tests own it.
 */
import { bootTime, type BootTime } from './boot-clock.ts';

export interface ServiceClock {
  /** Milliseconds since 1970; may jump either way. */
  wallMs(): number;
  /** Milliseconds since any origin; never goes back, and may stand still while the machine sleeps. */
  monotonicMs(): number;
  /** Time since the machine started, sleep included: what no setting of the clock changes. */
  boot(): BootTime;
  /** Calls `work` once after `delayMs` unless cancelled. Does not keep the process alive. */
  after(delayMs: number, work: () => void): () => void;
}

/** The real one. */
export const realClock: ServiceClock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  boot: bootTime,
  after(delayMs, work) {
    const timer = setTimeout(work, Math.ceil(delayMs));
    timer.unref();
    return () => {
      clearTimeout(timer);
    };
  },
};
