/**
 * Where cached answers stand, and who has to leave: two queues in one buffer, an index over both,
 * and the bounds. Used by cache.ts only, which draws the picture.
 */
import { COUNTER } from '../../contract/counters.ts';
import { LIMITS } from '../../contract/limits.ts';
import type { Answer } from '../answer/answer.ts';
import { ArenaQueue } from './cache-arena.ts';
import { CacheEntries, ENTRY_HEADER_WORDS, TICKS_PER_SECOND } from './cache-entry.ts';
import { CacheIndex } from './cache-index.ts';
import type { Query } from '../query/query.ts';

/** Entries that one eviction may keep before it takes the next one whatever its merits. */
const KEPT_MAX = 64;
const GHOSTS_MAX = 16_384;

const CACHE_ENTRIES = COUNTER.cacheEntries;
const CACHE_BYTES = COUNTER.cacheBytes;

export class CacheSpace {
  /** The entries themselves. */
  readonly all: CacheEntries;
  readonly #probation: ArenaQueue;
  readonly #main: ArenaQueue;
  /** First word of the main queue. */
  readonly #mainFirst: number;
  readonly #slots: Float64Array;
  #index = new CacheIndex(1);
  /** Hashes of entries that left probation unused; a slot each, overwritten by the next. */
  #ghosts = new Int32Array(1);
  #entriesMax = 0;
  #entries = 0;
  #probationEntries = 0;
  #usedWords = 0;
  /** How long an expired entry is of use. */
  staleTicks = 0;
  /** Time of the insertion that is going on, and how many entries it has spared. */
  #tick = 0;
  #keptNow = 0;

  /**
   * @param bytesMax  bytes of stored entries; memory is used as it fills
   * @param slots     counter block; the two cache gauges are kept up to date
   */
  constructor(bytesMax: number, slots: Float64Array) {
    const words = Math.max(Math.floor(bytesMax / 4), 64);
    this.all = new CacheEntries(words);
    this.#mainFirst = Math.floor(words / 10) + 1;
    this.#probation = new ArenaQueue(this.all.words, 1, this.#mainFirst);
    this.#main = new ArenaQueue(this.all.words, this.#mainFirst, words);
    this.#slots = slots;
    this.#publish();
  }

  /** Visits the position of every entry; nothing may be added or removed meanwhile. */
  forEach(visit: (position: number) => void): void {
    this.#index.forEach(visit);
  }

