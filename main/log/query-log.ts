/**
 * The query log as the main thread has it: settings and names in, health, live rows, searches and
 * statistics out.
 *
 *     data-plane threads ──rings──▶ writer-thread.ts ──▶ SQLite ◀── reader-thread.ts
 *                                        ▲ │ live rows, health          ▲ │
 *                                        │ ▼                            │ ▼
 *                                     QueryLog ──────────────────▶ reader-client.ts
 *
 * Opened by compose.ts; used by service/. Nothing here is on the path of a query. A writer that
 * crashes is started again and goes on where the rings are.
 */
import { Worker } from 'node:worker_threads';
import type { QueryEvent } from '../contract/query-event.ts';
import { threadEntry } from '../contract/thread-entry.ts';

import type {
  FromWriter,
  LogHealth,
  LogSettings,
  SearchArguments,
  SearchResult,
  StatisticsArguments,
  StatisticsResult,
  ToWriter,
  WriterData,
} from './messages.ts';
import { ReaderClient } from './reader-client.ts';
import { LogRing } from './ring.ts';
import { StatusBlock } from './status-block.ts';
import { walBounds } from './wal-bounds.ts';

/** How long `open` waits for the writer; a slow disk must not hold up the start. */
const READY_MS = 2_000;
/** How long the writer may try to store what is queued at the end, and over that to end. */
const CLOSE_DRAIN_MS = 2_500;
const CLOSE_GRACE_MS = 500;
/** Waits between restarts of a crashed writer. */
const RESTART_MS = 500;
const RESTART_MAX_MS = 30_000;
/** A writer that ran this long starts the waits anew. */
const RESTART_RESET_MS = 60_000;
/** How long a read waits for the write-ahead log to be emptied before it. */
const CHECKPOINT_MS = 500;

/** What the log needs. */
export interface QueryLogOptions {
  /** Folder of the database; made when it is missing. */
  readonly directory: string;
  readonly settings: LogSettings;
  /** One per data-plane thread, from LogRing.createBuffer. */
  readonly rings: readonly SharedArrayBuffer[];
  /**
   * Newest rows, newest last, at most LIMITS.liveRowsMax; called at most once every
   * LIMITS.liveIntervalMs, while live is on. `leftOut` counts the others. A row that was shown
   * before it was stored has id 0.
   */
  onLive(rows: QueryEvent[], leftOut: number): void;
  /** `state` is another one than before. */
  onState(): void;
  /** The writer's thread entry; for tests. */
  readonly writerEntry?: URL;
}

/** Health and counters of the log at one moment. */
export interface QueryLogState {
  readonly state: 'ok' | 'degraded' | 'off';
  /** One plain sentence each; empty unless degraded. */
  readonly reasons: string[];
  /** Things worth telling that stop nothing. */
  readonly notices: string[];
  /** Records stored since start. */
  readonly stored: number;
  /** Records given up at close; those that found their ring full are the ring's to count. */
  readonly dropped: number;
  /** Database and write-ahead log on disk. */
  readonly bytes: number;
  readonly batches: number;
  /** Equals `batches`. */
  readonly statisticsUpdates: number;
  /** Rows removed by retention since start. */
  readonly pruned: number;
  /** Writer threads: 1, or 0 between a crash and the restart. */
  readonly writers: number;
  /** Crashed writers replaced. */
  readonly restarts: number;
}

/** The log. One per program. */
export class QueryLog {
  readonly #options: QueryLogOptions;
  readonly #status = StatusBlock.createBuffer();
  readonly #counters = new StatusBlock(this.#status);
  readonly #rings: readonly LogRing[];
  readonly #reader: ReaderClient;
  readonly #calls = new Map<number, () => void>();
  #settings: LogSettings;
  #lists: ReadonlyMap<number, string> = new Map();
  #upstreams: readonly string[] = [];
  #live = false;
  #health: LogHealth = { state: 'ok', reasons: [], notices: [] };
  #crash = '';
  #worker: Worker | null = null;
  #restarts = 0;
  #restartMs = RESTART_MS;
  #restartTimer: NodeJS.Timeout | null = null;
  #lastCall = 0;
  #onReady: () => void = () => undefined;
  #closing: Promise<void> | null = null;

