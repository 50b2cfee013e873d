/**
 * What a client over its rate gets. Over UDP every second packet the hint to ask over TCP, which nobody
 * can follow who forged his address; the others nothing. Over TCP, where there is no such doubt,
 * REFUSED at once: a client that is told does not wait and ask again, and the connection stays.
 * Called by engine.ts in place of the pipeline.
 */
import { COUNTER } from '../../contract/counters.ts';
import { OUTCOME, REASON } from '../../contract/outcome.ts';
import type { EngineState } from '../state/engine-state.ts';
import { QUERY_OK, type QueryStatus } from '../query/query.ts';
import { writeEmpty, writeTruncated } from '../answer/reply.ts';
import { EDE, RCODE } from '../../dns/wire.ts';

const LIMITED = COUNTER.limited;

/**
 * @param status  of the reading of the query
 * @returns       bytes written; 0 for silence
 */
export function answerLimited(state: EngineState, status: QueryStatus): number {
  const { context, accounting } = state;
  accounting.add(LIMITED);
  const isTcp = context.transport === 'tcp';
  if (!isTcp) state.slips = (state.slips + 1) & 1;
  if (!isTcp && state.slips === 1) return 0;
  if (status !== QUERY_OK) return 0;
  context.limitAnswer();
  context.outcome = OUTCOME.rejected;
  context.reason = REASON.rateLimited;
  return isTcp ? writeEmpty(context, RCODE.refused, EDE.prohibited) : writeTruncated(context);
}
