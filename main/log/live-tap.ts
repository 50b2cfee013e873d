/**
 * The live view's window into the log rings: the newest rows, at most four times a second.
 *
 * Used by the writer thread. Rows are seen where they lie in the rings, before they are stored, so
 * a locked or full database does not hold them back. While the writer is stalled the rings fill up;
 * from then on the view shows records that the rings dropped, out of their spill areas (ring.ts).
 * Rows carry their database id when they were stored before they were shown, otherwise 0.
 */
import { LIMITS } from '../contract/limits.ts';
import type { QueryEvent } from '../contract/query-event.ts';
import type { Batch } from './batch.ts';
import { RECORD_BYTES, RecordMemory, toQueryEvent } from './record.ts';
import type { RecordNames } from './record.ts';
import type { LogRing } from './ring.ts';

/** One live update. */
export interface LiveRows {
  /** Newest last; at most LIMITS.liveRowsMax. */
  rows: QueryEvent[];
  /** Records since the last update that are not among the rows. */
  leftOut: number;
}

/** Collects live rows. Nothing is done while it is off. Thread: the writer's. */
export class LiveTap {
  readonly #rings: readonly LogRing[];
  /** Undrained records of each ring that have been seen, counted from its oldest. */
  readonly #seen: Int32Array;
  readonly #spillSeen: Int32Array;
  readonly #kept: RecordMemory;
  readonly #ids = new Float64Array(LIMITS.liveRowsMax);
  #keptCount = 0;
  #leftOut = 0;
  #isOn = false;

  constructor(rings: readonly LogRing[]) {
    this.#rings = rings;
    this.#seen = new Int32Array(rings.length);
    this.#spillSeen = new Int32Array(rings.length);
    this.#kept = new RecordMemory(
      new ArrayBuffer(LIMITS.liveRowsMax * RECORD_BYTES),
      0,
      LIMITS.liveRowsMax,
    );
  }

  get isOn(): boolean {
    return this.#isOn;
  }

  /** Turns the view on or off; it begins with what arrives from now on. */
  set(on: boolean): void {
    if (on === this.#isOn) return;
    this.#isOn = on;
    this.#keptCount = 0;
    this.#leftOut = 0;
    for (const [index, ring] of this.#rings.entries()) {
      this.#seen[index] = ring.depth;
      this.#spillSeen[index] = ring.spilled;
    }
  }

  /** To be called for a batch that was stored, before it leaves the rings. */
  beforeRelease(batch: Batch, lastId: number): void {
    if (!this.#isOn) return;
    const firstId = lastId - batch.count + 1;
    const taken = new Int32Array(this.#rings.length);
    for (let index = 0; index < batch.count; index++) {
      const ring = batch.ringOf(index);
      const position = taken[ring] as number;
      taken[ring] = position + 1;
      if (position < (this.#seen[ring] as number)) continue;
      if (batch.count - index > LIMITS.liveRowsMax) this.#leftOut++;
      else this.#keep(batch.memory(index), batch.slot(index), firstId + index);
    }
    for (const ring of taken.keys()) {
      this.#seen[ring] = Math.max(0, (this.#seen[ring] as number) - (taken[ring] as number));
    }
  }

  /** Whether an update would say anything. */
  get hasNews(): boolean {
    if (!this.#isOn) return false;
    return (
      this.#keptCount + this.#leftOut > 0 ||
      this.#rings.some(
        (ring, index) =>
          ring.depth > (this.#seen[index] as number) || ring.spilled !== this.#spillSeen[index],
      )
    );
  }

  /** Everything since the last update. */
  take(names: RecordNames): LiveRows {
    for (let index = 0; index < this.#rings.length; index++) {
      this.#takeQueued(index);
      this.#takeSpilled(index);
    }
    const rows: QueryEvent[] = [];
    const count = Math.min(this.#keptCount, LIMITS.liveRowsMax);
    for (let index = this.#keptCount - count; index < this.#keptCount; index++) {
      const slot = index % LIMITS.liveRowsMax;
      rows.push(toQueryEvent(this.#kept, slot, names, this.#ids[slot] as number));
    }
    const leftOut = this.#leftOut + this.#keptCount - count;
    this.#keptCount = 0;
    this.#leftOut = 0;
    rows.sort((a, b) => a.timeMs - b.timeMs);
    return { rows, leftOut };
  }

  #takeQueued(index: number): void {
    const ring = this.#rings[index] as LogRing;
    const depth = ring.depth;
    const seen = this.#seen[index] as number;
    const from = Math.max(seen, depth - LIMITS.liveRowsMax);
    this.#leftOut += from - seen;
    for (let at = from; at < depth; at++) this.#keep(ring.records, ring.slotOf(at), 0);
    this.#seen[index] = depth;
  }

  #takeSpilled(index: number): void {
    const ring = this.#rings[index] as LogRing;
    const spilled = ring.spilled;
    // A 32-bit wrapping count: the difference is right across the wrap.
    const news = (spilled - (this.#spillSeen[index] as number)) >>> 0;
    const shown = Math.min(news, LIMITS.liveRowsMax);
    this.#leftOut += news - shown;
    for (let left = shown; left > 0; left--) {
      const number = (spilled - left) | 0;
      this.#keep(ring.spill, ring.spillSlotOf(number), 0);
      if (ring.spillIsWhole(number)) continue;
      this.#keptCount--;
      this.#leftOut++;
    }
    this.#spillSeen[index] = spilled;
  }

  #keep(memory: RecordMemory, slot: number, id: number): void {
    const to = this.#keptCount % LIMITS.liveRowsMax;
    this.#kept.copy(to, memory, slot);
    this.#ids[to] = id;
    this.#keptCount++;
  }
}
