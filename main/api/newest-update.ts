/**
 * Holds the one live update that a slow subscriber has not taken yet: the newest wins.
 *
 * Each door has one for each subscriber. However long the subscriber stalls, it costs one update of
 * memory; what it misses is counted in the next one it gets.
 */
import type { LiveUpdate } from '../contract/methods/methods.ts';

export class NewestUpdate {
  readonly #send: (update: LiveUpdate) => boolean;
  #waiting: LiveUpdate | null = null;
  #isReady = true;

  /** @param send  passes an update on; false when the next one must wait for `ready` */
  constructor(send: (update: LiveUpdate) => boolean) {
    this.#send = send;
  }

  push(update: LiveUpdate): void {
    const missed = this.#waiting;
    const whole = missed
      ? { ...update, rowsLeftOut: update.rowsLeftOut + missed.rowsLeftOut + missed.rows.length }
      : update;
    if (this.#isReady) this.#pass(whole);
    else this.#waiting = whole;
  }

  /** The subscriber can take another update. */
  ready(): void {
    this.#isReady = true;
    const waiting = this.#waiting;
    if (waiting) this.#pass(waiting);
  }

  #pass(update: LiveUpdate): void {
    this.#waiting = null;
    this.#isReady = this.#send(update);
  }
}
