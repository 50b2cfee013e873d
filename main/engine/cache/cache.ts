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
import type { Reason } from '../../contract/outcome.ts';
import { Answer } from '../answer/answer.ts';
import { ANY_TYPE, TICK_BITS, TICKS_PER_SECOND, type CacheEntries } from './cache-entry.ts';
import { questionOf, readImage, writeImage, type ImageEntry } from './cache-image.ts';
import { CacheSpace } from './cache-space.ts';
import { readRecords, type CachedItem } from './cache-view.ts';
import { keyedHash } from '../../dns/name.ts';
import { Query, QUERY_OK } from '../query/query.ts';
import { RCODE } from '../../dns/wire.ts';

export { TICKS_PER_SECOND };

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

/** An answer that was asked for so often is fetched anew in the last tenth of its life. */
const PREFETCH_HITS = 3;
const PREFETCH_PART = 10;
/** How long the upstreams are not waited for after a failure, with a stale answer. RFC 8767 §5. */
const RECHECK_SECONDS = 5;
/** Shorter lives are left to end. */
const PREFETCH_SECONDS_MIN = 10;

/** Entries that are touched at once. */
const TOUCHED_MAX = 16;

/** The tick at a time of the monotonic clock. */
export function tickAt(nowUs: number, originUs: number): number {
  return Math.floor((nowUs - originUs) * TICKS_PER_US) | 0;
}

/** Whole seconds between two ticks. */
export function tickSeconds(from: number, to: number): number {
  return (to - from) >> TICK_BITS;
}

export class AnswerCache {
  readonly #space: CacheSpace;
  readonly #all: CacheEntries;
  readonly #seed: number;
  readonly #touched = new Int32Array(TOUCHED_MAX);

  /**
   * @param bytesMax  bytes of stored entries; memory is used as it fills
   * @param seed      unpredictable; key of the hashes
   * @param slots     counter block; the two cache gauges are kept up to date
   */
  constructor(bytesMax: number, seed: number, slots: Float64Array) {
    this.#space = new CacheSpace(bytesMax, slots);
    this.#all = this.#space.all;
    this.#seed = seed | 0;
  }

  /** Sets the bounds of a new policy. Another number of entries empties the cache. */
  configure(entriesMax: number, staleSecondsMax: number): void {
    this.#space.configure(entriesMax, staleSecondsMax);
  }

  clear(): void {
    this.#space.clear();
  }

