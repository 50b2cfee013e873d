/**
 * The records of one transaction, as places in the rings: nothing is copied, nothing is taken out
 * until the transaction has been committed.
 *
 * Used by the writer thread (writer.ts), one object for its whole life.
 */
import { LIMITS } from '../contract/limits.ts';
import type { RecordMemory } from './record.ts';
import type { LogRing } from './ring.ts';

/** At most LIMITS.logBatchRecords records of several rings, in order of arrival. */
export class Batch {
  /** Records in the batch. */
  count = 0;
  readonly #rings: readonly LogRing[];
  readonly #ringOf = new Uint8Array(LIMITS.logBatchRecords);
  readonly #slotOf = new Int32Array(LIMITS.logBatchRecords);
  readonly #taken: Int32Array;
  readonly #available: Int32Array;

  constructor(rings: readonly LogRing[]) {
    this.#rings = rings;
    this.#taken = new Int32Array(rings.length);
    this.#available = new Int32Array(rings.length);
  }

  /** Chooses the oldest records; those of one ring stay in order. */
  collect(): void {
    this.count = 0;
    let left = 0;
    for (const [index, ring] of this.#rings.entries()) {
      this.#taken[index] = 0;
      this.#available[index] = ring.depth;
      left += ring.depth;
    }
    left = Math.min(left, LIMITS.logBatchRecords);
    while (this.count < left) {
      const ring = this.#rings.length === 1 ? 0 : this.#oldest();
      const taken = this.#taken[ring] as number;
      this.#ringOf[this.count] = ring;
      this.#slotOf[this.count] = this.#ring(ring).slotOf(taken);
      this.#taken[ring] = taken + 1;
      this.count++;
    }
  }

  /** The memory that holds record `index`. */
  memory(index: number): RecordMemory {
    return this.#ring(this.#ringOf[index] as number).records;
  }

  /** The slot of record `index` in its memory. */
  slot(index: number): number {
    return this.#slotOf[index] as number;
  }

  /** How many records of a ring are in the batch. */
  taken(ring: number): number {
    return this.#taken[ring] as number;
  }

  /** Number of the ring that record `index` lies in. */
  ringOf(index: number): number {
    return this.#ringOf[index] as number;
  }

  /** Frees the records in their rings: they are stored. */
  release(): void {
    for (const [index, ring] of this.#rings.entries()) ring.advance(this.#taken[index] as number);
    this.count = 0;
  }

  #ring(index: number): LogRing {
    return this.#rings[index] as LogRing;
  }

  /** The ring whose next record arrived first. */
  #oldest(): number {
    let oldest = -1;
    let oldestMs = Infinity;
    for (let index = 0; index < this.#rings.length; index++) {
      const taken = this.#taken[index] as number;
      if (taken >= (this.#available[index] as number)) continue;
      const ring = this.#ring(index);
      const timeMs = ring.records.timeMs(ring.slotOf(taken));
      if (oldest < 0 || timeMs < oldestMs) {
        oldest = index;
        oldestMs = timeMs;
      }
    }
    return oldest;
  }
}
