/**
 * The time that an answer began and ended, read less than twice a packet: reading the clock costs
 * about a tenth of an answer from the cache. Used by the engine and its account (accounting.ts).
 *
 * Packets that a listener received together share their time of arrival, so that what one waits for
 * those before it counts in its latency. Their ends are read once every few answers.
 */
import type { Clock } from './ports.ts';

/** Answers of a batch that share a reading of the clock: some microseconds of work. */
const ANSWERS_A_READING = 8;

/** A clock that stands still for moments while a batch is answered. */
export class BatchClock {
  /** When the packet in hand arrived; set by `arrived`. */
  arrivalUs = 0.5;
  /** When the answer in hand was finished, in a batch perhaps a few answers ago; by `answered`. */
  answerUs = 0.5;
  readonly #clock: Clock;
  #isInBatch = false;
  #left = 0;

  // Fields and not results: a number that a function returns may have to be allocated.

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Packets that arrived together are about to be answered. */
  begin(): void {
    this.arrivalUs = this.#clock.nowUs();
    // The first answer is timed by itself: a batch of one, the rule at low rates, is exact.
    this.#left = 1;
    this.#isInBatch = true;
  }

  end(): void {
    this.#isInBatch = false;
  }

  arrived(): void {
    if (!this.#isInBatch) this.arrivalUs = this.#clock.nowUs();
  }

  answered(): void {
    if (this.#isInBatch && --this.#left > 0) return;
    this.answerUs = this.#clock.nowUs();
    this.#left = ANSWERS_A_READING;
  }
}
