/**
 * Keeps answers, bounded in bytes and entries, without an object per entry.
 *
 * One buffer holds two queues of entries. New ones go into probation, a tenth of the space. Those
 * asked for again while there move on to the main queue; the others leave, and are remembered by
 * their hash for a while: coming back, they go to the main queue at once. While the main queue has
 * room to spare, nobody has to leave: all move on. In the main queue, an entry that was asked for
 * since is put back to the end when its turn to leave comes. So a flood of names asked once does
 * not push out the popular ones. The idea is S3-FIFO (Yang et al., SOSP 2023).
 *
 *   index:  hash -> position   open addressing, at most PROBES_MAX probes; the question stored in
 *                              the entry is compared, so equal hashes do no harm
 *   entry:  as drawn in cache-entry.ts
 *
 * A hit allocates nothing. Used by the engine in one data-plane thread; not shared.
 */
import { COUNTER } from '../contract/counters.ts';
import { LIMITS } from '../contract/limits.ts';
import type { Reason } from '../contract/outcome.ts';
import { Answer } from './answer.ts';
import { ArenaQueue } from './cache-arena.ts';
import { CacheEntries, ENTRY_HEADER_WORDS } from './cache-entry.ts';
import { CacheIndex } from './cache-index.ts';
import { hashMix } from './name.ts';
import type { Query } from './query.ts';

/** Ticks a second, a power of two. A tick count of 32 bits lasts four years. */
export const TICKS_PER_SECOND = 16;
const TICK_BITS = 4;
const TICKS_PER_US = TICKS_PER_SECOND / 1e6;

/** Results of `lookup`. */
export const CACHE_MISS = 0;
export const CACHE_FRESH = 1;
/** Expired, but to be used when the upstreams fail. RFC 8767. */
export const CACHE_STALE = 2;
/** Expired, and the upstreams failed a moment ago: to be used at once. */
export const CACHE_STALE_NOW = 3;
/** The upstreams failed a moment ago and there is nothing else. RFC 9520 §3.2. */
export const CACHE_FAILED = 4;
export type CacheStatus =
  | typeof CACHE_MISS
  | typeof CACHE_FRESH
  | typeof CACHE_STALE
  | typeof CACHE_STALE_NOW
  | typeof CACHE_FAILED;

/** Entries that one eviction may keep before it takes the next one whatever its merits. */
const KEPT_MAX = 64;
const GHOSTS_MAX = 16_384;

const CACHE_ENTRIES = COUNTER.cacheEntries;
const CACHE_BYTES = COUNTER.cacheBytes;

/** The tick at a time of the monotonic clock. */
export function tickAt(nowUs: number, originUs: number): number {
  return Math.floor((nowUs - originUs) * TICKS_PER_US) | 0;
}

/** Whole seconds between two ticks. */
export function tickSeconds(from: number, to: number): number {
  return (to - from) >> TICK_BITS;
}

export class AnswerCache {
  readonly #all: CacheEntries;
  readonly #probation: ArenaQueue;
  readonly #main: ArenaQueue;
  /** First word of the main queue. */
  readonly #mainFirst: number;
  readonly #seed: number;
  readonly #slots: Float64Array;
  #index = new CacheIndex(1);
  /** Hashes of entries that left probation unused; a slot each, overwritten by the next. */
  #ghosts = new Int32Array(1);
  #entriesMax = 0;
  #entries = 0;
  #probationEntries = 0;
  #usedWords = 0;
  #staleTicks = 0;
  /** Time of the insertion that is going on, and how many entries it has spared. */
  #tick = 0;
  #keptNow = 0;

  /**
   * @param bytesMax  bytes of stored entries; memory is used as it fills
   * @param seed      unpredictable; mixed into the hashes
   * @param slots     counter block; the two cache gauges are kept up to date
   */
  constructor(bytesMax: number, seed: number, slots: Float64Array) {
    const words = Math.max(Math.floor(bytesMax / 4), 64);
    this.#all = new CacheEntries(words);
    this.#mainFirst = Math.floor(words / 10) + 1;
    this.#probation = new ArenaQueue(this.#all.words, 1, this.#mainFirst);
    this.#main = new ArenaQueue(this.#all.words, this.#mainFirst, words);
    this.#seed = seed | 0;
    this.#slots = slots;
    this.#publish();
  }

