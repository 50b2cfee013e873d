/**
 * Step 7, later: what came from upstream becomes the answers of all who wait for it.
 *
 *   verified reply -> [validated] -> read, clamp TTLs -> inspect, rewrite -> cache -> each waiter's answer
 *
 * Local DNSSEC validation, when it comes, is an Exchange round the upstreams' (ports.ts), because it
 * has questions of its own (DS, DNSKEY) and so cannot be done within `complete`, which does not wait:
 *
 *   gets      the reply as wire bytes, verified and whole, nothing cut or clamped yet; and the query,
 *             whose OPT has the client's DO and whose header has his CD (upstream-query.ts).
 *   returns   through ExchangeResult: secure (AD may be set), insecure (AD is cleared), or bogus
 *             (SERVFAIL with extended error 6, remembered like other failures; never with CD set,
 *             RFC 4035 §3.2.2).
 *   keeps to  the bytes. RRSIG, NSEC, NSEC3, DS and DNSKEY of all sections are kept and given as they
 *             came; DO and CD are part of the cache key, so that nobody gets what another asked for.
 *
 * What is cut after that (private addresses, foreign records) loses AD unless only additional records
 * went.
 */
import { COUNTER } from '../../contract/counters.ts';
import { LIMITS } from '../../contract/limits.ts';
import { OUTCOME, REASON, type Reason } from '../../contract/outcome.ts';
import { LOOK_CLEAN, LOOK_WRONG } from '../answer/answer-inspector.ts';
import type { Answer } from '../answer/answer.ts';
import { tickAt, TICKS_PER_SECOND } from '../cache/cache.ts';
import type { SavedChain } from '../answer/alias-chain.ts';
import type { EngineState } from '../state/engine-state.ts';
import type { PendingQuestion, Waiter } from '../state/pending.ts';
import type { ExchangeResult } from '../query/ports.ts';
import { writeEmpty } from '../answer/reply.ts';
import type { QueryContext } from '../query/query-context.ts';
import { EDE, RCODE } from '../../dns/wire.ts';
import { answerStale, writeCached } from './cached.ts';
import { writeWithAliases, writeStaleWithAliases } from './alias-prefix.ts';

/** How long a failure is remembered. RFC 9520 §3.2: at least one second, at most five minutes. */
const FAILURE_SECONDS = 5;
/** The same without any reply: it is the fault of the network or of a server, and soon over. */
const NO_REPLY_SECONDS = 1;
/** How long stale answers are given at once after no server could be reached. */
const UNREACHABLE_SECONDS = 5;
const PENDING = COUNTER.pending;
const ANSWERS_WRONG = COUNTER.answersWrong;
const ANSWERS_CUT = COUNTER.answersCut;

/** What an exchange brought: an answer, or the code and extended error of a failure. */
interface Completion {
  readonly answer: Answer | null;
  readonly rcode: number;
  readonly ede: number;
}

/** Answers everybody who waits for the question. */
export function complete(
  question: PendingQuestion,
  result: ExchangeResult,
  state: EngineState,
): void {
  const { pending, accounting, context } = state;
  pending.settle(question);
  accounting.set(PENDING, pending.size);
  let verdict: Completion | null = null;
  if (question.packet !== null) {
    resume(context, question.packet, state);
    verdict = judge(question, result, state);
  }
  const { waiters } = question;
  question.leave();
  for (const waiter of waiters) {
    resumeWaiter(context, waiter, state);
    context.upstream = result.upstream;
    verdict ??= judge(question, result, state);
    const written =
      waiter.chain === null
        ? write(context, question.hash, verdict, result, state)
        : writeAtEnd(context, waiter.chain, question.hash, verdict, result, state);
    // Account first: sending may bring the next query of a TCP connection into the context.
    accounting.answered(context, state.config.logMode);
    // A connection has to learn that nothing will come.
    if (written > 0 || context.transport === 'tcp') waiter.to.send(state.lateAnswer, 0, written);
  }
}

/**
 * An answer to a question that is settled: those who waited were told of a failure, or got the answer
 * of another exchange. It is stored, and is for everybody who has asked the same again.
 */
export function completeLate(
  question: PendingQuestion,
  result: ExchangeResult,
  state: EngineState,
): void {
  const { context, pending } = state;
  if (result.reply === null || question.packet === null) return;
  resume(context, question.packet, state);
  const again = pending.find(context.query, question.hash);
  if (again !== null) complete(again, result, state);
  else judge(question, result, state);
}

/** The upstreams take long: those who wait get the stale answer, and the question stays open. */
export function answerStaleWaiters(question: PendingQuestion, state: EngineState): void {
  const { context, accounting } = state;
  const [first] = question.waiters;
  if (first === undefined) return;
  const kept: Waiter[] = [];
  for (const waiter of question.waiters) {
    resumeWaiter(context, waiter, state);
    const written = answerStale(context, question.hash, state);
    if (written === 0) {
      kept.push(waiter);
      continue;
    }
    // Account first: sending may bring the next query of a TCP connection into the context.
    accounting.answered(context, state.config.logMode);
    waiter.to.send(state.lateAnswer, 0, written);
  }
  question.packet ??= first.packet;
  question.isOverdue = kept.length === 0;
  state.pending.keepWaiting(question, kept);
}

/** Puts a query back into the context, as if it had just arrived. */
function resume(context: QueryContext, packet: Uint8Array, state: EngineState): void {
  if (state.lateAnswer.length === 0) {
    state.lateAnswer = new Uint8Array(LIMITS.messageBytesMax);
  }
  const nowUs = state.clock.nowUs();
  context.begin(state.lateAnswer, 0, nowUs, tickAt(nowUs, state.originUs));
  context.client = null;
  context.query.read(packet, 0, packet.length);
}

