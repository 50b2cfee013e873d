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
import type { Parts } from '../state/parts.ts';
import { writeEmpty, writeNegative, writeRecords } from '../answer/reply.ts';
import type { Rewrite } from '../filter/rule-set.ts';
import { findSpecialZone } from '../../dns/special-zones.ts';
import type { Turn } from '../query/turn.ts';
import { decide, isBlock } from '../filter/verdict.ts';
import { EDE, RCODE, TYPE } from '../../dns/wire.ts';
import { writeBlocked, writeRewrite } from './blocked.ts';
import { writeFollowed } from './followed.ts';
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
 * @returns  bytes written; LATER; or 0 with turn.isDropped
 */
export function answerRewrite(turn: Turn, rewrite: Rewrite, by: ChosenBy, parts: Parts): number {
  if (rewrite.cname === '') return writeRewrite(turn, rewrite, parts.policy);
  const ttl = parts.policy.blockingTtlSeconds;
  if (by === BY_SERVICE && isBinding(turn.query.type)) return writeNoData(turn, ttl);
  return answerAlias(turn, rewrite.cname, ttl, by, parts);
}

/** Types that name where and how a service is reached. RFC 9460. */
function isBinding(type: number): boolean {
  return type === TYPE.https || type === TYPE.svcb;
}

function writeNoData(turn: Turn, ttl: number): number {
  turn.outcome = OUTCOME.local;
  return writeNegative(turn, RCODE.noError, 0, ttl, false, EDE.forgedAnswer);
}

/** Answers with an alias and the records of its target. As `answerRewrite`. */
export function answerAlias(
  turn: Turn,
  target: string,
  ttlSeconds: number,
  by: ChosenBy,
  parts: Parts,
): number {
  const { chain } = parts;
  turn.outcome = OUTCOME.local;
  chain.begin(turn.query);
  if (!chain.add(turn.query, target, ttlSeconds)) return failChain(turn);
  if (turn.query.type === TYPE.cname) return writeChainOnly(turn, by, parts);
  return follow(turn, by, parts);
}

/** Goes on from the last target until something answers. */
function follow(turn: Turn, by: ChosenBy, parts: Parts): number {
  const { chain, policy, cache, cached } = parts;
  const { target } = chain;
  for (;;) {
    const local = policy.records?.find(target) ?? null;
    if (local === null) break;
    if (local.target === '') {
      return writeRecords(turn, chain, local.records, by === BY_RECORD, edeOf(by));
    }
    if (!chain.add(turn.query, local.target, local.targetTtl)) return failChain(turn);
  }
  if (isKeptIn(parts)) return writeChainOnly(turn, by, parts);
  if (by === BY_LIST && isBlock(decide(policy, target, turn.context))) {
    turn.outcome = OUTCOME.blocked;
    return writeBlocked(turn, policy);
  }
  const hash = cache.keyHash(target);
  const status = cache.lookup(target, hash, turn.tick, cached);
  if (status === CACHE_FRESH) {
    return writeFollowed(turn, cached, tickSeconds(cached.storedTick, turn.tick), -1, parts);
  }
  if (status === CACHE_FAILED) {
    turn.outcome = OUTCOME.failed;
    return writeEmpty(turn, RCODE.servFail, EDE.cachedError);
  }
  return forwardChain(turn, hash, parts);
}

/** A special name is not asked upstream, as a target no more than as a question. */
function isKeptIn({ chain, policy }: Parts): boolean {
  if (findSpecialZone(chain.target) === 0) return false;
  return policy.suffixes === undefined || policy.suffixes.match(chain.target) === 0;
}

function writeChainOnly(turn: Turn, by: ChosenBy, { chain }: Parts): number {
  return writeRecords(turn, chain, [], by === BY_RECORD, edeOf(by));
}

function failChain(turn: Turn): number {
  turn.outcome = OUTCOME.failed;
  return writeEmpty(turn, RCODE.servFail, EDE.other);
}

function edeOf(by: ChosenBy): number {
  return by === BY_RECORD ? EDE.none : EDE.forgedAnswer;
}
