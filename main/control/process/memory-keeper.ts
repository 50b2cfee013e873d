/**
 * Keeps the program as small as what it needs: returns to the system what starting, compiling lists,
 * and the compilers of V8 when load comes, have taken and freed. Used by headless.ts in the main
 * thread. Pages of program code are the kernel's to take back, which it does when it needs them.
 *
 * After the start and after each compilation of lists it collects garbage; besides, it looks now
 * and then whether the process has grown, and gives freed memory back when it has. A process that
 * does not grow is left alone.
 */
import { setFlagsFromString } from 'node:v8';
import { collectStartGarbage } from '../../net/garbage.ts';
import { limitArenas, processMemory, trimMemory } from '../../net/native/process-memory.ts';

/** Quiet time after a start or a compilation, before its memory is given back. */
const SETTLE_MS = 2_000;
const LOOK_MS = 10_000;
const GROWTH_BYTES = 4 * 1024 * 1024;

/**
 * Size at which the first full collection of a thread begins, in MiB. By its default V8 lets a heap
 * grow to a hundred and more before that, whatever little of it is alive.
 */
const INITIAL_HEAP_MIB = 8;

/** What is measured and done; replaced in tests. */
export interface MemoryActions {
  collect(): void;
  trim(): void;
  /** Bytes. */
  resident(): number;
}

const REAL: MemoryActions = {
  collect: collectStartGarbage,
  trim: trimMemory,
  resident: () => processMemory().rssBytes,
};

/** Settings of the process that hold for threads started later. To be called first of all. */
export function boundMemory(): void {
  setFlagsFromString(`--initial-heap-size=${String(INITIAL_HEAP_MIB)}`);
  limitArenas();
}

export class MemoryKeeper {
  readonly #actions: MemoryActions;
  #settling: NodeJS.Timeout | undefined;
  #residentBefore = 0;

  constructor(actions: MemoryActions = REAL) {
    this.#actions = actions;
  }

  /** Begins to look; for the life of the process, which its timers do not prolong. */
  start(): void {
    this.#residentBefore = this.#actions.resident();
    setInterval(() => {
      this.#look();
    }, LOOK_MS).unref();
    this.settle();
  }

  /** Something large is over: gives its memory back soon, once for several such calls. */
  settle(): void {
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => {
      this.#actions.collect();
      this.#trim();
    }, SETTLE_MS).unref();
  }

  #look(): void {
    if (this.#actions.resident() > this.#residentBefore + GROWTH_BYTES) this.#trim();
  }

  #trim(): void {
    this.#actions.trim();
    this.#residentBefore = this.#actions.resident();
  }
}
