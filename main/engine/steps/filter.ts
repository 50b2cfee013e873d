/**
 * Step 4 of the pipeline: rules, policies, services and lists. It stands before the cache, so that
 * a new block acts at once on names that are cached. Who wins is in verdict.ts.
 */
import { OUTCOME, REASON, type Reason } from '../../contract/outcome.ts';
import { CONNECTIVITY_NAMES } from '../state/connectivity.ts';
import type { Parts } from '../state/parts.ts';
import { LIST_ID_NONE, type Policy } from '../filter/policy.ts';
import type { Turn } from '../query/turn.ts';
import {
  decide,
  decidingLabels,
  decidingList,
  decidingRewrite,
  isBlock,
  isByTable,
  VERDICT_CLIENT_ALLOW,
  VERDICT_FIRST_ALLOW,
  VERDICT_LIST_ALLOW,
  VERDICT_LIST_BLOCK,
  VERDICT_NONE,
  VERDICT_POLICY_ALLOW,
  VERDICT_SERVICE_BLOCK,
  VERDICT_USER_ALLOW,
  type Verdict,
} from '../filter/verdict.ts';
import { CLASS } from '../../dns/wire.ts';
import { writeBlocked } from './blocked.ts';
import { knowClient } from './client.ts';
import { answerRewrite, BY_LIST, BY_SERVICE, BY_USER, type ChosenBy } from './rewrite.ts';

/** Answers a blocked or rewritten name; 0 lets the query pass, with the reason noted. */
export function filter(turn: Turn, parts: Parts): number {
  const { policy } = parts;
  if (turn.query.qclass !== CLASS.internet) return 0;
  if (!policy.filtering) {
    turn.reason = REASON.paused;
    return 0;
  }
  knowClient(turn, policy);
  if (!turn.context.profile.filtering) {
    turn.reason = REASON.paused;
    return 0;
  }
  const verdict = decide(policy, turn.query, turn.context);
  turn.verdict = verdict;
  if (verdict === VERDICT_NONE) return 0;
  if (!isBlock(verdict)) {
    if (beatsBlock(turn, policy)) note(turn, policy, allowReason(turn));
    return 0;
  }
  return isKeptOpen(turn, verdict) ? 0 : block(turn, parts);
}

function block(turn: Turn, parts: Parts): number {
  const { policy } = parts;
  const { verdict, context } = turn;
  const rewrite = decidingRewrite(policy, verdict, context);
  if (rewrite?.tcpOnly === true && turn.transport === 'tcp') return 0;
  turn.outcome = OUTCOME.blocked;
  note(turn, policy, blockReason(turn));
  if (rewrite === null) return writeBlocked(turn, policy);
  return answerRewrite(turn, rewrite, chosenBy(verdict), parts);
}

function chosenBy(verdict: Verdict): ChosenBy {
  if (verdict === VERDICT_LIST_BLOCK) return BY_LIST;
  return verdict === VERDICT_SERVICE_BLOCK ? BY_SERVICE : BY_USER;
}

function blockReason({ verdict, context }: Turn): Reason {
  if (isByTable(verdict)) return (context.entry?.reason ?? REASON.policy) as Reason;
  return verdict === VERDICT_LIST_BLOCK ? REASON.list : REASON.rule;
}

function allowReason({ verdict }: Turn): Reason {
  return verdict === VERDICT_POLICY_ALLOW ? REASON.policy : REASON.allowRule;
}

/** Connectivity checks are not for lists to block. Decided by us: no list is named for it. */
function isKeptOpen(turn: Turn, verdict: number): boolean {
  if (verdict !== VERDICT_LIST_BLOCK || !CONNECTIVITY_NAMES.has(turn.query)) return false;
  turn.reason = REASON.specialName;
  turn.listId = LIST_ID_NONE;
  return true;
}

/**
 * An allow entry is worth a note only where something would have blocked; that of a
 * policy or of a first rule always is.
 */
function beatsBlock(turn: Turn, policy: Policy): boolean {
  const { rules, lists } = policy;
  const { verdict, context } = turn;
  if (verdict === VERDICT_LIST_ALLOW) return lists.hasBlock;
  if (verdict === VERDICT_POLICY_ALLOW || verdict === VERDICT_FIRST_ALLOW) return true;
  const own = verdict === VERDICT_CLIENT_ALLOW ? context.profile.rules : null;
  if (verdict !== VERDICT_USER_ALLOW && own === null) return false;
  if ((own ?? rules).hasBlock) return true;
  if (lists.ruleCount === 0) return false;
  lists.match(turn.query, context);
  return lists.hasBlock;
}

function note(turn: Turn, policy: Policy, reason: Reason): void {
  turn.reason = reason;
  turn.listId = decidingList(policy, turn.verdict, turn.context);
  turn.matchedLabels = decidingLabels(policy, turn.verdict, turn.context);
}
