/**
 * Step 6 of the pipeline: the question goes upstream, or joins an identical one that is already
 * there. The only step that allocates, and after which the answer comes later (steps/settle.ts).
 */
import { COUNTER } from '../../contract/counters.ts';
import { LIMITS } from '../../contract/limits.ts';
import { OUTCOME, REASON } from '../../contract/outcome.ts';
import type { Parts } from '../state/parts.ts';
import { Waiter, type PendingQuestion } from '../state/pending.ts';
import type { ExchangeResult } from '../query/ports.ts';
import type { Query } from '../query/query.ts';
import { writeEmpty } from '../answer/reply.ts';
import type { Turn } from '../query/turn.ts';
import { writeUpstreamQuery } from '../state/upstream-query.ts';
import { EDE, RCODE } from '../../dns/wire.ts';
import { answerStale } from './cached.ts';
import { settle, settleLate, settleStale } from './settle.ts';

/** Says that the answer comes later. */
export const LATER = -1;

const JOINED = COUNTER.joined;
const PENDING = COUNTER.pending;
const PENDING_DROPPED = COUNTER.pendingDropped;
const PREFETCHED = COUNTER.prefetched;

/** Asks upstream. Returns LATER, or the length of an answer when no more can be asked. */
export function forward(turn: Turn, hash: number, parts: Parts): number {
  const { pending, tally } = parts;
  const inFlight = pending.find(turn.query, hash);
  if (inFlight !== null) {
    // Others were given the stale answer by now, so this one does not wait either.
    const written = inFlight.isOverdue ? answerStale(turn, hash, parts) : 0;
    if (written !== 0) return written;
    if (!pending.hasRoom(inFlight)) return turnAway(turn, hash, parts);
    tally.add(JOINED);
    if (turn.hasStale) setAlarm(inFlight, parts);
    return wait(turn, inFlight, parts);
  }
  const question = pending.open(turn.query, hash);
  if (question === null) return turnAway(turn, hash, parts);
  const later = wait(turn, question, parts);
  if (turn.hasStale) setAlarm(question, parts);
  ask(turn.query, question, parts);
  return later;
}

/** Asks upstream for the cache's sake: an answer was given, and it should be a fresher one. */
export function refresh(turn: Turn, hash: number, parts: Parts): void {
  const { pending, tally } = parts;
  if (parts.refreshes >= LIMITS.prefetchesMax || pending.find(turn.query, hash) !== null) return;
  const question = pending.open(turn.query, hash);
  if (question === null) return;
  question.packet = turn.query.compact();
  question.isRefresh = true;
  parts.refreshes++;
  tally.add(PREFETCHED);
  ask(turn.query, question, parts);
}

/** Asks for the last target of `parts.chain`, in the name of the client in the turn. */
export function forwardChain(turn: Turn, hash: number, parts: Parts): number {
  const { pending, tally, chain } = parts;
  if (turn.client === null) return 0;
  const inFlight = pending.find(chain.target, hash);
  if (inFlight !== null && !pending.hasRoom(inFlight)) return turnAway(turn, hash, parts);
  const question = inFlight ?? pending.open(chain.target, hash);
  if (question === null) return turnAway(turn, hash, parts);
  question.packet ??= chain.target.compact();
  pending.wait(question, new Waiter(turn, turn.client.hold(), chain.save()));
  if (inFlight === null) ask(chain.target, question, parts);
  else tally.add(JOINED);
  return LATER;
}

function ask(query: Query, question: PendingQuestion, parts: Parts): void {
  parts.tally.set(PENDING, parts.pending.size);
  const length = writeUpstreamQuery(query, parts.upstreamQuery);
  parts.exchange.exchange(parts.upstreamQuery, length, (result: ExchangeResult) => {
    if (question.isRefresh) parts.refreshes--;
    question.isRefresh = false;
    if (parts.isClosed) return;
    if (question.isSettled) settleLate(question, result, parts);
    else settle(question, result, parts);
  });
}

/** After a while the stale answer will do. RFC 8767 §5. */
function setAlarm(question: PendingQuestion, parts: Parts): void {
  if (question.hasAlarm || parts.alarm === null) return;
  question.hasAlarm = true;
  parts.alarm.after(LIMITS.staleAnswerMs, () => {
    if (!parts.isClosed && !question.isSettled) settleStale(question, parts);
  });
}

function wait(turn: Turn, question: PendingQuestion, parts: Parts): number {
  if (turn.client === null) return 0;
  const waiter = new Waiter(turn, turn.client.hold(), null);
  parts.pending.wait(question, waiter);
  return LATER;
}

/** Too many questions in flight: an old answer if there is one, else SERVFAIL at once. */
function turnAway(turn: Turn, hash: number, parts: Parts): number {
  parts.tally.add(PENDING_DROPPED);
  turn.reason = REASON.upstreamFull;
  const written = answerStale(turn, hash, parts);
  if (written !== 0) return written;
  turn.outcome = OUTCOME.failed;
  return writeEmpty(turn, RCODE.servFail, EDE.networkError);
}
