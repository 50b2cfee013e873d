/**
 * Main-thread side of the compile thread: starts it, bounds its memory and time, and turns every
 * way in which it can end into a result or an error.
 */
import { Worker } from 'node:worker_threads';
import { AppError, toWire } from '../../contract/errors.ts';
import { LIMITS } from '../../contract/limits.ts';
import { threadEntry } from '../../contract/thread-entry.ts';
import type { RuleBuffers } from '../../engine/filter/rule-set.ts';
import type { Compiled, CompileSource } from './compile.ts';
import type { NameChanges } from './list-diff.ts';

/** Heap of the thread. The parsers make next to no objects; texts and tables lie outside it. */
const HEAP_MIB = 64;

export interface CompileJob {
  /** In the order of the settings. */
  readonly sources: readonly CompileSource[];
  /** Key of the table in use. */
  readonly keyInUse: Uint8Array;
  /** The table in use, to count what changes; null for no counting. */
  readonly inUse: RuleBuffers | null;
  /** Where the thread saves the table. */
  readonly snapshotPath: string;
}

export interface CompileDone extends Compiled {
  /** Names that came and went, of lists with a new copy in the table. */
  readonly changes: readonly NameChanges[];
  /** Why the snapshot could not be saved; '' when it was. */
  readonly snapshotError: string;
}

export type CompileMessage =
  | { readonly kind: 'progress'; readonly listId: number; readonly lines: number }
  | ({ readonly kind: 'done' } & CompileDone);

export interface CompileOptions {
  onProgress(listId: number, lines: number): void;
  /** Ends the thread at once. */
  readonly signal: AbortSignal;
  /** Another thread entry, for tests of its crashes. */
  readonly entry?: URL | undefined;
  /** Default LIMITS.listCompileMs. */
  readonly timeMs?: number;
}

/**
 * Compiles in a thread of its own. Resolves or rejects only when the thread has ended.
 *
 * @throws AppError INTERNAL when the thread crashes, runs out of memory or time, or is ended
 */
export function compileInThread(job: CompileJob, options: CompileOptions): Promise<CompileDone> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(options.entry ?? threadEntry('lists/compile/compile-thread'), {
      workerData: job,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB, maxYoungGenerationSizeMb: 3 },
    });
    let done: CompileDone | null = null;
    let failure = 'it ended without a result';
    const end = (reason: string): void => {
      failure = reason;
      void worker.terminate();
    };
    const onAbort = (): void => {
      end('it was stopped');
    };
    const timeMs = options.timeMs ?? LIMITS.listCompileMs;
    const timer = setTimeout(end, timeMs, `it took longer than ${String(timeMs / 1000)} s`);
    timer.unref();
    options.signal.addEventListener('abort', onAbort, { once: true });
    if (options.signal.aborted) onAbort();
    worker.on('message', (message: CompileMessage) => {
      if (message.kind === 'progress') options.onProgress(message.listId, message.lines);
      else done = message;
    });
    worker.on('error', (error: unknown) => {
      failure = toWire(error).message;
    });
    worker.once('exit', () => {
      clearTimeout(timer);
      options.signal.removeEventListener('abort', onAbort);
      if (done) resolve(done);
      else reject(new AppError('INTERNAL', `lists could not be compiled: ${failure}`));
    });
  });
}
