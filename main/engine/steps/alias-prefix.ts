/**
 * Answers that begin with aliases of ours (state.chain) and go on with what cache or upstream say
 * of the last target. Plain stub resolvers need the addresses: they do not ask again for a CNAME
 * alone. Used by steps/rewrite.ts at once, and by steps/complete.ts later.
 */
import { OUTCOME } from '../../contract/outcome.ts';
import type { Answer } from '../answer/answer.ts';
import { CACHE_STALE, CACHE_STALE_NOW } from '../cache/cache.ts';
import type { EngineState } from '../state/engine-state.ts';
import { writeAfterAliases, writeEmpty } from '../answer/reply.ts';
import type { QueryContext } from '../query/query-context.ts';
import { EDE, HEADER_BYTES, RCODE } from '../../dns/wire.ts';

/** TTL of a stale answer. RFC 8767 §4. */
const STALE_TTL_SECONDS = 30;

/**
 * Writes the chain and an answer to the question for its last target.
 *
 * @param ageSeconds  taken off every TTL of the answer
 * @param fixedTtl    instead, the TTL of every record of it; -1 for none
 */
export function writeWithAliases(
  context: QueryContext,
  answer: Answer,
  ageSeconds: number,
  fixedTtl: number,
  state: EngineState,
): number {
  const { chain, coverRewriter: rewriter } = state;
  context.outcome = OUTCOME.local;
  // What pointed into the question for the target now points to where the chain has it.
  const shift = chain.targetAt - HEADER_BYTES;
  if (!rewriter.rewrite(answer, chain.target.questionLength, shift, null)) {
    context.outcome = OUTCOME.failed;
    return writeEmpty(context, RCODE.servFail, EDE.other);
  }
  rewriter.answer.isTruncated = answer.isTruncated;
  return writeAfterAliases(context, chain, rewriter.answer, ageSeconds, fixedTtl, EDE.forgedAnswer);
}

/** The same with an expired answer, because the upstreams gave none; 0 when there is none. */
export function writeStaleWithAliases(
  context: QueryContext,
  hash: number,
  state: EngineState,
): number {
  const { cache, cached, chain, staleOff } = state;
  const status = cache.lookup(chain.target, hash, context.tick, cached);
  const isUsable = status === CACHE_STALE || status === CACHE_STALE_NOW;
  if (!isUsable || staleOff.covers(chain.target)) return 0;
  return writeWithAliases(context, cached, 0, STALE_TTL_SECONDS, state);
}
