/**
 * The layout of a cached answer in the cache's buffer. Read and written by cache.ts only.
 *
 *   entry:  11 words | name | body | TTL offsets (answer.ts)
 *
 *     0 size in words (negative: dead)     5 type | class << 16
 *     1 hash                               6 name length | key bits << 8 | rcode << 16 | AD << 20
 *     2 stored at, tick                    7 body length | records << 16
 *     3 expires at, tick                   8 answers | authorities << 16
 *     4 stale without asking until, tick   9 additionals | hits << 16 | flags << 18 |
 *    10 policy version that the filter         reason of failure << 24
 *       has passed the names it leads to
 *
 * NXDOMAIN holds for every type: such an entry is kept under type ANY_TYPE (RFC 2308 §5).
 */
import type { Answer } from '../answer/answer.ts';
import type { Query } from '../query/query.ts';
import { copyBytes } from '../../dns/wire.ts';

/** Ticks a second, a power of two. A tick count of 32 bits lasts four years. */
export const TICKS_PER_SECOND = 16;
export const TICK_BITS = 4;

export const ENTRY_HEADER_WORDS = 11;
/** The type under which an NXDOMAIN is kept. Type 0 is reserved, RFC 6895 §3.1. */
export const ANY_TYPE = 0;

const CACHE_LINE_WORDS = 16;

const HASH = 1;
const STORED = 2;
const EXPIRES = 3;
const FAILED_UNTIL = 4;
const QUESTION = 5;
const KEY = 6;
const BODY = 7;
const COUNTS = 8;
const STATE = 9;
const PASSED = 10;

const AUTHENTICATED = 1 << 20;
const HIT = 1 << 16;
/** Hits are counted to three. */
const HITS = 3 << 16;
const HIT_SHIFT = 16;
const HAS_TARGETS = 1 << 18;
const STRIPPED = 1 << 19;
const FAILURE_BITS = 24;

/** Entries by position: the index of their first word. Positions are never checked here. */
export class CacheEntries {
  readonly words: Int32Array;
  readonly #bytes: Uint8Array;

  constructor(words: number) {
    const buffer = new ArrayBuffer(words * 4);
    this.words = new Int32Array(buffer);
    this.#bytes = new Uint8Array(buffer);
  }

  /** Words that an entry takes. */
  sizeOf(query: Query, answer: Answer): number {
    const tailBytes = query.nameLength + answer.bodyLength + 2 * answer.recordCount;
    return ENTRY_HEADER_WORDS + ((tailBytes + 3) >> 2);
  }