  /** What is kept about a name; folded labels, name[0, length). Looks through all entries. */
  inspect(name: Uint8Array, length: number, tick: number): CachedItem[] {
    const all = this.#all;
    const items: CachedItem[] = [];
    this.#space.forEach((position) => {
      if (!all.isNamed(position, name, length, false)) return;
      const answer = new Answer();
      all.show(position, answer);
      const nameAt = all.nameAt(position);
      items.push({
        type: all.type(position),
        qclass: all.qclass(position),
        dnssecOk: (all.keyBits(position) & 1) !== 0,
        checkingDisabled: (all.keyBits(position) & 2) !== 0,
        rcode: answer.rcode,
        failure: answer.failure,
        ageSeconds: tickSeconds(answer.storedTick, tick),
        leftSeconds: tickSeconds(tick, all.expires(position)),
        hits: all.hits(position),
        bytes: all.size(position) * 4,
        isStripped: answer.isStripped,
        records: readRecords(answer, all.bytes, nameAt, nameAt + length),
      });
    });
    return items;
  }

  /** Forgets what is kept about a name, and on demand about all below it. Returns how many. */
  flush(name: Uint8Array, length: number, withBelow: boolean): number {
    const found: number[] = [];
    this.#space.forEach((position) => {
      if (this.#all.isNamed(position, name, length, withBelow)) found.push(position);
    });
    for (const position of found) this.#space.drop(position);
    return found.length;
  }

  /** All answers, no failures, as bytes; see cache-image.ts. */
  save(tick: number, savedMs: number, key: number): Uint8Array {
    const all = this.#all;
    const entries: ImageEntry[] = [];
    this.#space.forEach((position) => {
      if (all.isFailure(position)) return;
      const answer = new Answer();
      all.show(position, answer);
      entries.push({
        type: all.type(position),
        qclass: all.qclass(position),
        keyBits: all.keyBits(position),
        bytes: all.bytes,
        nameAt: all.nameAt(position),
        nameLength: all.nameLength(position),
        answer,
        ageTicks: tick - answer.storedTick,
        lifeTicks: all.expires(position) - answer.storedTick,
      });
    });
    return writeImage(entries, savedMs, key);
  }

  /**
   * Takes the answers of an image in, older by the time since it was saved. An image from the
   * future is of no use: the wall clock was wrong, then or now.
   *
   * @returns  how many were still of use
   */
  restore(image: Uint8Array, tick: number, nowMs: number, key: number): number {
    const read = readImage(image, key);
    const passedMs = read === null ? -1 : nowMs - read.savedMs;
    if (read === null || !(passedMs >= 0)) return 0;
    const passedTicks = Math.ceil((passedMs / 1_000) * TICKS_PER_SECOND);
    const query = new Query();
    let taken = 0;
    for (const entry of read.entries) {
      const age = entry.ageTicks + passedTicks;
      if (age >= entry.lifeTicks + this.#space.staleTicks) continue;
      const packet = questionOf(entry);
      if (query.read(packet, 0, packet.length) !== QUERY_OK) continue;
      entry.answer.lifetimeSeconds = entry.lifeTicks >> TICK_BITS;
      this.store(query, this.keyHash(query), tick - age, entry.answer);
      taken++;
    }
    return taken;
  }

  /** Fetches what `lookup` will look at for some queries; what it returns has no meaning. */
  touch(queries: readonly Query[], count: number): number {
    const found = this.#touched;
    for (let at = 0; at < count; at++) {
      found[at] = this.#space.home(this.keyHash(queries[at] as Query));
    }
    let sum = 0;
    for (let at = 0; at < count; at++) sum ^= this.#all.touch(found[at] as number);
    return sum;
  }

  /** Hash of the question: name, type, class, DO and CD. Signed 32 bits. */
  keyHash(query: Query): number {
    return this.#hashOf(query, 0, query.type);
  }

  /** Not made of the query's own hashes: names that share those are easily found. */
  #hashOf(query: Query, start: number, type: number): number {
    const name = keyedHash(query.name, start, query.nameLength, this.#seed);
    return name ^ restHash(query, type);
  }

  /** Looks the question up and, unless it is a miss, fills `answer`; a failure has no body. */
  lookup(query: Query, hash: number, tick: number, answer: Answer): CacheStatus {
    const position = this.#find(query, hash);
    if (position === 0) return CACHE_MISS;
    const all = this.#all;
    const expires = all.expires(position);
    const isFailure = all.isFailure(position);
    if (tick >= expires && (isFailure || tick >= expires + this.#space.staleTicks))
      return CACHE_MISS;
    all.hit(position);
    all.show(position, answer);
    if (isFailure) return CACHE_FAILED;
    if (tick < expires) return CACHE_FRESH;
    return tick < all.failedUntil(position) ? CACHE_STALE_NOW : CACHE_STALE;
  }

  /**
   * Finds a name above this one that is known not to exist, so that this one cannot either
   * (RFC 8020 §2), and fills `answer` with what was said of it. Only an NXDOMAIN without an alias
   * counts: behind a CNAME it speaks of the alias's target.
   *
   * @returns  the label at which that name begins; 0 for none
   */
  lookupAbove(query: Query, tick: number, answer: Answer): number {
    for (let label = 1; label < query.labelCount; label++) {
      const start = query.labelStarts[label] as number;
      const position = this.#space.find(
        query,
        this.#hashOf(query, start, ANY_TYPE),
        start,
        ANY_TYPE,
      );
      if (position === 0 || tick >= this.#all.expires(position)) continue;
      this.#all.hit(position);
      this.#all.show(position, answer);
      return label;
    }
    return 0;
  }

  /** The last answer shown leads to no name that the filter of this policy blocks. */
  setPassed(answer: Answer, version: number): void {
    this.#all.setPassed(answer.position, version);
  }

  /**
   * Whether the last answer shown is popular and near its end, so that it should be fetched anew
   * before somebody has to wait for it.
   */
  isDueForPrefetch(answer: Answer, tick: number): boolean {
    const { lifetimeSeconds, storedTick, position } = answer;
    if (lifetimeSeconds < PREFETCH_SECONDS_MIN) return false;
    const left = storedTick + lifetimeSeconds * TICKS_PER_SECOND - tick;
    if (left * PREFETCH_PART > lifetimeSeconds * TICKS_PER_SECOND) return false;
    return this.#all.hits(position) >= PREFETCH_HITS && tick >= this.#all.failedUntil(position);
  }

  /**
   * Stores an answer for answer.lifetimeSeconds, in place of an older one; 0 stores nothing.
   * An entry above LIMITS.cacheEntryBytesMax is not stored.
   */
  store(query: Query, hash: number, tick: number, answer: Answer): void {
    if (answer.lifetimeSeconds <= 0) return;
    const isAbsent = answer.rcode === RCODE.nxDomain && answer.answerCount === 0;
    // What is said now of the name, and what was said of it before, cannot both be true.
    const absentHash = absentHashOf(query, hash);
    const contrary = isAbsent
      ? this.#findOwn(query, hash)
      : this.#space.find(query, absentHash, 0, ANY_TYPE);
    if (contrary !== 0) this.#space.drop(contrary);
    if (isAbsent) {
      this.#space.insert(query, ANY_TYPE, absentHash, tick, answer, 0);
    } else if (query.type !== ANY_TYPE) {
      this.#space.insert(query, query.type, hash, tick, answer, 0);
    }
  }

  /**
   * Remembers for `seconds` that this question cannot be answered: the response code and the reason
   * are kept as a failure. An entry that is there is used at once instead, for RECHECK_SECONDS.
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
      if (tick < all.expires(position) + this.#space.staleTicks) {
        all.setFailedUntil(position, tick + RECHECK_SECONDS * TICKS_PER_SECOND);
        return;
      }
    }
    const failure = new Answer();
    failure.rcode = rcode;
    failure.lifetimeSeconds = seconds;
    if (query.type !== ANY_TYPE) this.#space.insert(query, query.type, hash, tick, failure, reason);
  }

  /** Position of the entry that answers this question, 0 for none. */
  #find(query: Query, hash: number): number {
    const own = this.#findOwn(query, hash);
    return own !== 0 ? own : this.#space.find(query, absentHashOf(query, hash), 0, ANY_TYPE);
  }

  #findOwn(query: Query, hash: number): number {
    return this.#space.find(query, hash, 0, query.type);
  }
}

/** What makes two questions about one name differ. */
function restHash(query: Query, type: number): number {
  return Math.imul((type << 16) ^ (query.qclass << 2) ^ query.keyBits, 0x9e3779b1);
}

/** From the hash of a question, that of the NXDOMAIN of its name. */
function absentHashOf(query: Query, hash: number): number {
  return hash ^ restHash(query, query.type) ^ restHash(query, ANY_TYPE);
}
