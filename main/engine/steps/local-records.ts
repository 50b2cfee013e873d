/**
 * The user's local records: answered with AA before special names and the filter, also while
 * filtering is off. A name that has any is never asked upstream, whatever the type.
 */
import { OUTCOME, REASON } from '../../contract/outcome.ts';
import type { LocalName } from '../filter/local-records.ts';
import type { Parts } from '../state/parts.ts';
import { writeNegative, writeRecords } from '../answer/reply.ts';
import type { Turn } from '../query/turn.ts';
import { CLASS, EDE, RCODE, TYPE } from '../../dns/wire.ts';
import { answerAlias, BY_RECORD } from './rewrite.ts';

/** How long it is believed that a local name has no records of a type. */
const NO_DATA_TTL_SECONDS = 60;

/** Answers a local name; 0 lets the query pass. ANY is left to steps/any.ts. */
export function answerLocalRecord(turn: Turn, parts: Parts): number {
  const { records } = parts.policy;
  const { query } = turn;
  if (!records || query.qclass !== CLASS.internet || query.type === TYPE.any) return 0;
  const local = records.find(query);
  if (local === null) return 0;
  turn.outcome = OUTCOME.local;
  turn.reason = REASON.localRecord;
  if (local.target !== '') {
    return answerAlias(turn, local.target, local.targetTtl, BY_RECORD, parts);
  }
  if (has(local, query.type)) return writeRecords(turn, null, local.records, true, EDE.none);
  return writeNegative(turn, RCODE.noError, 0, NO_DATA_TTL_SECONDS, true, EDE.none);
}

function has({ records }: LocalName, type: number): boolean {
  for (const record of records) if (record.type === type) return true;
  return false;
}
