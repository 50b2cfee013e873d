/**
 * The user's local records: answered with AA before special names and the filter, also while
 * filtering is off. A name that has any is never asked upstream, whatever the type.
 */
import { OUTCOME, REASON } from '../../contract/outcome.ts';
import type { LocalName } from '../filter/local-records.ts';
import type { EngineState } from '../state/engine-state.ts';
import { writeNegative, writeRecords } from '../answer/reply.ts';
import type { QueryContext } from '../query/query-context.ts';
import { CLASS, EDE, RCODE, TYPE } from '../../dns/wire.ts';
import { answerAlias, BY_RECORD } from './rewrite.ts';

/** How long it is believed that a local name has no records of a type. */
const NO_DATA_TTL_SECONDS = 60;

/** Answers a local name; 0 lets the query pass. ANY is left to steps/any.ts. */
export function answerLocalRecord(context: QueryContext, state: EngineState): number {
  const { records } = state.config;
  const { query } = context;
  if (!records || query.qclass !== CLASS.internet || query.type === TYPE.any) return 0;
  const local = records.find(query);
  if (local === null) return 0;
  context.outcome = OUTCOME.local;
  context.reason = REASON.localRecord;
  if (local.target !== '') {
    return answerAlias(context, local.target, local.targetTtl, BY_RECORD, state);
  }
  if (has(local, query.type)) return writeRecords(context, null, local.records, true, EDE.none);
  return writeNegative(context, RCODE.noError, 0, NO_DATA_TTL_SECONDS, true, EDE.none);
}

function has({ records }: LocalName, type: number): boolean {
  for (const record of records) if (record.type === type) return true;
  return false;
}
