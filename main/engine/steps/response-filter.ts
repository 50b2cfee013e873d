/**
 * The filter's second look: names that an answer leads to (CNAME chains, targets of SVCB and HTTPS)
 * are asked about like the name in the question. A tracker behind an alias of the site's own is
 * blocked so. Called for answers from upstream and for cached ones that the present policy has not
 * passed yet; allocates nothing.
 *
 * What the user allows by a rule is allowed with all that it leads to. An allow entry of a list, and
 * a name that checks connectivity, hold against list blocks only.
 */
import { OUTCOME, REASON } from '../../contract/outcome.ts';
import type { AnswerName } from '../answer/answer-name.ts';
import { hasTarget, type Answer } from '../answer/answer.ts';
import { CONNECTIVITY_NAMES } from '../state/connectivity.ts';
import type { MatchContext } from '../filter/match-context.ts';
import { LIST_ID_RULES, type EngineConfig } from '../filter/engine-config.ts';
import type { RuleSet } from '../filter/rule-set.ts';
import type { QueryContext } from '../query/query-context.ts';
import {
  decide,
  decidingLabels,
  decidingList,
  isBlock,
  isByTable,
  isUserAllow,
  VERDICT_LIST_ALLOW,
  VERDICT_LIST_BLOCK,
} from '../filter/verdict.ts';
import {
  CLASS,
  copyBytes,
  readUint16,
  RECORD_FIXED_BYTES,
  recordEnd,
  skipName,
  TYPE,
} from '../../dns/wire.ts';
import { identifyClient } from './client.ts';

/**
 * Whether the answer leads to a blocked name or address; notes which, why, and what a rule about an
 * address answers in the context.
 */
export function pointsToBlocked(
  context: QueryContext,
  config: EngineConfig,
  answer: Answer,
  name: AnswerName,
): boolean {
  const { query } = context;
  context.rewrite = null;
  if (!config.filtering || query.qclass !== CLASS.internet) return false;
  identifyClient(context, config);
  if (!context.matchContext.profile.filtering) return false;
  const own = decide(config, query, context.matchContext);
  if (isUserAllow(own)) return false;
  const onlyRules = own === VERDICT_LIST_ALLOW || CONNECTIVITY_NAMES.has(query);
  return hasBlockedTarget(context, config, answer, name, onlyRules);
}

function hasBlockedTarget(
  context: QueryContext,
  config: EngineConfig,
  answer: Answer,
  name: AnswerName,
  onlyRules: boolean,
): boolean {
  const { query } = context;
  const { bytes, bodyAt, bodyLength, answerCount } = answer;
  const end = bodyAt + bodyLength;
  let at = bodyAt;
  for (let index = 0; index < answerCount; index++) {
    const fixed = skipName(bytes, at, end);
    const next = recordEnd(bytes, fixed, end);
    if (next < 0) return false;
    const type = readUint16(bytes, fixed);
    if (hasTarget(type)) {
      const targetAt = fixed + RECORD_FIXED_BYTES + (type === TYPE.cname ? 0 : 2);
      const isRead = name.read(answer, targetAt, query.name, 0, query.nameLength);
      if (isRead && isBlocked(context, config, name, onlyRules)) return true;
    } else if (isBlockedAddress(context, config, bytes, fixed, type, onlyRules)) return true;
    at = next;
  }
  return false;
}

function isBlocked(
  context: QueryContext,
  config: EngineConfig,
  name: AnswerName,
  onlyRules: boolean,
): boolean {
  const { matchContext } = context;
  const verdict = decide(config, name, matchContext);
  if (!isBlock(verdict) || (verdict === VERDICT_LIST_BLOCK && onlyRules)) return false;
  // A redirect is for who asks for the name itself.
  if (isByTable(verdict) && matchContext.entry?.action === 'redirect') return false;
  context.outcome = OUTCOME.blocked;
  context.reason = REASON.cname;
  context.listId = decidingList(config, verdict, matchContext);
  const labels = decidingLabels(config, verdict, matchContext);
  context.matchedLabels = labels;
  // A pattern names no part of it: the whole name is told.
  const start = labels === 0 ? 0 : (name.labelStarts[name.labelCount - labels] as number);
  context.matchedLength = name.nameLength - start;
  copyBytes(name.name, start, context.matched, 0, context.matchedLength);
  return true;
}

/** Rules may block answers with an address in them, as RPZ does with its IP triggers. */
function isBlockedAddress(
  context: QueryContext,
  config: EngineConfig,
  bytes: Uint8Array,
  fixed: number,
  type: number,
  onlyRules: boolean,
): boolean {
  if (!isWatched(config, onlyRules) || !readAddress(bytes, fixed, type)) return false;
  const by = blockingRules(config, context.matchContext, onlyRules);
  const rewrite = by?.rewrite ?? null;
  if (by === null || (rewrite?.tcpOnly === true && context.transport === 'tcp')) return false;
  context.outcome = OUTCOME.blocked;
  context.reason = by === config.lists ? REASON.list : REASON.rule;
  context.listId = by === config.lists ? by.listId : LIST_ID_RULES;
  context.matchedLabels = 0;
  // An alias would be a question of its own: the address is blocked all the same.
  context.rewrite = rewrite?.cname === '' ? rewrite : null;
  return true;
}

function isWatched(
  { priorityRules: firstRules, rules, lists }: EngineConfig,
  onlyRules: boolean,
): boolean {
  if (rules.watchesAddresses || firstRules?.watchesAddresses === true) return true;
  return lists.watchesAddresses && !onlyRules;
}

/** The rules that block `address`, those of the user first; null for none. */
function blockingRules(
  { priorityRules: firstRules, rules, lists }: EngineConfig,
  matchContext: MatchContext,
  onlyRules: boolean,
): RuleSet | null {
  if (firstRules?.blocksAddress(address, matchContext) === true) return firstRules;
  if (rules.blocksAddress(address, matchContext)) return rules;
  return !onlyRules && lists.blocksAddress(address, matchContext) ? lists : null;
}

/** Scratch: 16 bytes, IPv4 as ::ffff:a.b.c.d. */
const address = new Uint8Array(16);

/** Takes the address of an A or AAAA record; false for other records. */
function readAddress(bytes: Uint8Array, fixed: number, type: number): boolean {
  const length = type === TYPE.a ? 4 : 16;
  if (type !== TYPE.a && type !== TYPE.aaaa) return false;
  if (readUint16(bytes, fixed + 8) !== length) return false;
  address.fill(0, 0, 10);
  address[10] = address[11] = 0xff;
  copyBytes(bytes, fixed + RECORD_FIXED_BYTES, address, 16 - length, length);
  return true;
}
