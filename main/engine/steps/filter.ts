/**
 * Step 4 of the pipeline: rules, policies, services and lists. It stands before the cache, so that
 * a new block acts at once on names that are cached. Who wins is in verdict.ts.
 */
import { OUTCOME, REASON, type Reason } from '../../contract/outcome.ts';
import { CONNECTIVITY_NAMES } from '../state/connectivity.ts';
import type { EngineState } from '../state/engine-state.ts';
import { LIST_ID_NONE, type EngineConfig } from '../filter/engine-config.ts';
import type { QueryContext } from '../query/query-context.ts';
import {
  decide,
  decidingLabels,
  decidingList,
  decidingRewrite,
  isBlock,
  isByTable,
  VERDICT_CLIENT_ALLOW,
  VERDICT_PRIORITY_ALLOW,
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
import { identifyClient } from './client.ts';
import { answerRewrite, BY_LIST, BY_SERVICE, BY_USER, type ChosenBy } from './rewrite.ts';

/** Answers a blocked or rewritten name; 0 lets the query pass, with the reason noted. */
export function filter(context: QueryContext, state: EngineState): number {
  const { config } = state;
  if (context.query.qclass !== CLASS.internet) return 0;
  if (!config.filtering) {
    context.reason = REASON.paused;
    return 0;
  }
  identifyClient(context, config);
  if (!context.matchContext.profile.filtering) {
    context.reason = REASON.paused;
    return 0;
  }
  const verdict = decide(config, context.query, context.matchContext);
  context.verdict = verdict;
  if (verdict === VERDICT_NONE) return 0;
  if (!isBlock(verdict)) {
    if (beatsBlock(context, config)) note(context, config, allowReason(context));
    return 0;
  }
  return isKeptOpen(context, verdict) ? 0 : block(context, state);
}

function block(context: QueryContext, state: EngineState): number {
  const { config } = state;
  const { verdict, matchContext } = context;
  const rewrite = decidingRewrite(config, verdict, matchContext);
  if (rewrite?.tcpOnly === true && context.transport === 'tcp') return 0;
  context.outcome = OUTCOME.blocked;
  note(context, config, blockReason(context));
  if (rewrite === null) return writeBlocked(context, config);
  return answerRewrite(context, rewrite, chosenBy(verdict), state);
}

function chosenBy(verdict: Verdict): ChosenBy {
  if (verdict === VERDICT_LIST_BLOCK) return BY_LIST;
  return verdict === VERDICT_SERVICE_BLOCK ? BY_SERVICE : BY_USER;
}

function blockReason({ verdict, matchContext }: QueryContext): Reason {
  if (isByTable(verdict)) return (matchContext.entry?.reason ?? REASON.policy) as Reason;
  return verdict === VERDICT_LIST_BLOCK ? REASON.list : REASON.rule;
}

function allowReason({ verdict }: QueryContext): Reason {
  return verdict === VERDICT_POLICY_ALLOW ? REASON.policy : REASON.allowRule;
}

/** Connectivity checks are not for lists to block. Decided by us: no list is named for it. */
function isKeptOpen(context: QueryContext, verdict: number): boolean {
  if (verdict !== VERDICT_LIST_BLOCK || !CONNECTIVITY_NAMES.has(context.query)) return false;
  context.reason = REASON.specialName;
  context.listId = LIST_ID_NONE;
  return true;
}

/**
 * An allow entry is worth a note only where something would have blocked; that of a
 * policy or of a first rule always is.
 */
function beatsBlock(context: QueryContext, config: EngineConfig): boolean {
  const { rules, lists } = config;
  const { verdict, matchContext } = context;
  if (verdict === VERDICT_LIST_ALLOW) return lists.hasBlock;
  if (verdict === VERDICT_POLICY_ALLOW || verdict === VERDICT_PRIORITY_ALLOW) return true;
  const own = verdict === VERDICT_CLIENT_ALLOW ? matchContext.profile.rules : null;
  if (verdict !== VERDICT_USER_ALLOW && own === null) return false;
  if ((own ?? rules).hasBlock) return true;
  if (lists.ruleCount === 0) return false;
  lists.match(context.query, matchContext);
  return lists.hasBlock;
}

function note(context: QueryContext, config: EngineConfig, reason: Reason): void {
  context.reason = reason;
  context.listId = decidingList(config, context.verdict, context.matchContext);
  context.matchedLabels = decidingLabels(config, context.verdict, context.matchContext);
}
