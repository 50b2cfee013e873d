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
import type { EngineState } from '../state/engine-state.ts';
import type { EngineConfig } from '../filter/engine-config.ts';
import { writeAnswer, writeEmpty, writeNegative } from '../answer/reply.ts';
import type { QueryContext } from '../query/query-context.ts';
import { EDE, RCODE } from '../../dns/wire.ts';
import { writeBlocked, writeRewrite } from './blocked.ts';
import { pointsToBlocked } from './response-filter.ts';

/** TTL of a stale answer. RFC 8767 §4. */
const STALE_TTL_SECONDS = 30;
const CACHE_MISSES = COUNTER.cacheMisses;

/** Answers from the cache; 0 lets the query pass on to the upstreams. */
export function answerFromCache(context: QueryContext, hash: number, state: EngineState): number {
  const { cache, cached, config } = state;
  const status = cache.lookup(context.query, hash, context.tick, cached);
  if (status === CACHE_FRESH) {
    const isDue = config.cache.prefetch && cache.isDueForPrefetch(cached, context.tick);
    context.wantsRefresh = isDue;
    const age = tickSeconds(cached.storedTick, context.tick);
    return writeCached(context, cached, age, -1, OUTCOME.cached, state);
  }
  if (status === CACHE_FAILED) {
    context.outcome = OUTCOME.failed;
    context.reason = cached.failure as Reason;
    return writeEmpty(context, cached.rcode, EDE.cachedError);
  }
  if (status === CACHE_STALE || status === CACHE_STALE_NOW) {
    const written = considerStale(context, status === CACHE_STALE_NOW, state);
    if (written !== 0) return written;
  } else {
    const written = answerFromAbove(context, state);
    if (written !== 0) return written;
  }
  state.accounting.add(CACHE_MISSES);
  return 0;
}

/** Answers with an expired entry because the upstreams gave nothing; 0 when there is none. */
export function answerStale(context: QueryContext, hash: number, state: EngineState): number {
  const { cache, cached, staleOff } = state;
  const status = cache.lookup(context.query, hash, context.tick, cached);
  const isUsable = status === CACHE_STALE || status === CACHE_STALE_NOW;
  return isUsable && !staleOff.covers(context.query) ? writeStale(context, state) : 0;
}

/**
 * Writes an answer that is kept or comes from upstream, unless the present policy blocks a name it
 * leads to.
 *
 * @param ageSeconds  taken off every TTL
 * @param fixedTtl    instead, the TTL of every record; -1 for none
 * @param outcome     unless it is blocked
 */
export function writeCached(
  context: QueryContext,
  answer: Answer,
  ageSeconds: number,
  fixedTtl: number,
  outcome: Outcome,
  state: EngineState,
): number {
  const { config } = state;
  // What one client may see another one perhaps may not: then it is not remembered.
  const isForAll =
    !config.clients &&
    config.priorityRules?.isPerClient !== true &&
    !config.rules.isPerClient &&
    !config.lists.isPerClient;
  if (mustLook(answer, config) && !(isForAll && answer.passedVersion === config.version)) {
    if (pointsToBlocked(context, config, answer, state.targetName)) {
      const { rewrite } = context;
      return rewrite === null
        ? writeBlocked(context, config)
        : writeRewrite(context, rewrite, config);
    }
    if (isForAll && answer === state.cached && config.filtering) {
      state.cache.setPassed(answer, config.version);
    }
  }
  context.outcome = outcome;
  if (answer.isStripped) return writeStripped(context, answer, ageSeconds, fixedTtl);
  const ede = outcome === OUTCOME.stale ? staleEde(answer) : EDE.none;
  return writeAnswer(context, answer, ageSeconds, fixedTtl, ede);
}

/** Whether an answer holds what rules may speak of. */
function mustLook(
  answer: Answer,
  { priorityRules: firstRules, rules, lists }: EngineConfig,
): boolean {
  if (answer.hasTargets || lists.watchesAddresses || rules.watchesAddresses) return true;
  return firstRules?.watchesAddresses === true;
}

/** An answer that had private addresses; without a record left, it is NODATA of our own. */
function writeStripped(
  context: QueryContext,
  answer: Answer,
  ageSeconds: number,
  fixedTtl: number,
): number {
  context.reason = REASON.rebinding;
  if (answer.recordCount > 0) {
    return writeAnswer(context, answer, ageSeconds, fixedTtl, EDE.forgedAnswer);
  }
  context.outcome = OUTCOME.blocked;
  const left = fixedTtl >= 0 ? fixedTtl : Math.max(answer.lifetimeSeconds - ageSeconds, 0);
  return writeNegative(context, RCODE.noError, 0, left, false, EDE.blocked);
}

/**
 * A stale answer goes out at once when the upstreams failed a moment ago, when they are known to be
 * down, or when the refresh takes longer than a client should wait. Else it stays in reserve.
 */
function considerStale(context: QueryContext, isNow: boolean, state: EngineState): number {
  if (state.staleOff.covers(context.query)) return 0;
  if (isNow) return writeStale(context, state);
  if (context.tick < state.downUntilTick) {
    context.wantsRefresh = true;
    return writeStale(context, state);
  }
  context.hasStale = true;
  return 0;
}

function writeStale(context: QueryContext, state: EngineState): number {
  return writeCached(context, state.cached, 0, STALE_TTL_SECONDS, OUTCOME.stale, state);
}

function staleEde(answer: Answer): number {
  return answer.rcode === RCODE.nxDomain ? EDE.staleNxDomain : EDE.staleAnswer;
}

/**
 * Below a name that does not exist there is nothing. RFC 8020 §2. But a suffix with upstreams of its
 * own is another name space: that the others know no name above it says nothing of what is in it.
 */
function answerFromAbove(context: QueryContext, state: EngineState): number {
  const { cache, cached, coverRewriter: rewriter, config } = state;
  const { query } = context;
  const label = cache.lookupAbove(query, context.tick, cached);
  if (label === 0) return 0;
  const suffixLabels = config.suffixes?.match(query) ?? 0;
  if (query.labelCount - label < suffixLabels) return 0;
  const shift = query.labelStarts[label] as number;
  if (!rewriter.rewrite(cached, query.questionLength - shift, shift, null)) return 0;
  const { answer } = rewriter;
  answer.isAuthenticated = cached.isAuthenticated;
  context.outcome = OUTCOME.cached;
  const age = tickSeconds(cached.storedTick, context.tick);
  return writeAnswer(context, answer, age, -1, EDE.none);
}
