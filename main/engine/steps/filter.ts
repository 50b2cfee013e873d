/**
 * Step 3 of the pipeline: the user's rules and the lists. It stands before the cache, so that a new
 * block acts at once on names that are cached. Who wins is in verdict.ts.
 */
import { OUTCOME, REASON, type Reason } from '../../contract/outcome.ts';
import { CONNECTIVITY_NAMES } from '../connectivity.ts';
import { fillContext } from '../match-context.ts';
import { LIST_ID_NONE, type Policy } from '../policy.ts';
import { writeEmpty, writeNegative, writeOne } from '../reply.ts';
import type { Turn } from '../turn.ts';
import {
  decide,
  decidingLabels,
  decidingList,
  isBlock,
  VERDICT_LIST_ALLOW,
  VERDICT_LIST_BLOCK,
  VERDICT_NONE,
  VERDICT_USER_ALLOW,
  VERDICT_USER_BLOCK,
} from '../verdict.ts';
import { CLASS, EDE, RCODE, TYPE } from '../wire.ts';

const NULL_V4 = new Uint8Array(4);
const NULL_V6 = new Uint8Array(16);

/** Answers a blocked name; 0 lets the query pass, with the reason noted if it was allowed. */
export function filter(turn: Turn, policy: Policy): number {
  if (turn.query.qclass !== CLASS.internet) return 0;
  if (!policy.filtering) {
    turn.reason = REASON.paused;
    return 0;
  }
  fillContext(turn.context, turn.query.type, turn.address);
  const verdict = decide(policy, turn.query, turn.context);
  turn.verdict = verdict;
  if (verdict === VERDICT_NONE) return 0;
  if (isBlock(verdict) && !isKeptOpen(turn, verdict)) {
    turn.outcome = OUTCOME.blocked;
    note(turn, policy, verdict === VERDICT_USER_BLOCK ? REASON.rule : REASON.list);
    return writeBlocked(turn, policy);
  }
  if (beatsBlock(turn, policy)) note(turn, policy, REASON.allowRule);
  return 0;
}

/** Connectivity checks are not for lists to block. Decided by us: no list is named for it. */
function isKeptOpen(turn: Turn, verdict: number): boolean {
  if (verdict !== VERDICT_LIST_BLOCK || !CONNECTIVITY_NAMES.has(turn.query)) return false;
  turn.reason = REASON.specialName;
  turn.listId = LIST_ID_NONE;
  return true;
}

/** An allow entry is worth a note only where something would have blocked. */
function beatsBlock(turn: Turn, policy: Policy): boolean {
  const { rules, lists } = policy;
  if (turn.verdict === VERDICT_LIST_ALLOW) return lists.hasBlock;
  if (turn.verdict !== VERDICT_USER_ALLOW) return false;
  if (rules.hasBlock) return true;
  if (lists.ruleCount === 0) return false;
  lists.match(turn.query, turn.context);
  return lists.hasBlock;
}

function note(turn: Turn, policy: Policy, reason: Reason): void {
  turn.reason = reason;
  turn.listId = decidingList(policy, turn.verdict);
  turn.matchedLabels = decidingLabels(policy, turn.verdict);
}

/** The answer that the settings choose for a block. Also for steps/second-look.ts. */
export function writeBlocked(turn: Turn, policy: Policy): number {
  const ttl = policy.blockingTtlSeconds;
  switch (policy.blockingAnswer) {
    case 'refused':
      return writeEmpty(turn, RCODE.refused, EDE.blocked);
    case 'nxdomain':
      return writeNegative(turn, RCODE.nxDomain, 0, ttl, false, EDE.blocked);
    case 'nodata':
      return writeNegative(turn, RCODE.noError, 0, ttl, false, EDE.blocked);
    case 'null-address': {
      const { type } = turn.query;
      if (type === TYPE.a) return writeOne(turn, type, ttl, NULL_V4, false, EDE.blocked);
      if (type === TYPE.aaaa) return writeOne(turn, type, ttl, NULL_V6, false, EDE.blocked);
      return writeNegative(turn, RCODE.noError, 0, ttl, false, EDE.blocked);
    }
  }
}