  /** Sets the bounds of a new policy. Another number of entries empties the cache. */
  configure(entriesMax: number, staleSecondsMax: number): void {
    this.staleTicks = staleSecondsMax * TICKS_PER_SECOND;
    if (entriesMax === this.#entriesMax) return;
    this.#entriesMax = entriesMax;
    const entriesByBytes = Math.ceil(this.all.words.length / ENTRY_HEADER_WORDS);
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

  /** Position that a hash would be found at first; see CacheIndex. */
  home(hash: number): number {
    return this.#index.home(hash);
  }

  /** Position of the entry for a question, see CacheEntries.isFor; 0 for none. */
  find(query: Query, hash: number, start: number, type: number): number {
    const index = this.#index;
    let slot = index.first(hash);
    while (slot >= 0) {
      const position = index.position(slot);
      if (this.all.isFor(position, query, start, type)) return position;
      slot = index.next(hash, slot);
    }
    return 0;
  }

  /** Adds an entry, in place of an older one for the same question, if the bounds allow. */
  insert(
    query: Query,
    type: number,
    hash: number,
    tick: number,
    answer: Answer,
    failure: number,
  ): void {
    const size = this.all.sizeOf(query, answer);
    if (this.#entriesMax === 0 || size * 4 > LIMITS.cacheEntryBytesMax) return;
    if (size > this.#main.capacity) return;
    this.#tick = tick;
    this.#keptNow = 0;
    const older = this.find(query, hash, 0, type);
    const wasAsked = older !== 0 && this.all.wasHit(older);
    if (older !== 0) this.drop(older);
    const inMain = this.#belongsInMain(hash, older, size);
    const position = this.#makeRoom(inMain, size);
    if (position < 0) return;
    this.all.write(position, query, type, hash, answer, failure);
    // Of its hits it keeps one: enough to stay, too few to be fetched again without new ones.
    if (wasAsked) this.all.hit(position);
    this.all.setTimes(position, tick, tick + answer.lifetimeSeconds * TICKS_PER_SECOND);
    const displaced = this.#index.add(hash, position);
    this.#entries++;
    if (!inMain) this.#probationEntries++;
    this.#usedWords += size;
    if (displaced !== 0) this.#forget(displaced);
    this.#publish();
  }

  /** What came back soon, what was there already, and what is too large for probation. */
  #belongsInMain(hash: number, older: number, size: number): boolean {
    const isGhost = this.#ghosts[hash & (this.#ghosts.length - 1)] === hash;
    return isGhost || older >= this.#mainFirst || size > this.#probation.capacity;
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
    if (this.all.size(oldest) < 0 || !this.#isUsable(oldest)) return false;
    return this.#probationEntries * 10 > this.#entriesMax;
  }

  /** Whether the entry is fresh, or may still be given stale. */
  #isUsable(position: number): boolean {
    return this.all.expires(position) + this.staleTicks > this.#tick;
  }

  /** Makes room in probation: its oldest entry moves on if the main queue has room to spare. */
  #ageProbation(): void {
    const position = this.#probation.pop();
    if (position < 0 || this.all.size(position) < 0) return;
    const target = this.#main.reserve(this.all.size(position));
    if (target >= 0) this.#toMain(position, target);
    else this.#leaveProbation(position);
  }

  /** Takes the oldest entry out of probation: to the main queue when it was hit, else away. */
  #evictFromProbation(): void {
    const position = this.#probation.pop();
    if (position >= 0 && this.all.size(position) > 0) this.#leaveProbation(position);
  }

  #leaveProbation(position: number): void {
    if (this.#deservesToStay(position) && this.#promote(position)) return;
    const hash = this.all.hash(position);
    this.#ghosts[hash & (this.#ghosts.length - 1)] = hash;
    this.drop(position);
  }

  #promote(position: number): boolean {
    for (;;) {
      const target = this.#main.reserve(this.all.size(position));
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
    this.all.forgetHits(target);
    this.#probationEntries--;
  }

  /** Takes the oldest entry out of the main queue: back to its end when it was hit, else away. */
  #evictFromMain(): void {
    const position = this.#main.pop();
    if (position < 0 || this.all.size(position) < 0) return;
    const stays = this.#deservesToStay(position);
    const target = stays ? this.#main.reserve(this.all.size(position)) : -1;
    if (target < 0) {
      this.drop(position);
      return;
    }
    this.#move(position, target);
    this.all.unhit(target);
  }

  #deservesToStay(position: number): boolean {
    if (!this.all.wasHit(position) || !this.#isUsable(position)) return false;
    return this.#keptNow++ < KEPT_MAX;
  }

  #move(position: number, target: number): void {
    this.#index.move(this.all.hash(position), position, target);
    this.all.move(position, target);
  }

  /** Takes an entry out. */
  drop(position: number): void {
    this.#index.remove(this.all.hash(position), position);
    this.#forget(position);
    this.#publish();
  }

  /** Its words stay as a dead record until the queue comes round to them. */
  #forget(position: number): void {
    this.#usedWords -= this.all.size(position);
    this.all.kill(position);
    this.#entries--;
    if (position < this.#mainFirst) this.#probationEntries--;
  }

  #publish(): void {
    this.#slots[CACHE_ENTRIES] = this.#entries;
    this.#slots[CACHE_BYTES] = this.#usedWords * 4;
  }
}
