/**
 * The live topic: one stream of updates for everybody who looks, at most four a second.
 *
 * Owned by the service in the main thread. Nothing is collected while nobody subscribes. An update
 * carries at most LIMITS.liveRowsMax rows and counts the others; totals in it are always exact. A
 * subscriber that cannot keep up is the business of its door (api/newest-update.ts).
 */
import { AppError } from '../../contract/errors.ts';
import { LIMITS } from '../../contract/limits.ts';
import type { LiveUpdate, QueueStatus } from '../../contract/methods/methods.ts';
import type { QueryEvent } from '../../contract/query-event.ts';
import type { ServiceClock } from '../../system/clock.ts';

/** Longest time between two updates, so that totals and health move without rows too. */
const QUIET_MS = 1_000;

export interface LiveOptions {
  readonly clock: ServiceClock;
  /** Everything of an update but the rows; called once an update. */
  readonly facts: () => Omit<LiveUpdate, 'rows' | 'rowsLeftOut'>;
  /** Switches the source of rows on with the first subscriber and off with the last. */
  readonly setSource: (on: boolean) => void;
}

export class LiveTopic {
  readonly #options: LiveOptions;
  readonly #subscribers = new Set<{ readonly onUpdate: (update: LiveUpdate) => void }>();
  #rows: QueryEvent[] = [];
  #leftOut = 0;
  #refused = 0;
  #sentAtMs = -Infinity;
  #dueAtMs = Infinity;
  #cancelTimer: () => void = () => undefined;

  constructor(options: LiveOptions) {
    this.#options = options;
  }

  /** @throws AppError TOO_MANY beyond LIMITS.subscribersMax; counted in `queue` */
  subscribe(onUpdate: (update: LiveUpdate) => void): () => void {
    if (this.#subscribers.size >= LIMITS.subscribersMax) {
      this.#refused++;
      throw new AppError(
        'TOO_MANY',
        `subscribing failed: all ${String(LIMITS.subscribersMax)} live places are taken`,
      );
    }
    const subscriber = { onUpdate };
    this.#subscribers.add(subscriber);
    if (this.#subscribers.size === 1) this.#options.setSource(true);
    this.touch();
    return () => {
      if (this.#subscribers.delete(subscriber) && this.#subscribers.size === 0) this.#rest();
    };
  }

  /** Takes new rows, oldest first, and how many others there were. */
  push(rows: readonly QueryEvent[], leftOut: number): void {
    if (this.#subscribers.size === 0) return;
    this.#leftOut += leftOut;
    this.#rows.push(...rows);
    const excess = this.#rows.length - LIMITS.liveRowsMax;
    if (excess > 0) {
      this.#rows.splice(0, excess);
      this.#leftOut += excess;
    }
    this.touch();
  }

  /** Asks for an update soon, because something besides rows changed. */
  touch(): void {
    if (this.#subscribers.size === 0) return;
    this.#schedule(this.#sentAtMs + LIMITS.liveIntervalMs);
  }

  /** Subscribers as a bounded queue: places, taken, refused. */
  get queue(): QueueStatus {
    return {
      name: 'live subscribers',
      capacity: LIMITS.subscribersMax,
      depth: this.#subscribers.size,
      dropped: this.#refused,
    };
  }

  close(): void {
    this.#subscribers.clear();
    this.#rest();
  }

  #rest(): void {
    this.#cancelTimer();
    this.#dueAtMs = Infinity;
    this.#rows = [];
    this.#leftOut = 0;
    this.#options.setSource(false);
  }

  #schedule(dueAtMs: number): void {
    if (dueAtMs >= this.#dueAtMs) return;
    this.#cancelTimer();
    this.#dueAtMs = dueAtMs;
    const delayMs = Math.max(0, dueAtMs - this.#options.clock.monotonicMs());
    this.#cancelTimer = this.#options.clock.after(delayMs, () => {
      this.#send();
    });
  }

  #send(): void {
    // First: a fault in what follows must not be the last update.
    this.#sentAtMs = this.#options.clock.monotonicMs();
    this.#dueAtMs = Infinity;
    this.#schedule(this.#sentAtMs + QUIET_MS);
    const update = { ...this.#options.facts(), rows: this.#rows, rowsLeftOut: this.#leftOut };
    this.#rows = [];
    this.#leftOut = 0;
    for (const subscriber of [...this.#subscribers]) {
      try {
        subscriber.onUpdate(update);
      } catch {
        // A door that fails must not cost the others their update: it loses its place instead.
        this.#subscribers.delete(subscriber);
        this.#refused++;
        if (this.#subscribers.size === 0) this.#rest();
      }
    }
  }
}
