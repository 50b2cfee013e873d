/**
 * The log ring: how facts about answers leave a data-plane thread without ever holding it up.
 *
 * One SharedArrayBuffer, one producer (the engine of one data-plane thread), one consumer (the log
 * writer). Full means: the newest record is dropped and counted; nobody waits.
 *
 *     0     64    128   192   256         256 + S*R                     256 + (S + N)*R
 *     +-----+-----+-----+-----+-----------+-----------------------------+
 *     |shape|write|read |wake | spill     | slots                       |
 *     +-----+-----+-----+-----+-----------+-----------------------------+
 *      const prod. cons. both  S = 128     N = the slots asked for
 *                              records     records of R = RECORD_BYTES
 *
 * - The positions run from 0 to 2N-1 and wrap there: equal means empty, N apart means full, so all N
 *   slots are used and N need not be a power of two (4,096 are divided among threads). Each has a
 *   cache line of its own; the producer keeps a copy of the read position and looks at the shared
 *   one only when the ring seems full (LMAX disruptor).
 * - A slot belongs to the consumer from the store of `write` past it to the store of `read` past it.
 *   The writer advances only after its transaction: what it could not store is still here.
 * - `wake` holds the write position at which the consumer wants to be woken, or -1. The producer
 *   compares, and notifies once; most pushes do one atomic store and one atomic load.
 * - `spill` keeps the last dropped records for the live view alone, overwritten in turn, so that a
 *   stalled database does not freeze what people see. `spilled` counts them; a reader of spill slot
 *   i must find after its copy that fewer than S were added since.
 */
import { invariant } from '../contract/errors.ts';
import type { LogFacts, QuerySink } from '../engine/query/ports.ts';
import { RECORD_BYTES, RecordMemory } from './record.ts';

/** Dropped records that the live view can still see. A power of two. */
export const SPILL_SLOTS = 128;

const MAGIC = 0x51524e47;
const HEADER_BYTES = 256;
const NEVER = -1;

/** Int32 words of the header. */
const AT_MAGIC = 0;
const AT_SLOTS = 1;
const AT_RECORD_BYTES = 2;
const AT_WRITE = 16;
const AT_SPILLED = 17;
const AT_READ = 32;
const AT_WAKE = 48;
/** Float64 words, on the producer's cache line. */
const AT_PUSHED = 9;
const AT_DROPPED = 10;

/**
 * Either end of a log ring. Thread: `push` in the producer's only; `arm`, `disarm` and `advance` in
 * the consumer's only; the rest anywhere.
 */
export class LogRing implements QuerySink {
  /** Slots; exactly so many records can lie undrained. */
  readonly capacity: number;
  /** The records by slot; see `slotOf`. */
  readonly records: RecordMemory;
  /** The last dropped records; see `spillSlotOf`. */
  readonly spill: RecordMemory;
  readonly #header: Int32Array<SharedArrayBuffer>;
  readonly #counts: Float64Array;
  readonly #wrap: number;
  #write: number;
  #readSeen: number;
  #spilled: number;
  #waiting = false;

  /** Makes the memory of an empty ring with exactly `slots` slots (1 or more). */
  static createBuffer(slots: number): SharedArrayBuffer {
    invariant(Number.isInteger(slots) && slots > 0, 'a log ring has at least one slot');
    const buffer = new SharedArrayBuffer(HEADER_BYTES + (SPILL_SLOTS + slots) * RECORD_BYTES);
    const header = new Int32Array(buffer);
    header[AT_MAGIC] = MAGIC;
    header[AT_SLOTS] = slots;
    header[AT_RECORD_BYTES] = RECORD_BYTES;
    header[AT_WAKE] = NEVER;
    return buffer;
  }

