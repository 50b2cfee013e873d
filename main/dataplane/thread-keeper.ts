/**
 * Keeps one data-plane thread running: starts it, passes messages on, starts it again when it dies,
 * ends it. Used by data-plane.ts in the main thread.
 *
 * A new thread gets the same counter block and log ring, so that totals survive, and the present
 * policy and servers. The wait before a restart doubles up to a bound, and begins anew after a
 * minute without a death.
 */
import { Worker } from 'node:worker_threads';
import { fromWire } from '../contract/errors.ts';
import { threadEntry } from '../contract/thread-entry.ts';
import type { CachedItem } from '../engine/cache/cache-view.ts';
import type { UpstreamState } from '../net/upstream/upstream.ts';
import type { Listening } from './listeners.ts';
import type { OwnAnswer } from './own-question.ts';
import type { FromThread, ThreadSetup, ToThread, UpstreamNews } from './messages.ts';

const BACKOFF_FIRST_MS = 50;
const BACKOFF_LAST_MS = 5_000;
/** Running so long counts as recovered. */
const STEADY_MS = 60_000;
/** Longest wait for a thread to end by itself; its own drain takes a second at most. */
const CLOSE_MS = 3_000;

/**
 * Room for new objects before the collector looks: packets of node:dgram each pin a page until
 * then, so less room is less memory. Against 6, at 10,000 forwarded questions a second, 3 is some
 * 4 MiB less for at most a tenth more CPU; blocked and cached answers make no objects.
 */
const YOUNG_GENERATION_MIB = 3;
/**
 * Room for all other objects: those of the waiters and questions that limits.ts allows take a third
 * of it. Tables, cache and packets lie outside. The less room, the earlier V8 collects.
 */
const OLD_GENERATION_MIB = 48;

/** What a keeper asks and tells. */
export interface KeeperOptions {
  /** For texts: "data-plane thread 1". */
  readonly name: string;
  /** What a thread begins with now; asked anew at each start. */
  readonly setup: () => ThreadSetup;
  /** One sentence for the health report. */
  readonly onFault: (reason: string) => void;
  readonly onRestart: () => void;
  readonly onUpstream: (news: UpstreamNews) => void;
  /** At each start, and when it changes. */
  readonly onListening: (listening: Listening) => void;
}

/** What a thread says when it answers. */
export type Started = Extract<FromThread, { kind: 'listening' }>;

/** What a thread says to a message with an id. */
type Reply = Extract<FromThread, { readonly id: number }>;

/** One thread's keeper. */
export class ThreadKeeper {
  readonly #options: KeeperOptions;
  #worker: Worker | null = null;
  #restartTimer: NodeJS.Timeout | null = null;
  #backoffMs = BACKOFF_FIRST_MS;
  #isClosing = false;
  #ended: Promise<void> = Promise.resolve();
  /** Who waits for a reply of the thread, by message id. */
  readonly #waiting = new Map<number, (reply: Reply | null) => void>();
  #nextId = 0;

  constructor(options: KeeperOptions) {
    this.#options = options;
  }

  /** Starts the thread for the first time. @throws AppError when it cannot listen */
  start(): Promise<Started> {
    return this.#run();
  }

  /** Passes a message on; one that is not running gets the present state when it starts. */
  post(message: ToThread): void {
    this.#worker?.postMessage(message);
  }

  /** Resolves when the thread has done all that was posted; at once when none runs. */
  async settled(): Promise<void> {
    await this.#ask((id) => ({ kind: 'settle', id }));
  }

  /** What the thread's cache holds about a name; nothing when no thread runs. */
  async inspectCache(name: string): Promise<readonly CachedItem[]> {
    const reply = await this.#ask((id) => ({ kind: 'inspect-cache', id, name }));
    return reply?.kind === 'inspected' ? reply.items : [];
  }

  /** Makes the thread's cache forget a name. Resolves with the number of answers. */
  async flushName(name: string, below: boolean): Promise<number> {
    const reply = await this.#ask((id) => ({ kind: 'flush-name', id, name, below }));
    return reply?.kind === 'flushed' ? reply.count : 0;
  }

