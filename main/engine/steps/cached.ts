/** Step 5 of the pipeline: answers that are kept, and failures that are remembered. */
import { COUNTER } from '../../contract/counters.ts';
import { OUTCOME, type Reason } from '../../contract/outcome.ts';
import type { Answer } from '../answer.ts';
import {
  CACHE_FAILED,
  CACHE_FRESH,
  CACHE_STALE,
  CACHE_STALE_NOW,
  tickSeconds,
  type AnswerCache,
} from '../cache.ts';
import { writeAnswer, writeEmpty } from '../reply.ts';
import type { Tally } from '../tally.ts';
import type { Turn } from '../turn.ts';
import { EDE } from '../wire.ts';

/** TTL of a stale answer. RFC 8767 §4. */
const STALE_TTL_SECONDS = 30;
const CACHE_MISSES = COUNTER.cacheMisses;

/** Answers from the cache; 0 lets the query pass on to the upstreams. */
export function answerFromCache(
  turn: Turn,
  hash: number,
  cache: AnswerCache,
  answer: Answer,
  tally: Tally,
): number {
  const status = cache.lookup(turn.query, hash, turn.tick, answer);
  if (status === CACHE_FRESH) {
    turn.outcome = OUTCOME.cached;
    return writeAnswer(turn, answer, tickSeconds(answer.storedTick, turn.tick), -1, EDE.none);
  }
  if (status === CACHE_STALE_NOW) return writeStale(turn, answer);
  if (status === CACHE_FAILED) {
    turn.outcome = OUTCOME.failed;
    turn.reason = answer.failure as Reason;
    return writeEmpty(turn, answer.rcode, EDE.cachedError);
  }
  tally.add(CACHE_MISSES);
  return 0;
}

/** Answers with an expired entry because the upstreams gave nothing; 0 when there is none. */
export function answerStale(turn: Turn, hash: number, cache: AnswerCache, answer: Answer): number {
  const status = cache.lookup(turn.query, hash, turn.tick, answer);
  const isUsable = status === CACHE_STALE || status === CACHE_STALE_NOW;
  return isUsable ? writeStale(turn, answer) : 0;
}

function writeStale(turn: Turn, answer: Answer): number {
  turn.outcome = OUTCOME.stale;
  return writeAnswer(turn, answer, 0, STALE_TTL_SECONDS, EDE.staleAnswer);
}
