/**
 * The log writer's counters in shared memory: written by the writer thread with plain stores, read
 * by the main thread at any time. They outlive a crashed writer, so that totals stay exact.
 */

/** Names in slot order; one Float64 each. */
const SLOTS = [
  'stored', // records committed since the program started
  'dropped', // records given up at close
  'batches', // committed transactions
  'statisticsUpdates', // committed aggregated updates; equals batches
  'bytes', // database file and write-ahead log together
  'walBytes', // write-ahead log alone
  'pruned', // rows removed by retention
  'failures', // batches that could not be committed at an attempt
] as const;
type StatusName = (typeof SLOTS)[number];

/** One view of the counters. Thread: any; only the writer calls `add` and `set`. */
export class StatusBlock {
  readonly #slots: Float64Array;

  static createBuffer(): SharedArrayBuffer {
    return new SharedArrayBuffer(SLOTS.length * Float64Array.BYTES_PER_ELEMENT);
  }

  constructor(buffer: SharedArrayBuffer) {
    this.#slots = new Float64Array(buffer);
  }

  get(name: StatusName): number {
    return this.#slots[SLOTS.indexOf(name)] as number;
  }

  set(name: StatusName, value: number): void {
    this.#slots[SLOTS.indexOf(name)] = value;
  }

  add(name: StatusName, value: number): void {
    this.set(name, this.get(name) + value);
  }
}