  /** Asks a question through the thread's engine; null when the thread ends before, or none runs. */
  async resolve(packet: Uint8Array, address: Uint8Array): Promise<OwnAnswer | null> {
    const reply = await this.#ask((id) => ({ kind: 'resolve', id, packet, address }));
    return reply?.kind === 'resolved' ? reply : null;
  }

  /** Sends a message that is answered; null when the thread ends before, or none runs. */
  #ask(message: (id: number) => ToThread): Promise<Reply | null> {
    if (this.#worker === null) return Promise.resolve(null);
    const id = ++this.#nextId;
    this.post(message(id));
    return new Promise((resolve) => this.#waiting.set(id, resolve));
  }

  /** How the thread's upstreams are doing; empty when none runs. */
  async upstreamStates(): Promise<readonly UpstreamState[]> {
    const reply = await this.#ask((id) => ({ kind: 'describe-upstreams', id }));
    return reply?.kind === 'upstream-states' ? reply.states : [];
  }

  /** The end of the thread; answers on their way are waited for. Idempotent. */
  async close(): Promise<void> {
    this.#isClosing = true;
    if (this.#restartTimer !== null) clearTimeout(this.#restartTimer);
    this.#restartTimer = null;
    const worker = this.#worker;
    if (worker === null) return this.#ended;
    worker.postMessage({ kind: 'close' } satisfies ToThread);
    const timer = setTimeout(() => void worker.terminate(), CLOSE_MS);
    await this.#ended;
    clearTimeout(timer);
  }

  /**
   * Runs one thread; the promise settles when it answers or has ended before that. A thread that
   * cannot even be made (ERR_WORKER_INIT_FAILED) is one that has ended.
   */
  async #run(): Promise<Started> {
    const worker = new Worker(threadEntry('dataplane/dataplane-thread'), {
      workerData: this.#options.setup(),
      name: this.#options.name,
      resourceLimits: {
        maxYoungGenerationSizeMb: YOUNG_GENERATION_MIB,
        maxOldGenerationSizeMb: OLD_GENERATION_MIB,
      },
    });
    this.#worker = worker;
    const startedMs = performance.now();
    return new Promise((resolve, reject) => {
      let isListening = false;
      let cause: Error = new Error('it ended without a word');
      worker.on('message', (message: FromThread) => {
        if (message.kind === 'failed') cause = fromWire(message.error);
        if (message.kind !== 'listening') {
          this.#hear(message);
          return;
        }
        isListening = true;
        this.#options.onListening(message);
        resolve(message);
      });
      worker.on('error', (error: Error) => {
        cause = error;
      });
      this.#ended = new Promise((ended) => {
        worker.on('exit', () => {
          this.#worker = null;
          for (const resume of this.#waiting.values()) resume(null);
          this.#waiting.clear();
          if (performance.now() - startedMs > STEADY_MS) this.#backoffMs = BACKOFF_FIRST_MS;
          if (isListening && !this.#isClosing) this.#restartLater(cause);
          reject(cause);
          ended();
        });
      });
    });
  }

  #hear(message: FromThread): void {
    switch (message.kind) {
      case 'fault':
        this.#options.onFault(`${this.#options.name}: ${message.reason}`);
        break;
      case 'upstream-trouble':
      case 'unreachable':
        this.#options.onUpstream(message);
        break;
      case 'listeners':
        this.#options.onListening(message);
        break;
      case 'listening':
      case 'failed':
        break;
      default:
        this.#waiting.get(message.id)?.(message);
        this.#waiting.delete(message.id);
    }
  }

  #restartLater(cause: Error): void {
    this.#options.onFault(`${this.#options.name} ended and is started again: ${cause.message}`);
    this.#restartTimer = setTimeout(() => {
      this.#restartTimer = null;
      this.#options.onRestart();
      this.#run().catch((error: unknown) => {
        const text = error instanceof Error ? error : new Error(String(error));
        if (!this.#isClosing) this.#restartLater(text);
      });
    }, this.#backoffMs);
    this.#backoffMs = Math.min(this.#backoffMs * 2, BACKOFF_LAST_MS);
  }
}
