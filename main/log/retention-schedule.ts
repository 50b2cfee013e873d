/**
 * When retention runs: on a coarse timer, at once when the byte bound is passed or somebody asks,
 * and always in steps between batches.
 *
 * Used by writer.ts. The work itself is in retention.ts, the connection in store.ts.
 */
import type { StatusBlock } from './status-block.ts';
import type { LogStore } from './store.ts';

/** Time between two runs, and from start to the first one. */
const INTERVAL_MS = 60_000;
const FIRST_MS = 10_000;
/** Every so many runs look at all rows: once a day, the first one included. */
const SWEEP_RUNS = 1_440;
/** Shortest time between two runs that the byte bound asks for. */
const URGENT_MS = 1_000;

/** What the schedule needs of the writer. */
export interface RetentionHost {
  readonly store: LogStore;
  readonly status: StatusBlock;
  /** Whether the batches leave room for a step now. */
  mayStep(): boolean;
  /** Whether the database can be used at all. */
  mayBegin(): boolean;
  onFailure(error: unknown): void;
  onTick(): void;
}

/** The schedule. Thread: the writer's. */
export class RetentionSchedule {
  readonly #host: RetentionHost;
  #timer: NodeJS.Timeout | null = null;
  #waiters: (() => void)[] = [];
  #ticks = 0;
  #isStepping = false;
  #begunMs = -Infinity;

  constructor(host: RetentionHost) {
    this.#host = host;
  }

  start(): void {
    this.#timer = setTimeout(this.#onTimer, FIRST_MS).unref();
  }

  /** A run over all rows now; resolves when it has ended, whether it could work or not. */
  pruneNow(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiters.push(resolve);
      this.#host.store.endRetention();
      this.#begin(true, true);
      if (!this.#host.store.isRetaining) this.end();
    });
  }

  /** A run because the settings changed. */
  pruneSoon(): void {
    this.#begin(false);
  }

  /** A run because the byte bound was passed. */
  pruneUrgently(): void {
    if (performance.now() - this.#begunMs >= URGENT_MS) this.#begin(false);
  }

  /** Gives up the current run, if there is one. */
  end(): void {
    this.#host.store.endRetention();
    for (const resolve of this.#waiters.splice(0)) resolve();
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.end();
  }

  readonly #onTimer = (): void => {
    this.#timer = setTimeout(this.#onTimer, INTERVAL_MS).unref();
    this.#host.onTick();
    this.#begin(this.#ticks % SWEEP_RUNS === 0);
    this.#ticks++;
  };

  #begin(sweeps: boolean, isAsked = false): void {
    const { store } = this.#host;
    if (!this.#host.mayBegin() || store.isRetaining) return;
    this.#begunMs = performance.now();
    if (store.beginRetention(sweeps, isAsked)) this.#continue();
  }

  #continue(): void {
    if (this.#isStepping) return;
    this.#isStepping = true;
    setImmediate(this.#step);
  }

  readonly #step = (): void => {
    this.#isStepping = false;
    const { store, status } = this.#host;
    if (!store.isRetaining) {
      this.end();
      return;
    }
    if (this.#host.mayStep()) {
      try {
        status.add('pruned', store.stepRetention());
      } catch (error) {
        this.#host.onFailure(error);
      }
    }
    this.#continue();
  };
}
