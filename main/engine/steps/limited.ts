/**
 * What a client over its rate gets: every second packet the hint to ask over TCP, which nobody can
 * who forged his address; the others nothing. Called by engine.ts in place of the pipeline.
 */
import { COUNTER } from '../../contract/counters.ts';
import { OUTCOME, REASON } from '../../contract/outcome.ts';
import type { Parts } from '../parts.ts';
import { QUERY_OK } from '../query.ts';
import { writeTruncated } from '../reply.ts';

const LIMITED = COUNTER.limited;

/** Returns the bytes written; 0 for silence. */
export function answerLimited(
  parts: Parts,
  packet: Uint8Array,
  start: number,
  length: number,
): number {
  const { turn, tally } = parts;
  tally.add(LIMITED);
  parts.slips = (parts.slips + 1) & 1;
  if (parts.slips === 1 || turn.query.read(packet, start, length) !== QUERY_OK) return 0;
  turn.limitAnswer();
  turn.outcome = OUTCOME.rejected;
  turn.reason = REASON.rateLimited;
  return writeTruncated(turn);
}
