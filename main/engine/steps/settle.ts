/**
 * Step 7, later: what came from upstream becomes the answers of all who wait for it.
 *
 *   verified reply -> [validated] -> read, clamp TTLs -> inspect, rewrite -> cache -> each waiter's answer
 *
 * Local DNSSEC validation, when it comes, is an Exchange round the upstreams' (ports.ts), because it
 * has questions of its own (DS, DNSKEY) and so cannot be done within `settle`, which does not wait:
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
import type { Parts } from '../state/parts.ts';
import type { PendingQuestion, Waiter } from '../state/pending.ts';
import type { ExchangeResult } from '../query/ports.ts';
import { writeEmpty } from '../answer/reply.ts';
import type { Turn } from '../query/turn.ts';
import { EDE, RCODE } from '../../dns/wire.ts';
import { answerStale, writeKept } from './cached.ts';
import { writeFollowed, writeFollowedStale } from './followed.ts';

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
interface Verdict {
  readonly answer: Answer | null;
  readonly rcode: number;
  readonly ede: number;
}

/** Answers everybody who waits for the question. */
export function settle(question: PendingQuestion, result: ExchangeResult, parts: Parts): void {
  const { pending, tally, turn } = parts;
  pending.settle(question);
  tally.set(PENDING, pending.size);
  let verdict: Verdict | null = null;
  if (question.packet !== null) {
    resume(turn, question.packet, parts);
    verdict = judge(question, result, parts);
  }
  const { waiters } = question;
  question.leave();
  for (const waiter of waiters) {
    resumeWaiter(turn, waiter, parts);
    turn.upstream = result.upstream;
    verdict ??= judge(question, result, parts);
    const written =
      waiter.chain === null
        ? write(turn, question.hash, verdict, result, parts)
        : writeAtEnd(turn, waiter.chain, question.hash, verdict, result, parts);
    // First the account: sending may bring the next query of a TCP connection into the turn.
    tally.answered(turn, parts.policy.logMode);
    // A connection has to learn that nothing will come.
    if (written > 0 || turn.transport === 'tcp') waiter.to.send(parts.lateAnswer, 0, written);
  }
}

/**
 * An answer to a question that is settled: those who waited were told of a failure, or got the answer
 * of another exchange. It is stored, and is for everybody who has asked the same again.
 */
export function settleLate(question: PendingQuestion, result: ExchangeResult, parts: Parts): void {
  const { turn, pending } = parts;
  if (result.reply === null || question.packet === null) return;
  resume(turn, question.packet, parts);
  const again = pending.find(turn.query, question.hash);
  if (again !== null) settle(again, result, parts);
  else judge(question, result, parts);
}

/** The upstreams take long: those who wait get the stale answer, and the question stays open. */
export function settleStale(question: PendingQuestion, parts: Parts): void {
  const { turn, tally } = parts;
  const [first] = question.waiters;
  if (first === undefined) return;
  const kept: Waiter[] = [];
  for (const waiter of question.waiters) {
    resumeWaiter(turn, waiter, parts);
    const written = answerStale(turn, question.hash, parts);
    if (written === 0) {
      kept.push(waiter);
      continue;
    }
    // First the account: sending may bring the next query of a TCP connection into the turn.
    tally.answered(turn, parts.policy.logMode);
    waiter.to.send(parts.lateAnswer, 0, written);
  }
  question.packet ??= first.packet;
  question.isOverdue = kept.length === 0;
  parts.pending.keepWaiting(question, kept);
}

/** Puts a query back into the turn, as if it had just arrived. */
function resume(turn: Turn, packet: Uint8Array, parts: Parts): void {
  if (parts.lateAnswer.length === 0) {
    parts.lateAnswer = new Uint8Array(LIMITS.messageBytesMax);
  }
  const nowUs = parts.clock.nowUs();
  turn.begin(parts.lateAnswer, 0, nowUs, tickAt(nowUs, parts.originUs));
  turn.client = null;
  turn.query.read(packet, 0, packet.length);
}

function resumeWaiter(turn: Turn, waiter: Waiter, parts: Parts): void {
  resume(turn, waiter.packet, parts);
  turn.startedUs = waiter.startedUs;
  turn.address = waiter.address;
  turn.transport = waiter.transport;
  turn.limitAnswer();
  turn.reason = waiter.reason;
  turn.listId = waiter.listId;
  turn.matchedLabels = waiter.matchedLabels;
}

