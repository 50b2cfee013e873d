/**
 * Step 3 of the pipeline: the user's rules and the lists. It stands before the cache, so that a new
 * block acts at once on names that are cached. An allow entry anywhere beats every block entry.
 */
import { OUTCOME, REASON } from '../../contract/outcome.ts';
import { MATCH_ALLOW, MATCH_BLOCK } from '../domain-table.ts';
import { LIST_ID_RULES, type Policy } from '../policy.ts';
import { writeEmpty, writeNegative, writeOne } from '../reply.ts';
import type { Turn } from '../turn.ts';
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
  const byRules = policy.rules.nameCount === 0 ? 0 : policy.rules.match(turn.query);
  const byLists = policy.lists.nameCount === 0 ? 0 : policy.lists.match(turn.query);
  const found = byRules | byLists;
  if ((found & MATCH_BLOCK) === 0) return 0;
  if ((found & MATCH_ALLOW) !== 0) {
    noteAllow(turn, policy, (byRules & MATCH_ALLOW) !== 0);
    return 0;
  }
  noteBlock(turn, policy, (byRules & MATCH_BLOCK) !== 0);
  return writeBlocked(turn, policy);
}

function noteAllow(turn: Turn, { rules, lists }: Policy, byRule: boolean): void {
  turn.reason = REASON.allowRule;
  turn.listId = byRule ? LIST_ID_RULES : lists.allowListId;
  turn.matchedLabels = byRule ? rules.allowLabels : lists.allowLabels;
}

function noteBlock(turn: Turn, { rules, lists }: Policy, byRule: boolean): void {
  turn.outcome = OUTCOME.blocked;
  turn.reason = byRule ? REASON.rule : REASON.list;
  turn.listId = byRule ? LIST_ID_RULES : lists.blockListId;
  turn.matchedLabels = byRule ? rules.blockLabels : lists.blockLabels;
}

function writeBlocked(turn: Turn, policy: Policy): number {
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
