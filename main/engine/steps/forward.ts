/**
 * Step 6 of the pipeline: the question goes upstream, or joins an identical one that is already
 * there. The only step that allocates, and after which the answer comes later (steps/complete.ts).
 */
import { COUNTER } from '../../contract/counters.ts';
import { LIMITS } from '../../contract/limits.ts';
import { OUTCOME, REASON } from '../../contract/outcome.ts';
import type { EngineState } from '../state/engine-state.ts';
import { Waiter, type PendingQuestion } from '../state/pending.ts';
import type { ExchangeResult } from '../query/ports.ts';
import type { Query } from '../query/query.ts';
import { writeEmpty } from '../answer/reply.ts';
import type { QueryContext } from '../query/query-context.ts';
import { writeUpstreamQuery } from '../state/upstream-query.ts';
import { EDE, RCODE } from '../../dns/wire.ts';
import { answerStale } from './cached.ts';
import { complete, completeLate, answerStaleWaiters } from './complete.ts';

/** Says that the answer comes later. */
export const LATER = -1;

const JOINED = COUNTER.joined;
const PENDING = COUNTER.pending;
const PENDING_DROPPED = COUNTER.pendingDropped;
const PREFETCHED = COUNTER.prefetched;

/** Asks upstream. Returns LATER, or the length of an answer when no more can be asked. */
export function forward(context: QueryContext, hash: number, state: EngineState): number {
  const { pending, accounting } = state;
  const inFlight = pending.find(context.query, hash);
  if (inFlight !== null) {
    // Others were given the stale answer by now, so this one does not wait either.
    const written = inFlight.isOverdue ? answerStale(context, hash, state) : 0;
    if (written !== 0) return written;
    if (!pending.hasRoom(inFlight)) return turnAway(context, hash, state);
    accounting.add(JOINED);
    if (context.hasStale) setAlarm(inFlight, state);
    return wait(context, inFlight, state);
  }
  const question = pending.open(context.query, hash);
  if (question === null) return turnAway(context, hash, state);
  const later = wait(context, question, state);
  if (context.hasStale) setAlarm(question, state);
  ask(context.query, question, state);
  return later;
}

/** Asks upstream for the cache's sake: an answer was given, and it should be a fresher one. */
export function refresh(context: QueryContext, hash: number, state: EngineState): void {
  const { pending, accounting } = state;
  if (state.refreshes >= LIMITS.prefetchesMax || pending.find(context.query, hash) !== null) return;
  const question = pending.open(context.query, hash);
  if (question === null) return;
  question.packet = context.query.compact();
  question.isRefresh = true;
  state.refreshes++;
  accounting.add(PREFETCHED);
  ask(context.query, question, state);
}

/** Asks for the last target of `state.chain`, in the name of the client in the context. */
export function forwardChain(context: QueryContext, hash: number, state: EngineState): number {
  const { pending, accounting, chain } = state;
  if (context.client === null) return 0;
  const inFlight = pending.find(chain.target, hash);
  if (inFlight !== null && !pending.hasRoom(inFlight)) return turnAway(context, hash, state);
  const question = inFlight ?? pending.open(chain.target, hash);
  if (question === null) return turnAway(context, hash, state);
  question.packet ??= chain.target.compact();
  pending.wait(question, new Waiter(context, context.client.hold(), chain.save()));
  if (inFlight === null) ask(chain.target, question, state);
  else accounting.add(JOINED);
  return LATER;
}

function ask(query: Query, question: PendingQuestion, state: EngineState): void {
  state.accounting.set(PENDING, state.pending.size);
  const length = writeUpstreamQuery(query, state.upstreamQuery);
  state.exchange.exchange(state.upstreamQuery, length, (result: ExchangeResult) => {
    if (question.isRefresh) state.refreshes--;
    question.isRefresh = false;
    if (state.isClosed) return;
    if (question.isSettled) completeLate(question, result, state);
    else complete(question, result, state);
  });
}

/** After a while the stale answer will do. RFC 8767 §5. */
function setAlarm(question: PendingQuestion, state: EngineState): void {
  if (question.hasAlarm || state.alarm === null) return;
  question.hasAlarm = true;
  state.alarm.after(LIMITS.staleAnswerMs, () => {
    if (!state.isClosed && !question.isSettled) answerStaleWaiters(question, state);
  });
}

function wait(context: QueryContext, question: PendingQuestion, state: EngineState): number {
  if (context.client === null) return 0;
  const waiter = new Waiter(context, context.client.hold(), null);
  state.pending.wait(question, waiter);
  return LATER;
}

/** Too many questions in flight: an old answer if there is one, else SERVFAIL at once. */
function turnAway(context: QueryContext, hash: number, state: EngineState): number {
  state.accounting.add(PENDING_DROPPED);
  context.reason = REASON.upstreamFull;
  const written = answerStale(context, hash, state);
  if (written !== 0) return written;
  context.outcome = OUTCOME.failed;
  return writeEmpty(context, RCODE.servFail, EDE.networkError);
}
