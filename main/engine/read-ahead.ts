/**
 * Reads the packets of a batch before the first of them is answered, and touches the memory that
 * their answers will need: block lists and cache are far larger than the processor's caches, and
 * fetching for sixteen names side by side costs little more than for one.
 *
 *   packets ─ read ─▶ queries ─ touch ─▶ slots of lists and cache, then what stands there
 *                        └─ one by one, into the pipeline (engine.ts, `handleRead`)
 *
 * A touch is a load whose value is not used. It changes no answer, and it may be of the wrong
 * place: then the pipeline waits for its memory as it does without. Allocates nothing.
 */
import { LIMITS } from '../contract/limits.ts';
import type { AnswerCache } from './cache/cache.ts';
import { Query, QUERY_IGNORED, type QueryStatus } from './query/query.ts';
import type { RuleSet } from './filter/rule-set.ts';

/** Packets that are read ahead at once: their queries fit into the nearest cache. */
export const AHEAD = 16;

export class ReadAhead {
  readonly #queries = Array.from({ length: AHEAD }, () => new Query());
  readonly #statuses = new Array<QueryStatus>(AHEAD).fill(QUERY_IGNORED);
  /** Values that were loaded, so that no load is left out as useless. */
  touched = 0;

  query(index: number): Query {
    return this.#queries[index] as Query;
  }

  status(index: number): QueryStatus {
    return this.#statuses[index] as QueryStatus;
  }

  /**
   * Reads packets first, first + 1, ..., as many as `count`, at most AHEAD; packet n is
   * packets[n * stride, + lengths[n]).
   */
  read(
    packets: Uint8Array,
    stride: number,
    lengths: Uint32Array,
    first: number,
    count: number,
  ): void {
    for (let index = 0; index < count; index++) {
      const length = lengths[first + index] as number;
      const query = this.#queries[index] as Query;
      const isLong = length > LIMITS.udpQueryBytesMax;
      this.#statuses[index] = isLong
        ? QUERY_IGNORED
        : query.read(packets, (first + index) * stride, length);
    }
  }

  /** Touches what lists and cache hold about the queries that were read. */
  touch(lists: RuleSet, cache: AnswerCache, count: number): void {
    this.touched ^= lists.touch(this.#queries, count) ^ cache.touch(this.#queries, count);
  }
}