  /**
   * @param type     the question's, or ANY_TYPE
   * @param failure  REASON of a failure, 0 for an answer
   */
  write(
    position: number,
    query: Query,
    type: number,
    hash: number,
    answer: Answer,
    failure: number,
  ): void {
    const words = this.words;
    words[position] = this.sizeOf(query, answer);
    words[position + HASH] = hash;
    words[position + FAILED_UNTIL] = 0;
    words[position + PASSED] = 0;
    words[position + QUESTION] = type | (query.qclass << 16);
    words[position + KEY] =
      query.nameLength |
      (query.keyBits << 8) |
      (answer.rcode << 16) |
      (answer.isAuthenticated ? AUTHENTICATED : 0);
    words[position + BODY] = answer.bodyLength | (answer.recordCount << 16);
    words[position + COUNTS] = answer.answerCount | (answer.authorityCount << 16);
    words[position + STATE] =
      answer.additionalCount |
      (answer.hasTargets ? HAS_TARGETS : 0) |
      (answer.isStripped ? STRIPPED : 0) |
      (failure << FAILURE_BITS);
    const nameAt = (position + ENTRY_HEADER_WORDS) * 4;
    copyBytes(query.name, 0, this.#bytes, nameAt, query.nameLength);
    const kept = answer.bodyLength + 2 * answer.recordCount;
    copyBytes(answer.bytes, answer.bodyAt, this.#bytes, nameAt + query.nameLength, kept);
  }

  /** Loads the first two cache lines of an entry; what it returns has no meaning. */
  touch(position: number): number {
    return (this.words[position] as number) ^ (this.words[position + CACHE_LINE_WORDS] as number);
  }

  /** Makes `answer` a view of the entry, valid until the cache changes. */
  show(position: number, answer: Answer): void {
    const words = this.words;
    const key = words[position + KEY] as number;
    const body = words[position + BODY] as number;
    const counts = words[position + COUNTS] as number;
    const state = words[position + STATE] as number;
    answer.bytes = this.#bytes;
    answer.bodyAt = (position + ENTRY_HEADER_WORDS) * 4 + (key & 0xff);
    answer.bodyLength = body & 0xffff;
    answer.recordCount = body >>> 16;
    answer.answerCount = counts & 0xffff;
    answer.authorityCount = counts >>> 16;
    answer.additionalCount = state & 0xffff;
    answer.rcode = (key >>> 16) & 0x0f;
    answer.isAuthenticated = (key & AUTHENTICATED) !== 0;
    answer.isTruncated = false;
    const stored = words[position + STORED] as number;
    answer.storedTick = stored;
    answer.lifetimeSeconds = ((words[position + EXPIRES] as number) - stored) >> TICK_BITS;
    answer.failure = state >>> FAILURE_BITS;
    answer.hasTargets = (state & HAS_TARGETS) !== 0;
    answer.isStripped = (state & STRIPPED) !== 0;
    answer.position = position;
    answer.passedVersion = words[position + PASSED] as number;
  }

  /**
   * Whether the entry is for this question: name, type, class, DO and CD.
   *
   * @param start  where in the query's name the entry's name is to begin: 0, or for a name above
   *               it the start of a label
   * @param type   the question's, or ANY_TYPE
   */
  isFor(position: number, query: Query, start: number, type: number): boolean {
    const words = this.words;
    if (words[position + QUESTION] !== (type | (query.qclass << 16))) return false;
    const length = query.nameLength - start;
    const key = length | (query.keyBits << 8);
    if (((words[position + KEY] as number) & 0xffff) !== key) return false;
    const bytes = this.#bytes;
    const { name } = query;
    const nameAt = (position + ENTRY_HEADER_WORDS) * 4;
    for (let index = 0; index < length; index++) {
      if (bytes[nameAt + index] !== name[start + index]) return false;
    }
    return true;
  }

  /** Whether the entry is about a name, name[0, length), or on demand about one below it. */
  isNamed(position: number, name: Uint8Array, length: number, orBelow: boolean): boolean {
    const own = this.nameLength(position);
    const extra = own - length;
    if (extra < 0 || (extra > 0 && !orBelow)) return false;
    const bytes = this.#bytes;
    const start = this.nameAt(position);
    let at = start;
    while (at < start + extra) at += (bytes[at] as number) + 1;
    if (at !== start + extra) return false;
    for (let index = 0; index < length; index++) {
      if (bytes[at + index] !== name[index]) return false;
    }
    return true;
  }

  /** Bytes of the name, at `nameAt`. */
  nameLength(position: number): number {
    return (this.words[position + KEY] as number) & 0xff;
  }

  /** Offset of the name in `bytes`. */
  nameAt(position: number): number {
    return (position + ENTRY_HEADER_WORDS) * 4;
  }

  get bytes(): Uint8Array {
    return this.#bytes;
  }

  type(position: number): number {
    return (this.words[position + QUESTION] as number) & 0xffff;
  }

  qclass(position: number): number {
    return (this.words[position + QUESTION] as number) >>> 16;
  }

  keyBits(position: number): number {
    return ((this.words[position + KEY] as number) >>> 8) & 0xff;
  }

  /** Notes that the filter of this policy blocks none of the names that the answer leads to. */
  setPassed(position: number, version: number): void {
    this.words[position + PASSED] = version;
  }

  /** In words; negative when the entry is dead. */
  size(position: number): number {
    return this.words[position] as number;
  }

  /** Marks the record as one to be passed over. */
  kill(position: number): void {
    this.words[position] = -this.size(position);
  }

  hash(position: number): number {
    return this.words[position + HASH] as number;
  }

  expires(position: number): number {
    return this.words[position + EXPIRES] as number;
  }

  setTimes(position: number, stored: number, expires: number): void {
    this.words[position + STORED] = stored;
    this.words[position + EXPIRES] = expires;
  }

  /** Until when a stale answer is given without asking upstream. */
  failedUntil(position: number): number {
    return this.words[position + FAILED_UNTIL] as number;
  }

  setFailedUntil(position: number, tick: number): void {
    this.words[position + FAILED_UNTIL] = tick;
  }

  isFailure(position: number): boolean {
    return (this.words[position + STATE] as number) >>> FAILURE_BITS !== 0;
  }

  hit(position: number): void {
    const state = this.words[position + STATE] as number;
    if ((state & HITS) !== HITS) this.words[position + STATE] = state + HIT;
  }

  wasHit(position: number): boolean {
    return ((this.words[position + STATE] as number) & HITS) !== 0;
  }

  /** 0 to 3. */
  hits(position: number): number {
    return ((this.words[position + STATE] as number) & HITS) >>> HIT_SHIFT;
  }

  /** Takes one hit away; there must be one. */
  unhit(position: number): void {
    this.words[position + STATE] = (this.words[position + STATE] as number) - HIT;
  }

  forgetHits(position: number): void {
    this.words[position + STATE] = (this.words[position + STATE] as number) & ~HITS;
  }

  /** Copies an entry; source and target may overlap. */
  move(position: number, target: number): void {
    this.words.copyWithin(target, position, position + this.size(position));
  }
}
