/**
 * Step 6 of the pipeline: the question goes upstream, or joins an identical one that is already
 * there. The only step that allocates, and after which the answer comes later (steps/settle.ts).
 */
import { COUNTER } from '../../contract/counters.ts';
import { OUTCOME, REASON } from '../../contract/outcome.ts';
import type { Parts } from '../parts.ts';
import { Waiter, type PendingQuestion } from '../pending.ts';
import type { ExchangeResult } from '../ports.ts';
import { writeEmpty } from '../reply.ts';
import type { Turn } from '../turn.ts';
import { writeUpstreamQuery } from '../upstream-query.ts';
import { EDE, RCODE } from '../wire.ts';
import { answerStale } from './cached.ts';
import { settle } from './settle.ts';

/** Says that the answer comes later. */
export const LATER = -1;

const JOINED = COUNTER.joined;
const PENDING = COUNTER.pending;
const PENDING_DROPPED = COUNTER.pendingDropped;

/** Asks upstream. Returns LATER, or the length of an answer when no more can be asked. */
export function forward(turn: Turn, hash: number, parts: Parts): number {
  const { pending, tally } = parts;
  const inFlight = pending.find(turn.query, hash);
  if (inFlight !== null) {
    if (!pending.hasRoom(inFlight)) return turnAway(turn, hash, parts);
    tally.add(JOINED);
    return wait(turn, inFlight, parts);
  }
  const question = pending.open(turn.query, hash);
  if (question === null) return turnAway(turn, hash, parts);
  tally.set(PENDING, pending.size);
  const later = wait(turn, question, parts);
  const length = writeUpstreamQuery(turn.query, parts.upstreamQuery);
  parts.exchange.exchange(parts.upstreamQuery, length, (result: ExchangeResult) => {
    if (!parts.isClosed) settle(question, result, parts);
  });
  return later;
}

function wait(turn: Turn, question: PendingQuestion, parts: Parts): number {
  if (turn.client === null) return 0;
  const waiter = new Waiter(turn, turn.client.hold());
  parts.pending.wait(question, waiter);
  return LATER;
}

/** Too many questions in flight: an old answer if there is one, else SERVFAIL at once. */
function turnAway(turn: Turn, hash: number, parts: Parts): number {
  parts.tally.add(PENDING_DROPPED);
  turn.reason = REASON.upstreamFull;
  const written = answerStale(turn, hash, parts.cache, parts.cached);
  if (written !== 0) return written;
  turn.outcome = OUTCOME.failed;
  return writeEmpty(turn, RCODE.servFail, EDE.networkError);
}
