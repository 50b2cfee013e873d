/**
 * Answers with something else than the name's own records: local data, a response code, silence,
 * or another name's records. One step for all that can say so: $dnsrewrite and its kin in lists and
 * rules, redirects of policies, safe search, local aliases.
 *
 * The target of an alias is a question of its own: local records first, then the cache, then
 * upstream, where identical questions share one exchange. Where it leads is the user's choice and
 * not filtered, unless a list chose it.
 */
import { OUTCOME } from '../../contract/outcome.ts';
import { CACHE_FAILED, CACHE_FRESH, tickSeconds } from '../cache/cache.ts';
import type { EngineState } from '../state/engine-state.ts';
import { writeEmpty, writeNegative, writeRecords } from '../answer/reply.ts';
import type { Rewrite } from '../filter/rule-set.ts';
import { findSpecialZone } from '../../dns/special-zones.ts';
import type { QueryContext } from '../query/query-context.ts';
import { decide, isBlock } from '../filter/verdict.ts';
import { EDE, RCODE, TYPE } from '../../dns/wire.ts';
import { writeBlocked, writeRewrite } from './blocked.ts';
import { writeWithAliases } from './alias-prefix.ts';
import { forwardChain } from './forward.ts';

/** Who chose the target of an alias. */
export const BY_USER = 0;
export const BY_LIST = 1;
/** Local records: AA, and no word of forgery. */
export const BY_RECORD = 2;
/** Safe search: who gets another address must not be told of services of the name itself. */
export const BY_SERVICE = 3;
export type ChosenBy = typeof BY_USER | typeof BY_LIST | typeof BY_RECORD | typeof BY_SERVICE;

/**
 * Answers as a rewrite says.
 *
 * @returns  bytes written; LATER; or 0 with context.isDropped
 */
export function answerRewrite(
  context: QueryContext,
  rewrite: Rewrite,
  by: ChosenBy,
  state: EngineState,
): number {
  if (rewrite.cname === '') return writeRewrite(context, rewrite, state.config);
  const ttl = state.config.blockingTtlSeconds;
  if (by === BY_SERVICE && isBinding(context.query.type)) return writeNoData(context, ttl);
  return answerAlias(context, rewrite.cname, ttl, by, state);
}

/** Types that name where and how a service is reached. RFC 9460. */
function isBinding(type: number): boolean {
  return type === TYPE.https || type === TYPE.svcb;
}

function writeNoData(context: QueryContext, ttl: number): number {
  context.outcome = OUTCOME.local;
  return writeNegative(context, RCODE.noError, 0, ttl, false, EDE.forgedAnswer);
}

/** Answers with an alias and the records of its target. As `answerRewrite`. */
export function answerAlias(
  context: QueryContext,
  target: string,
  ttlSeconds: number,
  by: ChosenBy,
  state: EngineState,
): number {
  const { chain } = state;
  context.outcome = OUTCOME.local;
  chain.begin(context.query);
  if (!chain.add(context.query, target, ttlSeconds)) return failChain(context);
  if (context.query.type === TYPE.cname) return writeChainOnly(context, by, state);
  return follow(context, by, state);
}

/** Goes on from the last target until something answers. */
function follow(context: QueryContext, by: ChosenBy, state: EngineState): number {
  const { chain, config, cache, cached } = state;
  const { target } = chain;
  for (;;) {
    const local = config.records?.find(target) ?? null;
    if (local === null) break;
    if (local.target === '') {
      return writeRecords(context, chain, local.records, by === BY_RECORD, edeOf(by));
    }
    if (!chain.add(context.query, local.target, local.targetTtl)) return failChain(context);
  }
  if (isKeptIn(state)) return writeChainOnly(context, by, state);
  if (by === BY_LIST && isBlock(decide(config, target, context.matchContext))) {
    context.outcome = OUTCOME.blocked;
    return writeBlocked(context, config);
  }
  const hash = cache.keyHash(target);
  const status = cache.lookup(target, hash, context.tick, cached);
  if (status === CACHE_FRESH) {
    return writeWithAliases(
      context,
      cached,
      tickSeconds(cached.storedTick, context.tick),
      -1,
      state,
    );
  }
  if (status === CACHE_FAILED) {
    context.outcome = OUTCOME.failed;
    return writeEmpty(context, RCODE.servFail, EDE.cachedError);
  }
  return forwardChain(context, hash, state);
}

/** A special name is not asked upstream, as a target no more than as a question. */
function isKeptIn({ chain, config }: EngineState): boolean {
  if (findSpecialZone(chain.target) === 0) return false;
  return config.suffixes === undefined || config.suffixes.match(chain.target) === 0;
}

function writeChainOnly(context: QueryContext, by: ChosenBy, { chain }: EngineState): number {
  return writeRecords(context, chain, [], by === BY_RECORD, edeOf(by));
}

function failChain(context: QueryContext): number {
  context.outcome = OUTCOME.failed;
  return writeEmpty(context, RCODE.servFail, EDE.other);
}

function edeOf(by: ChosenBy): number {
  return by === BY_RECORD ? EDE.none : EDE.forgedAnswer;
}
