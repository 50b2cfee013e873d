/**
 * When live rows are sent: at most once every LIMITS.liveIntervalMs, and only while there are any.
 *
 * Used by writer.ts, which calls `poke` whenever something may have happened. What is sent comes
 * from live-tap.ts.
 */
import { LIMITS } from '../contract/limits.ts';
import type { Batch } from './batch.ts';
import { LiveTap } from './live-tap.ts';
import type { LiveRows } from './live-tap.ts';
import type { RecordNames } from './record.ts';
import type { LogRing } from './ring.ts';

/** The live view's clock. No timer runs while it is off or nothing is queued. */
export class LiveFeed {
  readonly #rings: readonly LogRing[];
  readonly #tap: LiveTap;
  readonly #send: (update: LiveRows) => void;
  #names: RecordNames;
  #timer: NodeJS.Timeout | null = null;
  #sentMs = -Infinity;

  constructor(rings: readonly LogRing[], names: RecordNames, send: (update: LiveRows) => void) {
    this.#rings = rings;
    this.#tap = new LiveTap(rings);
    this.#names = names;
    this.#send = send;
  }

  set(on: boolean): void {
    this.#tap.set(on);
    this.poke();
  }

  setNames(names: RecordNames): void {
    this.#names = names;
  }

  /** To be called for a batch that was stored, before it leaves the rings. */
  beforeRelease(batch: Batch, lastId: number): void {
    this.#tap.beforeRelease(batch, lastId);
  }

  /** Arranges the next update, if one is due to come. */
  poke(): void {
    if (this.#timer !== null || !this.#tap.isOn) return;
    // While records wait, more may come without another wake-up: look again.
    if (!this.#tap.hasNews && this.#rings.every((ring) => ring.depth === 0)) return;
    const dueMs = this.#sentMs + LIMITS.liveIntervalMs - performance.now();
    this.#timer = setTimeout(this.#onTimer, Math.max(1, Math.ceil(dueMs)));
  }

  /** Ends it; what has been seen and not yet sent is sent. */
  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#update();
    this.#tap.set(false);
  }

  readonly #onTimer = (): void => {
    this.#timer = null;
    this.#update();
    this.poke();
  };

  #update(): void {
    this.#sentMs = performance.now();
    if (this.#tap.hasNews) this.#send(this.#tap.take(this.#names));
  }
}