  /** Sets the bounds of a new policy. Another number of entries empties the cache. */
  configure(entriesMax: number, staleSecondsMax: number): void {
    this.#staleTicks = staleSecondsMax * TICKS_PER_SECOND;
    if (entriesMax === this.#entriesMax) return;
    this.#entriesMax = entriesMax;
    const entriesByBytes = Math.ceil(this.#all.words.length / ENTRY_HEADER_WORDS);
    const entries = Math.min(entriesMax, entriesByBytes);
    this.#index = new CacheIndex(entries);
    let ghosts = 1;
    while (ghosts < entries && ghosts < GHOSTS_MAX) ghosts *= 2;
    this.#ghosts = new Int32Array(ghosts);
    this.clear();
  }

  clear(): void {
    this.#index.clear();
    this.#ghosts.fill(0);
    this.#probation.clear();
    this.#main.clear();
    this.#entries = 0;
    this.#probationEntries = 0;
    this.#usedWords = 0;
    this.#publish();
  }

  /** Hash of the question: name, type, class, DO and CD. Signed 32 bits. */
  keyHash(query: Query): number {
    const name = query.labelCount === 0 ? 0 : (query.suffixHashes[0] as number);
    const rest = (query.type << 16) ^ (query.qclass << 2) ^ query.keyBits;
    return hashMix(name ^ this.#seed ^ Math.imul(rest, 0x9e3779b1));
  }

  /** Looks the question up and, unless it is a miss, fills `answer`; a failure has no body. */
  lookup(query: Query, hash: number, tick: number, answer: Answer): CacheStatus {
    const position = this.#find(query, hash);
    if (position === 0) return CACHE_MISS;
    const all = this.#all;
    const expires = all.expires(position);
    const isFailure = all.isFailure(position);
    if (tick >= expires && (isFailure || tick >= expires + this.#staleTicks)) return CACHE_MISS;
    all.hit(position);
    all.show(position, answer);
    if (isFailure) return CACHE_FAILED;
    if (tick < expires) return CACHE_FRESH;
    return tick < all.failedUntil(position) ? CACHE_STALE_NOW : CACHE_STALE;
  }

  /**
   * Stores an answer for answer.lifetimeSeconds, in place of an older one; 0 stores nothing.
   * An entry above LIMITS.cacheEntryBytesMax is not stored.
   */
  store(query: Query, hash: number, tick: number, answer: Answer): void {
    if (answer.lifetimeSeconds > 0) this.#insert(query, hash, tick, answer, 0);
  }

  /**
   * Remembers for `seconds` that this question cannot be answered: an entry that is stale is then
   * used at once, otherwise the response code and the reason are kept as a failure.
   */
  storeFailure(
    query: Query,
    hash: number,
    tick: number,
    seconds: number,
    rcode: number,
    reason: Reason,
  ): void {
    const all = this.#all;
    const position = this.#find(query, hash);
    if (position !== 0 && !all.isFailure(position)) {
      if (tick < all.expires(position) + this.#staleTicks) {
        all.setFailedUntil(position, tick + seconds * TICKS_PER_SECOND);
        return;
      }
    }
    const failure = new Answer();
    failure.rcode = rcode;
    failure.lifetimeSeconds = seconds;
    this.#insert(query, hash, tick, failure, reason);
  }

  #insert(query: Query, hash: number, tick: number, answer: Answer, failure: number): void {
    const size = this.#all.sizeOf(query, answer);
    if (this.#entriesMax === 0 || size * 4 > LIMITS.cacheEntryBytesMax) return;
    if (size > this.#main.capacity) return;
    this.#tick = tick;
    this.#keptNow = 0;
    const older = this.#find(query, hash);
    if (older !== 0) this.#drop(older, true);
    const isGhost = this.#ghosts[hash & (this.#ghosts.length - 1)] === hash;
    const inMain = isGhost || size > this.#probation.capacity;
    const position = this.#makeRoom(inMain, size);
    if (position < 0) return;
    this.#all.write(position, query, hash, answer, failure);
    this.#all.setTimes(position, tick, tick + answer.lifetimeSeconds * TICKS_PER_SECOND);
    const displaced = this.#index.add(hash, position);
    this.#entries++;
    if (!inMain) this.#probationEntries++;
    this.#usedWords += size;
    if (displaced !== 0) this.#drop(displaced, false);
    this.#publish();
  }

  /** Position of the entry for this question, 0 for none. */
  #find(query: Query, hash: number): number {
    const index = this.#index;
    let slot = index.first(hash);
    while (slot >= 0) {
      const position = index.position(slot);
      if (this.#all.isFor(position, query)) return position;
      slot = index.next(hash, slot);
    }
    return 0;
  }

  /** Evicts until the bounds allow one more entry, then reserves its place; -1 when none fits. */
  #makeRoom(inMain: boolean, size: number): number {
    while (this.#entries >= this.#entriesMax) {
      if (this.#isProbationNext()) this.#evictFromProbation();
      else this.#evictFromMain();
    }
    const queue = inMain ? this.#main : this.#probation;
    for (;;) {
      const position = queue.reserve(size);
      if (position >= 0 || queue.isEmpty) return position;
      if (inMain) this.#evictFromMain();
      else this.#ageProbation();
    }
  }

  /** Whether the next one to leave is in probation: unless the oldest in main is of no use. */
  #isProbationNext(): boolean {
    const oldest = this.#main.peek();
    if (oldest < 0) return true;
    if (this.#all.size(oldest) < 0 || !this.#isUsable(oldest)) return false;
    return this.#probationEntries * 10 > this.#entriesMax;
  }

  /** Whether the entry is fresh, or may still be given stale. */
  #isUsable(position: number): boolean {
    return this.#all.expires(position) + this.#staleTicks > this.#tick;
  }

  /** Makes room in probation: its oldest entry moves on if the main queue has room to spare. */
  #ageProbation(): void {
    const position = this.#probation.pop();
    if (position < 0 || this.#all.size(position) < 0) return;
    const target = this.#main.reserve(this.#all.size(position));
    if (target >= 0) this.#toMain(position, target);
    else this.#leaveProbation(position);
  }

  /** Takes the oldest entry out of probation: to the main queue when it was hit, else away. */
  #evictFromProbation(): void {
    const position = this.#probation.pop();
    if (position >= 0 && this.#all.size(position) > 0) this.#leaveProbation(position);
  }

  #leaveProbation(position: number): void {
    if (this.#deservesToStay(position) && this.#promote(position)) return;
    const hash = this.#all.hash(position);
    this.#ghosts[hash & (this.#ghosts.length - 1)] = hash;
    this.#drop(position, true);
  }

  #promote(position: number): boolean {
    for (;;) {
      const target = this.#main.reserve(this.#all.size(position));
      if (target >= 0) {
        this.#toMain(position, target);
        return true;
      }
      if (this.#main.isEmpty) return false;
      this.#evictFromMain();
    }
  }

  #toMain(position: number, target: number): void {
    this.#move(position, target);
    this.#all.forgetHits(target);
    this.#probationEntries--;
  }

  /** Takes the oldest entry out of the main queue: back to its end when it was hit, else away. */
  #evictFromMain(): void {
    const position = this.#main.pop();
    if (position < 0 || this.#all.size(position) < 0) return;
    const stays = this.#deservesToStay(position);
    const target = stays ? this.#main.reserve(this.#all.size(position)) : -1;
    if (target < 0) {
      this.#drop(position, true);
      return;
    }
    this.#move(position, target);
    this.#all.unhit(target);
  }

  #deservesToStay(position: number): boolean {
    if (!this.#all.wasHit(position) || !this.#isUsable(position)) return false;
    return this.#keptNow++ < KEPT_MAX;
  }

  #move(position: number, target: number): void {
    this.#index.move(this.#all.hash(position), position, target);
    this.#all.move(position, target);
  }

  /** Forgets an entry; its words stay as a dead record until the queue comes round to them. */
  #drop(position: number, isIndexed: boolean): void {
    if (isIndexed) this.#index.remove(this.#all.hash(position), position);
    this.#usedWords -= this.#all.size(position);
    this.#all.kill(position);
    this.#entries--;
    if (position < this.#mainFirst) this.#probationEntries--;
  }

  #publish(): void {
    this.#slots[CACHE_ENTRIES] = this.#entries;
    this.#slots[CACHE_BYTES] = this.#usedWords * 4;
  }
}