/** Reads the reply and stores it, or remembers the failure. The turn holds the first query. */
function judge(question: PendingQuestion, result: ExchangeResult, parts: Parts): Verdict {
  const { turn, cache, reader, policy } = parts;
  const { query, tick } = turn;
  if (result.reply !== null && reader.read(result.reply, query, policy.cache)) {
    parts.downUntilTick = 0;
    const { rcode, ede } = reader.answer;
    if (isFailure(rcode)) {
      return fail(question, rcode, ede === EDE.none ? EDE.noReachableAuthority : ede, parts);
    }
    const answer = inspected(parts);
    if (answer === null) return fail(question, RCODE.servFail, EDE.other, parts);
    if (!question.isOutdated) cache.store(query, question.hash, tick, answer);
    return { answer, rcode, ede };
  }
  // One question that nobody answers says nothing of others.
  if (result.failure === 'offline' || result.failure === 'refused') {
    parts.downUntilTick = tick + UNREACHABLE_SECONDS * TICKS_PER_SECOND;
  }
  // A queue of ours that is full, or a network that is away, says nothing about the question.
  if (result.failure === 'full' || result.failure === 'offline') {
    return { answer: null, rcode: RCODE.servFail, ede: EDE.networkError };
  }
  const seconds = result.reply === null ? NO_REPLY_SECONDS : FAILURE_SECONDS;
  keepFailure(question, seconds, RCODE.servFail, failureReason(result), parts);
  return { answer: null, rcode: RCODE.servFail, ede: EDE.noReachableAuthority };
}

function fail(question: PendingQuestion, rcode: number, ede: number, parts: Parts): Verdict {
  keepFailure(question, FAILURE_SECONDS, rcode, REASON.upstreamRefused, parts);
  return { answer: null, rcode, ede };
}

function keepFailure(
  question: PendingQuestion,
  seconds: number,
  rcode: number,
  reason: Reason,
  { turn, cache }: Parts,
): void {
  if (question.isOutdated) return;
  cache.storeFailure(turn.query, question.hash, turn.tick, seconds, rcode, reason);
}

/** The reader's answer as it may be used; null when it is none. */
function inspected({ inspector, reader, rewriter, turn, guard, tally }: Parts): Answer | null {
  const { query } = turn;
  const look = inspector.inspect(reader.answer, query, guard);
  if (look === LOOK_CLEAN) return reader.answer;
  if (look === LOOK_WRONG) {
    tally.add(ANSWERS_WRONG);
    return null;
  }
  tally.add(ANSWERS_CUT);
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
  turn: Turn,
  hash: number,
  verdict: Verdict,
  result: ExchangeResult,
  parts: Parts,
): number {
  const { answer } = verdict;
  // TC over TCP helps nobody: the client could only ask the same way again.
  if (answer !== null && !(answer.isTruncated && turn.transport === 'tcp')) {
    return writeKept(turn, answer, 0, -1, OUTCOME.forwarded, parts);
  }
  turn.reason = failureReason(result);
  const stale = answerStale(turn, hash, parts);
  if (stale !== 0) return stale;
  turn.outcome = OUTCOME.failed;
  if (answer === null) return writeEmpty(turn, verdict.rcode, verdict.ede);
  return writeEmpty(turn, RCODE.servFail, EDE.noReachableAuthority);
}

/** The same for a waiter whose question leads to this one by aliases of ours. */
function writeAtEnd(
  turn: Turn,
  chain: SavedChain,
  hash: number,
  { answer, rcode, ede }: Verdict,
  result: ExchangeResult,
  parts: Parts,
): number {
  parts.chain.restore(turn.query, chain);
  if (answer !== null && !(answer.isTruncated && turn.transport === 'tcp')) {
    return writeFollowed(turn, answer, 0, -1, parts);
  }
  const stale = writeFollowedStale(turn, hash, parts);
  if (stale !== 0) return stale;
  turn.outcome = OUTCOME.failed;
  turn.reason = failureReason(result);
  if (answer !== null) return writeEmpty(turn, RCODE.servFail, EDE.noReachableAuthority);
  return writeEmpty(turn, isFailure(rcode) ? RCODE.servFail : rcode, ede);
}
