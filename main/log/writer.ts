/**
 * The one writer of the query log: when a batch is due, what happens when it cannot be stored, and
 * what is done between batches.
 *
 *     rings ──wake──▶ LogWriter ──batch──▶ LogStore ──▶ SQLite
 *                        ├─ live rows ▶ main thread (live-feed.ts)
 *                        └─ retention steps between batches (retention-schedule.ts)
 *
 * A batch is due at LIMITS.logBatchRecords queued records, or LIMITS.logFlushMs after the first
 * queued one. With empty rings no timer runs but the one of retention: the producers' next record
 * wakes the thread. A batch leaves the rings only when it is committed, so what cannot be stored
 * stays queued, the rings fill, and the producers drop and count: pushed = stored + queued, always.
 *
 * Runs in writer-thread.ts; tests run it in their own thread.
 */
import { LIMITS } from '../contract/limits.ts';
import { Batch } from './batch.ts';
import { failureKind, failureReason, FAILURE_RULES } from './failure.ts';
import type { FailureKind } from './failure.ts';
import { LiveFeed } from './live-feed.ts';
import type { FromWriter, LogSettings } from './messages.ts';
import type { RecordNames } from './record.ts';
import { RetentionSchedule } from './retention-schedule.ts';
import type { LogRing } from './ring.ts';
import type { StatusBlock } from './status-block.ts';
import { LogStore } from './store.ts';

/** Wait between attempts while closing. */
const CLOSE_RETRY_MS = 25;
/** Damaged files replaced in a row before that counts as a stall. */
const REPLACEMENTS_MAX = 3;

/** What a writer is made of. */
export interface LogWriterOptions {
  readonly directory: string;
  readonly settings: LogSettings;
  readonly rings: readonly LogRing[];
  readonly status: StatusBlock;
  readonly names: RecordNames;
  post(message: FromWriter): void;
}

/** A time without a writable database. */
interface Stall {
  readonly kind: FailureKind;
  readonly sinceMs: number;
  reason: string;
  delayMs: number;
}

/** The writer. One per program. Every method returns within milliseconds, `close` excepted. */
export class LogWriter {
  readonly #options: LogWriterOptions;
  readonly #rings: readonly LogRing[];
  readonly #status: StatusBlock;
  readonly #store: LogStore;
  readonly #batch: Batch;
  readonly #live: LiveFeed;
  readonly #retention: RetentionSchedule;
  readonly #capacity: number;
  readonly #depths: Int32Array;
  #names: RecordNames;
  #closing = false;
  #stall: Stall | null = null;
  #replacements = 0;
  /** Latest time for the next batch, performance.now(); 0 when nothing is queued. */
  #deadlineMs = 0;
  /** After a stall all that is queued is overdue. */
  #isCatchingUp = false;
  #flushTimer: NodeJS.Timeout | null = null;
  #retryTimer: NodeJS.Timeout | null = null;
  #healthSent = '';