  /**
   * Starts the writer. Never fails because of the database: an unusable one shows in `state`.
   * Resolves when the database was opened or could not be, after two seconds at the latest.
   */
  static async open(options: QueryLogOptions): Promise<QueryLog> {
    const log = new QueryLog(options);
    await log.#ready();
    return log;
  }

  private constructor(options: QueryLogOptions) {
    this.#options = options;
    this.#settings = options.settings;
    this.#rings = options.rings.map((buffer) => new LogRing(buffer));
    this.#reader = new ReaderClient(options.directory);
  }

  get state(): QueryLogState {
    const counters = this.#counters;
    const reasons = this.#crash === '' ? this.#health.reasons : [this.#crash];
    const degraded = reasons.length > 0 ? 'degraded' : 'ok';
    return {
      state: this.#settings.mode === 'off' ? 'off' : degraded,
      reasons: this.#settings.mode === 'off' ? [] : [...reasons],
      notices: [...this.#health.notices],
      stored: counters.get('stored'),
      dropped: counters.get('dropped'),
      bytes: counters.get('bytes'),
      batches: counters.get('batches'),
      statisticsUpdates: counters.get('statisticsUpdates'),
      pruned: counters.get('pruned'),
      writers: this.#worker === null ? 0 : 1,
      restarts: this.#restarts,
    };
  }

  /** Turns live rows on or off. They begin with what arrives from now on. */
  setLive(on: boolean): void {
    if (on === this.#live) return;
    this.#live = on;
    this.#post({ kind: 'live', on });
  }

  /** Names for the numbers in records that come from now on; stored rows keep theirs. */
  setNames(lists: ReadonlyMap<number, string>, upstreams: readonly string[]): void {
    this.#lists = lists;
    this.#upstreams = upstreams;
    this.#post({ kind: 'names', lists, upstreams });
  }

  /** Applies changed settings; what is beyond the new bounds is removed soon. */
  setSettings(settings: LogSettings): void {
    const modeChanges = settings.mode !== this.#settings.mode;
    this.#settings = settings;
    this.#post({ kind: 'settings', settings });
    if (modeChanges) this.#options.onState();
  }

  /** Removes what is beyond the bounds now; resolves when that is done or cannot be done. */
  prune(): Promise<void> {
    return this.#request((id) => ({ kind: 'prune', id }));
  }

  /**
   * Searches the stored rows, newest first.
   *
   * @throws AppError SEARCH_TIMEOUT, TOO_MANY, LOG_UNAVAILABLE
   */
  search(search: SearchArguments): Promise<SearchResult> {
    return this.#reader.call('search', search, this.#beforeRead);
  }

  /** Distinct names asked for since a time, the most asked for first. Throws like `search`. */
  usedNames(sinceMs: number, limit: number): Promise<string[]> {
    return this.#reader.call('usedNames', { sinceMs, limit }, this.#beforeRead);
  }

  /** Counts what happened in a span of time. Throws like `search`, and ARGUMENT_INVALID. */
  statistics(asked: StatisticsArguments): Promise<StatisticsResult> {
    return this.#reader.call('statistics', asked, this.#beforeRead);
  }

  /**
   * Stores what is queued and ends the threads, within three seconds; the producers must have
   * stopped. What could not be stored is added to `dropped`.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (this.#restartTimer !== null) clearTimeout(this.#restartTimer);
    await this.#reader.close();
    const worker = this.#worker;
    if (worker !== null) {
      const exited = new Promise<void>((resolve) =>
        worker.once('exit', () => {
          resolve();
        }),
      );
      this.#post({ kind: 'close', withinMs: CLOSE_DRAIN_MS });
      if (!(await within(exited, CLOSE_DRAIN_MS + CLOSE_GRACE_MS))) {
        await within(worker.terminate(), CLOSE_GRACE_MS);
      }
    }
    // Left over only when the writer crashed or hangs: they are lost with this process.
    for (const ring of this.#rings) {
      this.#counters.add('dropped', ring.depth);
      ring.advance(ring.depth);
    }
    this.#settleCalls();
  }

  async #ready(): Promise<void> {
    const ready = new Promise<void>((resolve) => (this.#onReady = resolve));
    this.#start();
    await within(ready, READY_MS);
  }

  #start(): void {
    const data: WriterData = {
      directory: this.#options.directory,
      settings: this.#settings,
      rings: this.#options.rings,
      status: this.#status,
      live: this.#live,
      lists: this.#lists,
      upstreams: this.#upstreams,
    };
    const startedMs = performance.now();
    let worker: Worker;
    try {
      worker = new Worker(this.#options.writerEntry ?? threadEntry('log/writer-thread'), {
        name: 'log-writer',
        workerData: data,
        resourceLimits: { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 32 },
      });
    } catch (error) {
      // No thread can be made now (ERR_WORKER_INIT_FAILED).
      if (this.#closing === null) this.#restart(String(error), 0);
      return;
    }
    let cause = '';
    worker.on('message', this.#onMessage);
    worker.once('error', (error: unknown) => {
      cause = error instanceof Error ? error.message : String(error);
    });
    worker.once('exit', () => {
      this.#worker = null;
      this.#settleCalls();
      if (this.#closing === null) this.#restart(cause, performance.now() - startedMs);
    });
    this.#worker = worker;
  }

  #restart(cause: string, ranMs: number): void {
    if (ranMs > RESTART_RESET_MS) this.#restartMs = RESTART_MS;
    this.#restarts++;
    this.#crash = `the query log is not being stored: its writer ended (${cause}) and starts again`;
    this.#restartTimer = setTimeout(() => {
      this.#start();
    }, this.#restartMs);
    this.#restartMs = Math.min(this.#restartMs * 2, RESTART_MAX_MS);
    this.#onReady();
    this.#options.onState();
  }

  readonly #onMessage = (message: FromWriter): void => {
    switch (message.kind) {
      case 'ready':
        if (this.#crash !== '') {
          this.#crash = '';
          this.#options.onState();
        }
        this.#onReady();
        return;
      case 'health':
        this.#health = message.health;
        this.#options.onState();
        return;
      case 'live':
        if (this.#live) this.#options.onLive([...message.rows], message.leftOut);
        return;
      case 'done':
        this.#calls.get(message.id)?.();
        this.#calls.delete(message.id);
    }
  };

  /** Lets the write-ahead log start over before a read, when reads have kept it from that. */
  readonly #beforeRead = async (): Promise<void> => {
    const { checkpointBytes } = walBounds(this.#settings.sizeMaxMiB * 1024 * 1024);
    if (this.#counters.get('walBytes') <= checkpointBytes * 2) return;
    await within(
      this.#request((id) => ({ kind: 'checkpoint', id })),
      CHECKPOINT_MS,
    );
  };

  #request(message: (id: number) => ToWriter): Promise<void> {
    if (this.#worker === null || this.#closing !== null) return Promise.resolve();
    const id = ++this.#lastCall;
    return new Promise((resolve) => {
      this.#calls.set(id, resolve);
      this.#post(message(id));
    });
  }

  #post(message: ToWriter): void {
    this.#worker?.postMessage(message);
  }

  #settleCalls(): void {
    for (const resolve of this.#calls.values()) resolve();
    this.#calls.clear();
  }
}

/** Whether a promise settles in time. */
async function within(promise: Promise<unknown>, timeMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, timeMs, false);
  });
  try {
    return await Promise.race([promise.then(() => true), timeout]);
  } finally {
    clearTimeout(timer);
  }
}
