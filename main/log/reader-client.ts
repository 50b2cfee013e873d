/**
 * The main thread's side of the log reader: starts its thread at the first call, ends it when idle,
 * and does not wait for one that hangs.
 *
 * Used by query-log.ts.
 */
import { Worker } from 'node:worker_threads';
import { AppError, fromWire } from '../contract/errors.ts';
import { LIMITS } from '../contract/limits.ts';
import { threadEntry } from '../contract/thread-entry.ts';
import type { FromReader, ReaderCall, ReaderCalls, ReaderData, ToReader } from './messages.ts';

/** Idle time after which the thread is ended and its memory given back. */
const IDLE_MS = 30_000;
/** Over the time box: thread start, last piece, a busy machine. */
const GRACE_MS = 1_500;
/** Calls that may wait; the next one is refused. */
const WAITING_MAX = 32;

/** For tests; the program gives none of these. */
export interface ReaderClientOptions {
  readonly entry?: URL;
  readonly timeoutMs?: number;
  readonly idleMs?: number;
}

/** Calls into the reader thread, one at a time, in order. */
export class ReaderClient {
  readonly #directory: string;
  readonly #entry: URL;
  readonly #timeoutMs: number;
  readonly #idleMs: number;
  #worker: Worker | null = null;
  /** Threads that were told to end and have not yet. */
  readonly #ending = new Set<Worker>();
  #idleTimer: NodeJS.Timeout | null = null;
  #lastId = 0;
  #waiting = 0;
  #tail: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(directory: string, options: ReaderClientOptions = {}) {
    this.#directory = directory;
    this.#entry = options.entry ?? threadEntry('log/reader-thread');
    this.#timeoutMs = options.timeoutMs ?? LIMITS.searchMs + GRACE_MS;
    this.#idleMs = options.idleMs ?? IDLE_MS;
  }

  /** Whether the thread is there. */
  get isRunning(): boolean {
    return this.#worker !== null;
  }

  /**
   * Makes one call.
   *
   * @param prepare  runs before it, while no other call reads
   * @throws AppError SEARCH_TIMEOUT when the thread hangs (it is ended then), TOO_MANY when too many
   *         calls wait, LOG_UNAVAILABLE when the database cannot be read or the client is closed
   */
  call<Call extends ReaderCall>(
    kind: Call,
    argumentsOfCall: ReaderCalls[Call]['arguments'],
    prepare: () => Promise<void>,
  ): Promise<ReaderCalls[Call]['result']> {
    if (this.#waiting >= WAITING_MAX) {
      return Promise.reject(new AppError('TOO_MANY', 'search the query log: too many searches'));
    }
    this.#waiting++;
    const result = this.#tail.then(async () => {
      this.#waiting--;
      await prepare();
      return this.#send(kind, argumentsOfCall);
    });
    this.#tail = result.then(ignore, ignore);
    return result;
  }

  /** Ends the thread. Resolves when it has ended, or after a second if it hangs. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#endWorker();
    const ended = [...this.#ending].map((worker) => worker.terminate());
    const timeout = new AbortController();
    await Promise.race([Promise.all(ended), delay(1_000, timeout.signal)]);
    timeout.abort();
  }

  #send<Call extends ReaderCall>(
    kind: Call,
    argumentsOfCall: ReaderCalls[Call]['arguments'],
  ): Promise<ReaderCalls[Call]['result']> {
    if (this.#isClosed) return Promise.reject(closedError());
    // A thread that hangs inside SQLite cannot be ended from outside: do not pile up more of them.
    if (this.#ending.size > 1) return Promise.reject(timeoutError());
    this.#clearIdleTimer();
    this.#worker ??= this.#start();
    const worker = this.#worker;
    const id = ++this.#lastId;
    return new Promise<ReaderCalls[Call]['result']>((resolve, reject) => {
      const settle = (): void => {
        clearTimeout(timer);
        worker.off('message', onMessage).off('error', onError).off('exit', onExit);
        this.#armIdleTimer();
      };
      const fail = (error: Error): void => {
        settle();
        if (this.#worker === worker) this.#endWorker();
        reject(error);
      };
      const onMessage = (message: FromReader): void => {
        if (message.id !== id) return;
        settle();
        if (message.ok) resolve(message.value as ReaderCalls[Call]['result']);
        else reject(fromWire(message.error));
      };
      const onError = (error: unknown): void => {
        const text = error instanceof Error ? error.message : String(error);
        fail(new AppError('LOG_UNAVAILABLE', `search the query log: ${text}`, error));
      };
      const onExit = (): void => {
        fail(this.#isClosed ? closedError() : timeoutError());
      };
      const timer = setTimeout(() => {
        fail(timeoutError());
      }, this.#timeoutMs);
      worker.on('message', onMessage).on('error', onError).on('exit', onExit);
      worker.postMessage({ kind, id, arguments: argumentsOfCall } as ToReader);
    });
  }

  #start(): Worker {
    const data: ReaderData = { directory: this.#directory };
    const worker = new Worker(this.#entry, {
      name: 'log-reader',
      workerData: data,
      resourceLimits: { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 64 },
    });
    // The thread alone does not keep the program running.
    worker.unref();
    worker.once('exit', () => {
      this.#ending.delete(worker);
      if (this.#worker === worker) this.#worker = null;
    });
    return worker;
  }

  #endWorker(): void {
    const worker = this.#worker;
    this.#worker = null;
    this.#clearIdleTimer();
    if (worker === null) return;
    this.#ending.add(worker);
    void worker.terminate();
  }

  #armIdleTimer(): void {
    this.#clearIdleTimer();
    this.#idleTimer = setTimeout(() => {
      const worker = this.#worker;
      this.#worker = null;
      worker?.postMessage({ kind: 'close' } satisfies ToReader);
    }, this.#idleMs).unref();
  }

  #clearIdleTimer(): void {
    if (this.#idleTimer !== null) clearTimeout(this.#idleTimer);
    this.#idleTimer = null;
  }
}

function timeoutError(): AppError {
  return new AppError('SEARCH_TIMEOUT', 'search the query log: it took too long and was ended');
}

function closedError(): AppError {
  return new AppError('LOG_UNAVAILABLE', 'search the query log: it is closed');
}

function ignore(): void {
  // The caller has the result; the chain only keeps order.
}

function delay(timeMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, timeMs);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
