/**
 * Keeps answers, bounded in bytes and entries, without an object per entry.
 *
 * One buffer holds two queues of entries: new ones go into probation, a tenth of the space; those
 * asked for again while there move on to the main queue, the others leave, and are remembered by
 * their hash for a while: coming back, they go to the main queue at once. While the main queue has
 * room to spare, nobody has to leave: they all move on. In the main queue, an
 * entry that was asked for since is put back to its end when its turn to leave comes. So a flood of
 * names asked once does not push out the popular ones. The idea is S3-FIFO (Yang et al., SOSP 2023).
 *
 *   index:  hash -> position   open addressing, at most PROBES_MAX probes; the question stored in
 *                              the entry is compared, so equal hashes do no harm
 *   entry:  10 words | name | body | TTL offsets (answer.ts)
 *
 *     0 size in words (negative: dead)     5 type | class << 16
 *     1 hash                               6 name length | key bits << 8 | rcode << 16 | AD << 20
 *     2 stored at, tick                    7 body length | records << 16
 *     3 expires at, tick                   8 answers | authorities << 16
 *     4 stale without asking until, tick   9 additionals | hits << 16 | reason of failure << 24
 *
 * A hit allocates nothing. Used by the engine in one data-plane thread; not shared.
 */
import { COUNTER } from '../contract/counters.ts';
import { LIMITS } from '../contract/limits.ts';
import type { Reason } from '../contract/outcome.ts';
import { Answer } from './answer.ts';
import { ArenaQueue } from './cache-arena.ts';
import { CacheIndex } from './cache-index.ts';
import { hashMix } from './name.ts';
import type { Query } from './query.ts';
import { copyBytes } from './wire.ts';

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

const HEADER_WORDS = 10;
const STORED = 2;
const EXPIRES = 3;
const FAILED_UNTIL = 4;
const QUESTION = 5;
const KEY = 6;
const BODY = 7;
const COUNTS = 8;
const STATE = 9;

