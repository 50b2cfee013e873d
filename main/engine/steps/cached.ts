/**
 * Step 5 of the pipeline: answers that are kept, what they say of names below, and failures that
 * are remembered. Also writes what came from upstream, by the same rules (`writeKept`).
 */
import { COUNTER } from '../../contract/counters.ts';
import { OUTCOME, REASON, type Outcome, type Reason } from '../../contract/outcome.ts';
import type { Answer } from '../answer/answer.ts';
import {
  CACHE_FAILED,
  CACHE_FRESH,
  CACHE_STALE,
  CACHE_STALE_NOW,
  tickSeconds,
} from '../cache/cache.ts';
import type { Parts } from '../state/parts.ts';
import type { Policy } from '../filter/policy.ts';
import { writeAnswer, writeEmpty, writeNegative } from '../answer/reply.ts';
import type { Turn } from '../query/turn.ts';
import { EDE, RCODE } from '../../dns/wire.ts';
import { writeBlocked, writeRewrite } from './blocked.ts';
import { leadsToBlocked } from './second-look.ts';

/** TTL of a stale answer. RFC 8767 §4. */
const STALE_TTL_SECONDS = 30;
const CACHE_MISSES = COUNTER.cacheMisses;

/** Answers from the cache; 0 lets the query pass on to the upstreams. */
export function answerFromCache(turn: Turn, hash: number, parts: Parts): number {
  const { cache, cached, policy } = parts;
  const status = cache.lookup(turn.query, hash, turn.tick, cached);
  if (status === CACHE_FRESH) {
    const isDue = policy.cache.prefetch && cache.isDueForPrefetch(cached, turn.tick);
    turn.wantsRefresh = isDue;
    const age = tickSeconds(cached.storedTick, turn.tick);
    return writeKept(turn, cached, age, -1, OUTCOME.cached, parts);
  }
  if (status === CACHE_FAILED) {
    turn.outcome = OUTCOME.failed;
    turn.reason = cached.failure as Reason;
    return writeEmpty(turn, cached.rcode, EDE.cachedError);
  }
  if (status === CACHE_STALE || status === CACHE_STALE_NOW) {
    const written = considerStale(turn, status === CACHE_STALE_NOW, parts);
    if (written !== 0) return written;
  } else {
    const written = answerFromAbove(turn, parts);
    if (written !== 0) return written;
  }
  parts.tally.add(CACHE_MISSES);
  return 0;
}

/** Answers with an expired entry because the upstreams gave nothing; 0 when there is none. */
export function answerStale(turn: Turn, hash: number, parts: Parts): number {
  const { cache, cached, staleOff } = parts;
  const status = cache.lookup(turn.query, hash, turn.tick, cached);
  const isUsable = status === CACHE_STALE || status === CACHE_STALE_NOW;
  return isUsable && !staleOff.covers(turn.query) ? writeStale(turn, parts) : 0;
}

/**
 * Writes an answer that is kept or comes from upstream, unless the present policy blocks a name it
 * leads to.
 *
 * @param ageSeconds  taken off every TTL
 * @param fixedTtl    instead, the TTL of every record; -1 for none
 * @param outcome     unless it is blocked
 */
export function writeKept(
  turn: Turn,
  answer: Answer,
  ageSeconds: number,
  fixedTtl: number,
  outcome: Outcome,
  parts: Parts,
): number {
  const { policy } = parts;
  // What one client may see another one perhaps may not: then it is not remembered.
  const isForAll =
    !policy.clients &&
    policy.firstRules?.isPerClient !== true &&
    !policy.rules.isPerClient &&
    !policy.lists.isPerClient;
  if (mustLook(answer, policy) && !(isForAll && answer.passedVersion === policy.version)) {
    if (leadsToBlocked(turn, policy, answer, parts.targetName)) {
      const { rewrite } = turn;
      return rewrite === null ? writeBlocked(turn, policy) : writeRewrite(turn, rewrite, policy);
    }
    if (isForAll && answer === parts.cached && policy.filtering) {
      parts.cache.setPassed(answer, policy.version);
    }
  }
  turn.outcome = outcome;
  if (answer.isStripped) return writeStripped(turn, answer, ageSeconds, fixedTtl);
  const ede = outcome === OUTCOME.stale ? staleEde(answer) : EDE.none;
  return writeAnswer(turn, answer, ageSeconds, fixedTtl, ede);
}

/** Whether an answer holds what rules may speak of. */
function mustLook(answer: Answer, { firstRules, rules, lists }: Policy): boolean {
  if (answer.hasTargets || lists.watchesAddresses || rules.watchesAddresses) return true;
  return firstRules?.watchesAddresses === true;
}

/** An answer that had private addresses; without a record left, it is NODATA of our own. */
function writeStripped(turn: Turn, answer: Answer, ageSeconds: number, fixedTtl: number): number {
  turn.reason = REASON.rebinding;
  if (answer.recordCount > 0) {
    return writeAnswer(turn, answer, ageSeconds, fixedTtl, EDE.forgedAnswer);
  }
  turn.outcome = OUTCOME.blocked;
  const left = fixedTtl >= 0 ? fixedTtl : Math.max(answer.lifetimeSeconds - ageSeconds, 0);
  return writeNegative(turn, RCODE.noError, 0, left, false, EDE.blocked);
}

/**
 * A stale answer goes out at once when the upstreams failed a moment ago, when they are known to be
 * down, or when the refresh takes longer than a client should wait. Else it stays in reserve.
 */
function considerStale(turn: Turn, isNow: boolean, parts: Parts): number {
  if (parts.staleOff.covers(turn.query)) return 0;
  if (isNow) return writeStale(turn, parts);
  if (turn.tick < parts.downUntilTick) {
    turn.wantsRefresh = true;
    return writeStale(turn, parts);
  }
  turn.hasStale = true;
  return 0;
}

function writeStale(turn: Turn, parts: Parts): number {
  return writeKept(turn, parts.cached, 0, STALE_TTL_SECONDS, OUTCOME.stale, parts);
}

function staleEde(answer: Answer): number {
  return answer.rcode === RCODE.nxDomain ? EDE.staleNxDomain : EDE.staleAnswer;
}

/**
 * Below a name that does not exist there is nothing. RFC 8020 §2. But a suffix with upstreams of its
 * own is another name space: that the others know no name above it says nothing of what is in it.
 */
function answerFromAbove(turn: Turn, parts: Parts): number {
  const { cache, cached, coverRewriter: rewriter, policy } = parts;
  const { query } = turn;
  const label = cache.lookupAbove(query, turn.tick, cached);
  if (label === 0) return 0;
  const suffixLabels = policy.suffixes?.match(query) ?? 0;
  if (query.labelCount - label < suffixLabels) return 0;
  const shift = query.labelStarts[label] as number;
  if (!rewriter.rewrite(cached, query.questionLength - shift, shift, null)) return 0;
  const { answer } = rewriter;
  answer.isAuthenticated = cached.isAuthenticated;
  turn.outcome = OUTCOME.cached;
  const age = tickSeconds(cached.storedTick, turn.tick);
  return writeAnswer(turn, answer, age, -1, EDE.none);
}
