/**
 * What a client over its rate gets. Over UDP every second packet the hint to ask over TCP, which nobody
 * can follow who forged his address; the others nothing. Over TCP, where there is no such doubt,
 * REFUSED at once: a client that is told does not wait and ask again, and the connection stays.
 * Called by engine.ts in place of the pipeline.
 */
import { COUNTER } from '../../contract/counters.ts';
import { OUTCOME, REASON } from '../../contract/outcome.ts';
import type { Parts } from '../state/parts.ts';
import { QUERY_OK, type QueryStatus } from '../query/query.ts';
import { writeEmpty, writeTruncated } from '../answer/reply.ts';
import { EDE, RCODE } from '../../dns/wire.ts';

const LIMITED = COUNTER.limited;

/**
 * @param status  of the reading of the query
 * @returns       bytes written; 0 for silence
 */
export function answerLimited(parts: Parts, status: QueryStatus): number {
  const { turn, tally } = parts;
  tally.add(LIMITED);
  const isTcp = turn.transport === 'tcp';
  if (!isTcp) parts.slips = (parts.slips + 1) & 1;
  if (!isTcp && parts.slips === 1) return 0;
  if (status !== QUERY_OK) return 0;
  turn.limitAnswer();
  turn.outcome = OUTCOME.rejected;
  turn.reason = REASON.rateLimited;
  return isTcp ? writeEmpty(turn, RCODE.refused, EDE.prohibited) : writeTruncated(turn);
}