const HIT = 1 << 16;
const HITS = 3 << 16;
const FAILURE_BITS = 24;
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
  readonly #words: Int32Array;
  readonly #bytes: Uint8Array;
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
  #tick = 0;
  #keptNow = 0;

  /**
   * @param bytesMax  bytes of stored entries; memory is used as it fills
   * @param seed      unpredictable; mixed into the hashes
   * @param slots     counter block; the two cache gauges are kept up to date
   */
  constructor(bytesMax: number, seed: number, slots: Float64Array) {
    const words = Math.max(Math.floor(bytesMax / 4), 64);
    const buffer = new ArrayBuffer(words * 4);
    this.#words = new Int32Array(buffer);
    this.#bytes = new Uint8Array(buffer);
    this.#mainFirst = Math.floor(words / 10) + 1;
    this.#probation = new ArenaQueue(this.#words, 1, this.#mainFirst);
    this.#main = new ArenaQueue(this.#words, this.#mainFirst, words);
    this.#seed = seed | 0;
    this.#slots = slots;
  }

  /** Sets the bounds of a new policy. Another number of entries empties the cache. */
  configure(entriesMax: number, staleSecondsMax: number): void {
    this.#staleTicks = staleSecondsMax * TICKS_PER_SECOND;
    if (entriesMax === this.#entriesMax) return;
    this.#entriesMax = entriesMax;
    const entriesByBytes = Math.ceil(this.#words.length / HEADER_WORDS);
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
    const words = this.#words;
    const state = words[position + STATE] as number;
    const expires = words[position + EXPIRES] as number;
    const isFailure = state >>> FAILURE_BITS !== 0;
    if (tick >= expires && (isFailure || tick >= expires + this.#staleTicks)) return CACHE_MISS;
    if ((state & HITS) !== HITS) words[position + STATE] = state + HIT;
    this.#view(position, answer);
    if (isFailure) return CACHE_FAILED;
    if (tick < expires) return CACHE_FRESH;
    return tick < (words[position + FAILED_UNTIL] as number) ? CACHE_STALE_NOW : CACHE_STALE;
  }

  /**
   * Stores an answer for answer.lifetimeSeconds, in place of an older one; 0 stores nothing.
   * An entry above LIMITS.cacheEntryBytesMax is not stored.
   */
  store(query: Query, hash: number, tick: number, answer: Answer): void {
    if (answer.lifetimeSeconds <= 0) return;
    this.#insert(query, hash, tick, answer, 0);
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
    const position = this.#find(query, hash);
    const words = this.#words;
    if (position !== 0 && (words[position + STATE] as number) >>> FAILURE_BITS === 0) {
      const expires = words[position + EXPIRES] as number;
      if (tick < expires + this.#staleTicks) {
        words[position + FAILED_UNTIL] = tick + seconds * TICKS_PER_SECOND;
        return;
      }
    }
    const failure = new Answer();
    failure.rcode = rcode;
    failure.lifetimeSeconds = seconds;
    this.#insert(query, hash, tick, failure, reason << FAILURE_BITS);
  }

  #insert(query: Query, hash: number, tick: number, answer: Answer, state: number): void {
    const tailBytes = query.nameLength + answer.bodyLength + 2 * answer.recordCount;
    const size = HEADER_WORDS + ((tailBytes + 3) >> 2);
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
    this.#write(position, size, query, answer);
    this.#words[position + 1] = hash;
    this.#words[position + STORED] = tick;
    this.#words[position + EXPIRES] = tick + answer.lifetimeSeconds * TICKS_PER_SECOND;
    this.#words[position + FAILED_UNTIL] = 0;
    this.#words[position + STATE] = answer.additionalCount | state;
    const displaced = this.#index.add(hash, position);
    this.#entries++;
    if (!inMain) this.#probationEntries++;
    this.#usedWords += size;
    if (displaced !== 0) this.#drop(displaced, false);
    this.#publish();
  }

  #write(position: number, size: number, query: Query, answer: Answer): void {
    const words = this.#words;
    words[position] = size;
    words[position + QUESTION] = query.type | (query.qclass << 16);
    words[position + KEY] =
      query.nameLength |
      (query.keyBits << 8) |
      (answer.rcode << 16) |
      (answer.isAuthenticated ? 1 << 20 : 0);
    words[position + BODY] = answer.bodyLength | (answer.recordCount << 16);
    words[position + COUNTS] = answer.answerCount | (answer.authorityCount << 16);
    const nameAt = (position + HEADER_WORDS) * 4;
    copyBytes(query.name, 0, this.#bytes, nameAt, query.nameLength);
    const kept = answer.bodyLength + 2 * answer.recordCount;
    copyBytes(answer.bytes, answer.bodyAt, this.#bytes, nameAt + query.nameLength, kept);
  }

  #view(position: number, answer: Answer): void {
    const words = this.#words;
    const key = words[position + KEY] as number;
    const body = words[position + BODY] as number;
    const counts = words[position + COUNTS] as number;
    answer.bytes = this.#bytes;
    answer.bodyAt = (position + HEADER_WORDS) * 4 + (key & 0xff);
    answer.bodyLength = body & 0xffff;
    answer.recordCount = body >>> 16;
    answer.answerCount = counts & 0xffff;
    answer.authorityCount = counts >>> 16;
    answer.additionalCount = (words[position + STATE] as number) & 0xffff;
    answer.rcode = (key >>> 16) & 0x0f;
    answer.isAuthenticated = (key & (1 << 20)) !== 0;
    answer.isTruncated = false;
    answer.storedTick = words[position + STORED] as number;
    answer.failure = (words[position + STATE] as number) >>> FAILURE_BITS;
  }

  /** Position of the entry for this question, 0 for none. */
  #find(query: Query, hash: number): number {
    const index = this.#index;
    let slot = index.first(hash);
    while (slot >= 0) {
      const position = index.position(slot);
      if (this.#isFor(position, query)) return position;
      slot = index.next(hash, slot);
    }
    return 0;
  }

  #isFor(position: number, query: Query): boolean {
    const words = this.#words;
    const question = query.type | (query.qclass << 16);
    if (words[position + QUESTION] !== question) return false;
    const key = query.nameLength | (query.keyBits << 8);
    if (((words[position + KEY] as number) & 0xffff) !== key) return false;
    const bytes = this.#bytes;
    const { name, nameLength } = query;
    const nameAt = (position + HEADER_WORDS) * 4;
    for (let index = 0; index < nameLength; index++) {
      if (bytes[nameAt + index] !== name[index]) return false;
    }
    return true;
  }

  /** Evicts until the bounds allow one more entry, then reserves its place; -1 when none fits. */
  #makeRoom(inMain: boolean, size: number): number {
    while (this.#entries >= this.#entriesMax) {
      const isProbationFull = this.#probationEntries * 10 > this.#entriesMax;
      if (isProbationFull || this.#main.isEmpty) this.#evictFromProbation();
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

  /** Makes room in probation: its oldest entry moves on if the main queue has room to spare. */
  #ageProbation(): void {
    const position = this.#probation.pop();
    if (position < 0 || (this.#words[position] as number) < 0) return;
    const target = this.#main.reserve(this.#words[position] as number);
    if (target >= 0) this.#toMain(position, target);
    else this.#leaveProbation(position);
  }

  /** Takes the oldest entry out of probation: to the main queue when it was hit, else away. */
  #evictFromProbation(): void {
    const position = this.#probation.pop();
    if (position >= 0 && (this.#words[position] as number) > 0) this.#leaveProbation(position);
  }

  #leaveProbation(position: number): void {
    if (this.#deservesToStay(position) && this.#promote(position)) return;
    const hash = this.#words[position + 1] as number;
    this.#ghosts[hash & (this.#ghosts.length - 1)] = hash;
    this.#drop(position, true);
  }

  #promote(position: number): boolean {
    const size = this.#words[position] as number;
    for (;;) {
      const target = this.#main.reserve(size);
      if (target >= 0) {
        this.#toMain(position, target);
        return true;
      }
      if (this.#main.isEmpty) return false;
      this.#evictFromMain();
    }
  }

  #toMain(position: number, target: number): void {
    this.#move(position, target, this.#words[position] as number);
    this.#words[target + STATE] = (this.#words[target + STATE] as number) & ~HITS;
    this.#probationEntries--;
  }

  /** Takes the oldest entry out of the main queue: back to its end when it was hit, else away. */
  #evictFromMain(): void {
    const position = this.#main.pop();
    if (position < 0 || (this.#words[position] as number) < 0) return;
    if (this.#deservesToStay(position)) {
      const size = this.#words[position] as number;
      const target = this.#main.reserve(size);
      if (target >= 0) {
        this.#move(position, target, size);
        this.#words[target + STATE] = (this.#words[target + STATE] as number) - HIT;
        return;
      }
    }
    this.#drop(position, true);
  }

  #deservesToStay(position: number): boolean {
    if (((this.#words[position + STATE] as number) & HITS) === 0) return false;
    const expires = this.#words[position + EXPIRES] as number;
    return expires + this.#staleTicks > this.#tick && this.#keptNow++ < KEPT_MAX;
  }

  #move(position: number, target: number, size: number): void {
    this.#index.move(this.#words[position + 1] as number, position, target);
    this.#words.copyWithin(target, position, position + size);
  }

  /** Forgets an entry; its words stay as a dead record until the queue comes round to them. */
  #drop(position: number, isIndexed: boolean): void {
    const size = this.#words[position] as number;
    if (isIndexed) this.#index.remove(this.#words[position + 1] as number, position);
    this.#words[position] = -size;
    this.#entries--;
    if (position < this.#mainFirst) this.#probationEntries--;
    this.#usedWords -= size;
  }

  #publish(): void {
    this.#slots[CACHE_ENTRIES] = this.#entries;
    this.#slots[CACHE_BYTES] = this.#usedWords * 4;
  }
}