  /** Opens one end. A restarted thread goes on where its predecessor stopped. */
  constructor(buffer: SharedArrayBuffer) {
    this.#header = new Int32Array(buffer, 0, HEADER_BYTES / 4);
    invariant(this.#header[AT_MAGIC] === MAGIC, 'the buffer is a log ring');
    invariant(this.#header[AT_RECORD_BYTES] === RECORD_BYTES, 'the log ring has our record size');
    this.capacity = this.#header[AT_SLOTS] as number;
    this.#wrap = this.capacity * 2;
    this.#counts = new Float64Array(buffer, 0, HEADER_BYTES / 8);
    this.spill = new RecordMemory(buffer, HEADER_BYTES, SPILL_SLOTS);
    const slotsAt = HEADER_BYTES + SPILL_SLOTS * RECORD_BYTES;
    this.records = new RecordMemory(buffer, slotsAt, this.capacity);
    this.#write = Atomics.load(this.#header, AT_WRITE);
    this.#readSeen = Atomics.load(this.#header, AT_READ);
    this.#spilled = Atomics.load(this.#header, AT_SPILLED);
  }

  /**
   * Puts one record in, or drops and counts it when all slots are taken.
   *
   * @returns  false when it was dropped
   * Cost: no allocation, below 150 ns (bench/micro/log-ring.bench.ts). Thread: the producer's.
   */
  push(facts: LogFacts): boolean {
    const write = this.#write;
    if (this.#distance(this.#readSeen, write) === this.capacity) {
      this.#readSeen = Atomics.load(this.#header, AT_READ);
      if (this.#distance(this.#readSeen, write) === this.capacity) return this.#drop(facts);
    }
    this.records.write(write < this.capacity ? write : write - this.capacity, facts);
    const next = write + 1 === this.#wrap ? 0 : write + 1;
    this.#write = next;
    this.#counts[AT_PUSHED] = (this.#counts[AT_PUSHED] as number) + 1;
    Atomics.store(this.#header, AT_WRITE, next);
    if (Atomics.load(this.#header, AT_WAKE) === next) this.#wake(next);
    return true;
  }

  /** Records put in and not yet taken out. Exact in the threads of both ends. */
  get depth(): number {
    const read = Atomics.load(this.#header, AT_READ);
    const depth = this.#distance(read, Atomics.load(this.#header, AT_WRITE));
    return depth < this.capacity ? depth : this.capacity;
  }

  /** Records ever put in, over all threads that held the producer's end. */
  get pushed(): number {
    return this.#counts[AT_PUSHED] as number;
  }

  /** Records ever dropped because the ring was full. */
  get dropped(): number {
    return this.#counts[AT_DROPPED] as number;
  }

  /** Number of the next dropped record, a wrapping 32-bit count; see `spill`. */
  get spilled(): number {
    return Atomics.load(this.#header, AT_SPILLED);
  }

  /** Slot of dropped record number `index` in `spill`. */
  spillSlotOf(index: number): number {
    return index & (SPILL_SLOTS - 1);
  }

  /**
   * Whether dropped record number `index` is still whole. To be asked after copying it: the
   * exchange keeps the copy's loads from moving behind the check.
   */
  spillIsWhole(index: number): boolean {
    Atomics.exchange(this.#header, AT_MAGIC, MAGIC);
    return ((this.spilled - index) | 0) < SPILL_SLOTS;
  }

  /** Slot of the undrained record at `index`, 0 being the oldest; index < depth. */
  slotOf(index: number): number {
    return (Atomics.load(this.#header, AT_READ) + index) % this.capacity;
  }

  /** Frees the `count` oldest records; count <= depth. */
  advance(count: number): void {
    const read = Atomics.load(this.#header, AT_READ);
    Atomics.store(this.#header, AT_READ, (read + count) % this.#wrap);
  }

  /** Hands up to `max` records to `visit`, oldest first, then frees them. Returns how many. */
  drain(max: number, visit: (records: RecordMemory, slot: number) => void): number {
    const count = Math.min(max, this.depth);
    for (let index = 0; index < count; index++) visit(this.records, this.slotOf(index));
    this.advance(count);
    return count;
  }

  /**
   * Asks for one call of `onWake` when `depth` records lie undrained (1..capacity). Replaces an
   * earlier request; a request may be answered early, so look at `depth` when called.
   *
   * @returns  false when so many already do: nothing will be called for that
   * Does not keep the thread's event loop alive (nodejs/node#61941).
   */
  arm(depth: number, onWake: () => void): boolean {
    const header = this.#header;
    const target = (Atomics.load(header, AT_READ) + depth) % this.#wrap;
    Atomics.store(header, AT_WAKE, target);
    // The producer stores `write`, then loads `wake`; here it is the other way round. One of the
    // two sees the other, so no wake-up is lost.
    if (this.depth >= depth) {
      Atomics.store(header, AT_WAKE, NEVER);
      return false;
    }
    // An unanswered wait stays queued whatever the word holds: one waiter serves all requests.
    if (this.#waiting) return true;
    const result = Atomics.waitAsync(header, AT_WAKE, target);
    if (!result.async) return false;
    this.#waiting = true;
    void result.value.then(() => {
      this.#waiting = false;
      onWake();
    });
    return true;
  }

  /** Withdraws the request; an outstanding waiter is released, calling its `onWake` once more. */
  disarm(): void {
    Atomics.store(this.#header, AT_WAKE, NEVER);
    if (this.#waiting) Atomics.notify(this.#header, AT_WAKE);
  }

  #distance(read: number, write: number): number {
    return write >= read ? write - read : write - read + this.#wrap;
  }

  #drop(facts: LogFacts): boolean {
    this.spill.write(this.spillSlotOf(this.#spilled), facts);
    this.#spilled = (this.#spilled + 1) | 0;
    this.#counts[AT_DROPPED] = (this.#counts[AT_DROPPED] as number) + 1;
    Atomics.store(this.#header, AT_SPILLED, this.#spilled);
    return false;
  }

  #wake(target: number): void {
    // The consumer may have asked for another position meanwhile: then that request stands.
    if (Atomics.compareExchange(this.#header, AT_WAKE, target, NEVER) === target) {
      Atomics.notify(this.#header, AT_WAKE);
    }
  }
}