  constructor(options: LogWriterOptions) {
    this.#options = options;
    this.#rings = options.rings;
    this.#status = options.status;
    this.#names = options.names;
    this.#store = new LogStore({
      directory: options.directory,
      settings: options.settings,
      status: options.status,
      now: Date.now,
      onEvent: () => {
        this.#sendHealth();
      },
    });
    this.#batch = new Batch(options.rings);
    this.#depths = new Int32Array(options.rings.length);
    this.#live = new LiveFeed(options.rings, options.names, (update) => {
      options.post({ kind: 'live', ...update });
    });
    this.#retention = new RetentionSchedule({
      store: this.#store,
      status: this.#status,
      mayStep: () => this.#queued() * 2 < this.#capacity,
      mayBegin: () => !this.#closing && this.#stall === null,
      onFailure: (error) => {
        this.#failed(error);
      },
      onTick: () => {
        this.#sendHealth();
      },
    });
    this.#capacity = options.rings.reduce((sum, ring) => sum + ring.capacity, 0);
  }

  /** Opens the database, if it can be opened, and begins to listen to the rings. */
  start(): void {
    this.#tryOpen();
    this.#sendHealth();
    this.#retention.start();
    this.#proceed();
  }

  setNames(names: RecordNames): void {
    this.#names = names;
    this.#live.setNames(names);
  }

  setSettings(settings: LogSettings): void {
    try {
      this.#store.setSettings(settings);
    } catch (error) {
      this.#failed(error);
    }
    this.#retention.pruneSoon();
  }

  setLive(on: boolean): void {
    this.#live.set(on);
  }

  /** Runs retention over all rows; resolves when the run has ended, whether it could work or not. */
  prune(): Promise<void> {
    return this.#retention.pruneNow();
  }

  /** Empties the write-ahead log as far as readers let it. */
  checkpoint(): void {
    try {
      this.#store.checkpoint();
    } catch (error) {
      this.#failed(error);
    }
  }

  /**
   * Stores what is queued and closes the database. What cannot be stored within `withinMs` is
   * counted as dropped. The producers must have stopped.
   */
  async close(withinMs: number): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    this.#clearFlushTimer();
    if (this.#retryTimer !== null) clearTimeout(this.#retryTimer);
    this.#retention.close();
    const endMs = performance.now() + withinMs;
    while (this.#queued() > 0) {
      if (this.#attempt()) continue;
      if (performance.now() + CLOSE_RETRY_MS > endMs) break;
      await new Promise((resolve) => setTimeout(resolve, CLOSE_RETRY_MS));
    }
    for (const ring of this.#rings) {
      this.#status.add('dropped', ring.depth);
      ring.advance(ring.depth);
      ring.disarm();
    }
    this.#live.close();
    this.#store.close();
  }

  /** Looks at the rings and does, or arranges, what is next. */
  readonly #proceed = (): void => {
    if (this.#closing || this.#stall !== null) return;
    const queued = this.#queued();
    if (this.#isDue(queued)) {
      const begunMs = performance.now();
      if (!this.#attempt()) return;
      if (queued < LIMITS.logBatchRecords) this.#isCatchingUp = false;
      this.#deadlineMs = begunMs + LIMITS.logFlushMs;
      setImmediate(this.#proceed);
    } else if (queued === 0) {
      this.#sleep();
    } else {
      this.#awaitBatch(queued);
    }
    this.#live.poke();
  };

  #isDue(queued: number): boolean {
    if (queued === 0) return false;
    return (
      queued >= LIMITS.logBatchRecords ||
      this.#isCatchingUp ||
      (this.#deadlineMs > 0 && performance.now() >= this.#deadlineMs) ||
      this.#rings.some((ring) => ring.depth === ring.capacity)
    );
  }

  /** Nothing is queued: no timer, one wake-up at the next record of any ring. */
  #sleep(): void {
    this.#deadlineMs = 0;
    this.#clearFlushTimer();
    for (const ring of this.#rings) {
      if (ring.arm(1, this.#proceed)) continue;
      setImmediate(this.#proceed);
      return;
    }
  }

  /** Something is queued: wait for the rest of a batch, or for its time. */
  #awaitBatch(queued: number): void {
    if (this.#deadlineMs === 0) this.#deadlineMs = performance.now() + LIMITS.logFlushMs;
    if (this.#flushTimer === null) {
      const delayMs = Math.max(1, Math.ceil(this.#deadlineMs - performance.now()));
      this.#flushTimer = setTimeout(this.#onFlushTimer, delayMs);
    }
    // One ring must get this many before all of them together can have a batch. Counted from the
    // depths that were added up: producers go on meanwhile.
    const share = Math.ceil((LIMITS.logBatchRecords - queued) / this.#rings.length);
    for (const [index, ring] of this.#rings.entries()) {
      const depth = (this.#depths[index] as number) + share;
      if (ring.arm(Math.min(depth, ring.capacity), this.#proceed)) continue;
      setImmediate(this.#proceed);
      return;
    }
  }

  readonly #onFlushTimer = (): void => {
    this.#flushTimer = null;
    this.#proceed();
  };

  /** Tries to store one batch. On failure the stall is arranged and false returned. */
  #attempt(): boolean {
    this.#clearFlushTimer();
    this.#batch.collect();
    if (this.#batch.count === 0) return true;
    let lastId: number;
    try {
      lastId = this.#store.append(this.#batch, this.#names);
    } catch (error) {
      this.#status.add('failures', 1);
      this.#failed(error);
      return false;
    }
    this.#status.add('stored', this.#batch.count);
    this.#status.add('batches', 1);
    this.#status.add('statisticsUpdates', 1);
    this.#live.beforeRelease(this.#batch, lastId);
    this.#batch.release();
    this.#replacements = 0;
    this.#recovered();
    if (this.#store.isOverBound) this.#retention.pruneUrgently();
    return true;
  }

  /** Sorts a failure, replaces a file that is beyond use, and arranges the next attempt. */
  #failed(error: unknown): void {
    const { directory } = this.#options;
    const kind = failureKind(error, directory);
    if (this.#stall?.kind !== kind) {
      const { retryMs } = FAILURE_RULES[kind];
      this.#stall = { kind, sinceMs: performance.now(), reason: '', delayMs: retryMs };
    }
    this.#stall.reason = failureReason(kind, error, directory);
    if ((kind === 'corrupt' || kind === 'newer') && this.#replace(kind)) this.#stall.delayMs = 1;
    else if (FAILURE_RULES[kind].reopen) this.#store.close();
    this.#retention.end();
    this.#sendHealth();
    this.#scheduleRetry(this.#stall);
    this.#live.poke();
  }

  #replace(kind: 'corrupt' | 'newer'): boolean {
    if (this.#replacements >= REPLACEMENTS_MAX) return false;
    this.#replacements++;
    try {
      this.#store.replace(kind);
      return true;
    } catch {
      // The folder cannot be written: the stall says so, and the renaming is tried again.
      this.#status.add('failures', 1);
      return false;
    }
  }

  #scheduleRetry(stall: Stall): void {
    if (this.#closing || this.#retryTimer !== null) return;
    this.#retryTimer = setTimeout(this.#onRetryTimer, stall.delayMs);
    const { retryMs, retryMaxMs } = FAILURE_RULES[stall.kind];
    stall.delayMs = Math.min(Math.max(stall.delayMs * 2, retryMs), retryMaxMs);
  }

  readonly #onRetryTimer = (): void => {
    this.#retryTimer = null;
    if (this.#queued() === 0 ? !this.#tryOpen() : !this.#attempt()) return;
    this.#recovered();
    this.#proceed();
  };

  #tryOpen(): boolean {
    try {
      this.#store.open();
      return true;
    } catch (error) {
      this.#failed(error);
      return false;
    }
  }

  #recovered(): void {
    if (this.#stall === null) return;
    this.#stall = null;
    this.#isCatchingUp = true;
    this.#sendHealth();
  }

  /** Records in all rings; leaves those of each in `#depths`. */
  #queued(): number {
    let queued = 0;
    for (const [index, ring] of this.#rings.entries()) {
      const depth = ring.depth;
      this.#depths[index] = depth;
      queued += depth;
    }
    return queued;
  }

  #sendHealth(): void {
    const reasons = this.#store.recentEvents();
    const stall = this.#stall;
    if (stall !== null) {
      const lastedMs = performance.now() - stall.sinceMs;
      if (lastedMs >= FAILURE_RULES[stall.kind].tellAfterMs) reasons.unshift(stall.reason);
    }
    const state = reasons.length === 0 ? 'ok' : 'degraded';
    const health = { state, reasons, notices: this.#store.notices() } as const;
    const text = JSON.stringify(health);
    if (text === this.#healthSent) return;
    this.#healthSent = text;
    this.#options.post({ kind: 'health', health });
  }

  #clearFlushTimer(): void {
    if (this.#flushTimer !== null) clearTimeout(this.#flushTimer);
    this.#flushTimer = null;
  }
}