function resumeWaiter(context: QueryContext, waiter: Waiter, state: EngineState): void {
  resume(context, waiter.packet, state);
  context.startedUs = waiter.startedUs;
  context.address = waiter.address;
  context.transport = waiter.transport;
  context.limitAnswer();
  context.reason = waiter.reason;
  context.listId = waiter.listId;
  context.matchedLabels = waiter.matchedLabels;
}

/** Reads the reply and stores it, or remembers the failure. The turn holds the first query. */
function judge(question: PendingQuestion, result: ExchangeResult, state: EngineState): Completion {
  const { context, cache, reader, config } = state;
  const { query, tick } = context;
  if (result.reply !== null && reader.read(result.reply, query, config.cache)) {
    state.downUntilTick = 0;
    const { rcode, ede } = reader.answer;
    if (isFailure(rcode)) {
      return fail(question, rcode, ede === EDE.none ? EDE.noReachableAuthority : ede, state);
    }
    const answer = inspected(state);
    if (answer === null) return fail(question, RCODE.servFail, EDE.other, state);
    if (!question.isOutdated) cache.store(query, question.hash, tick, answer);
    return { answer, rcode, ede };
  }
  // One question that nobody answers says nothing of others.
  if (result.failure === 'offline' || result.failure === 'refused') {
    state.downUntilTick = tick + UNREACHABLE_SECONDS * TICKS_PER_SECOND;
  }
  // A queue of ours that is full, or a network that is away, says nothing about the question.
  if (result.failure === 'full' || result.failure === 'offline') {
    return { answer: null, rcode: RCODE.servFail, ede: EDE.networkError };
  }
  const seconds = result.reply === null ? NO_REPLY_SECONDS : FAILURE_SECONDS;
  cacheFailure(question, seconds, RCODE.servFail, failureReason(result), state);
  return { answer: null, rcode: RCODE.servFail, ede: EDE.noReachableAuthority };
}

function fail(
  question: PendingQuestion,
  rcode: number,
  ede: number,
  state: EngineState,
): Completion {
  cacheFailure(question, FAILURE_SECONDS, rcode, REASON.upstreamRefused, state);
  return { answer: null, rcode, ede };
}

function cacheFailure(
  question: PendingQuestion,
  seconds: number,
  rcode: number,
  reason: Reason,
  { context, cache }: EngineState,
): void {
  if (question.isOutdated) return;
  cache.storeFailure(context.query, question.hash, context.tick, seconds, rcode, reason);
}

/** The reader's answer as it may be used; null when it is none. */
function inspected({
  inspector,
  reader,
  rewriter,
  context,
  guard,
  accounting,
}: EngineState): Answer | null {
  const { query } = context;
  const look = inspector.inspect(reader.answer, query, guard);
  if (look === LOOK_CLEAN) return reader.answer;
  if (look === LOOK_WRONG) {
    accounting.add(ANSWERS_WRONG);
    return null;
  }
  accounting.add(ANSWERS_CUT);
  const { marks, isEmptied, isFaded, hasPrivate } = inspector;
  if (!rewriter.rewrite(reader.answer, query.questionLength, 0, marks)) return null;
  const { answer } = rewriter;
  answer.isStripped = hasPrivate;
  answer.isAuthenticated = inspector.keepsAuthenticity && reader.answer.isAuthenticated;
  if (isEmptied) answer.clearBody();
  else if (isFaded) answer.lifetimeSeconds = 0;
  return answer;
}

/** RFC 8767 §4 lets a stale answer stand in for these. */
function isFailure(rcode: number): boolean {
  return (
    rcode === RCODE.servFail ||
    rcode === RCODE.refused ||
    rcode === RCODE.formErr ||
    rcode === RCODE.notImp
  );
}

function failureReason(result: ExchangeResult): Reason {
  if (result.failure === 'timeout' || result.failure === 'offline') return REASON.upstreamTimeout;
  return result.failure === 'full' ? REASON.upstreamFull : REASON.upstreamRefused;
}

/** Writes one waiter's answer. */
function write(
  context: QueryContext,
  hash: number,
  verdict: Completion,
  result: ExchangeResult,
  state: EngineState,
): number {
  const { answer } = verdict;
  // TC over TCP helps nobody: the client could only ask the same way again.
  if (answer !== null && !(answer.isTruncated && context.transport === 'tcp')) {
    return writeCached(context, answer, 0, -1, OUTCOME.forwarded, state);
  }
  context.reason = failureReason(result);
  const stale = answerStale(context, hash, state);
  if (stale !== 0) return stale;
  context.outcome = OUTCOME.failed;
  if (answer === null) return writeEmpty(context, verdict.rcode, verdict.ede);
  return writeEmpty(context, RCODE.servFail, EDE.noReachableAuthority);
}

/** The same for a waiter whose question leads to this one by aliases of ours. */
function writeAtEnd(
  context: QueryContext,
  chain: SavedChain,
  hash: number,
  { answer, rcode, ede }: Completion,
  result: ExchangeResult,
  state: EngineState,
): number {
  state.chain.restore(context.query, chain);
  if (answer !== null && !(answer.isTruncated && context.transport === 'tcp')) {
    return writeWithAliases(context, answer, 0, -1, state);
  }
  const stale = writeStaleWithAliases(context, hash, state);
  if (stale !== 0) return stale;
  context.outcome = OUTCOME.failed;
  context.reason = failureReason(result);
  if (answer !== null) return writeEmpty(context, RCODE.servFail, EDE.noReachableAuthority);
  return writeEmpty(context, isFailure(rcode) ? RCODE.servFail : rcode, ede);
}
