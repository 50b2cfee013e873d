/**
 * Step 7, later: what came from upstream becomes the answers of all who wait for it.
 *
 *   reply -> read, clamp TTLs -> [second look at the answer] -> cache -> each waiter's own answer
 *
 * A second look (names in CNAME chains, private addresses) belongs between reading and storing.
 */
import { COUNTER } from '../../contract/counters.ts';
import { LIMITS } from '../../contract/limits.ts';
import { OUTCOME, REASON, type Reason } from '../../contract/outcome.ts';
import { tickAt } from '../cache.ts';
import type { Parts } from '../parts.ts';
import type { PendingQuestion, Waiter } from '../pending.ts';
import type { ExchangeResult } from '../ports.ts';
import { writeAnswer, writeEmpty } from '../reply.ts';
import type { Turn } from '../turn.ts';
import { EDE, RCODE } from '../wire.ts';
import { answerStale } from './cached.ts';

/** How long a failure is remembered. RFC 9520 §3.2: at least one second, at most five minutes. */
const FAILURE_SECONDS = 5;
const PENDING = COUNTER.pending;

/** What an exchange brought. */
type Verdict = 'answer' | 'failed-reply' | 'nothing';

/** Answers everybody who waits for the question. */
export function settle(question: PendingQuestion, result: ExchangeResult, parts: Parts): void {
  const { pending, tally, turn } = parts;
  pending.settle(question);
  tally.set(PENDING, pending.size);
  if (parts.lateAnswer.length === 0) {
    parts.lateAnswer = new Uint8Array(LIMITS.messageBytesMax);
  }
  let verdict: Verdict | null = null;
  for (const waiter of question.waiters) {
    resume(turn, waiter, parts);
    turn.upstream = result.upstream;
    verdict ??= judge(question.hash, result, parts);
    const written = write(turn, question.hash, verdict, result, parts);
    waiter.to.send(parts.lateAnswer, 0, written);
    tally.answered(turn, parts.policy.logMode);
  }
}

/** Puts the waiter's query back into the turn, as if it had just arrived. */
function resume(turn: Turn, waiter: Waiter, parts: Parts): void {
  const tick = tickAt(parts.clock.nowUs(), parts.originUs);
  turn.begin(parts.lateAnswer, 0, waiter.startedUs, tick);
  turn.client = null;
  turn.address = waiter.address;
  turn.transport = waiter.transport;
  turn.query.read(waiter.packet, 0, waiter.packet.length);
  turn.limitAnswer();
  turn.reason = waiter.reason;
  turn.listId = waiter.listId;
  turn.matchedLabels = waiter.matchedLabels;
}

/** Reads the reply and stores it, or remembers the failure. The turn holds the first waiter. */
function judge(hash: number, result: ExchangeResult, parts: Parts): Verdict {
  const { turn, cache, reader, policy } = parts;
  const { query, tick } = turn;
  if (result.reply !== null && reader.read(result.reply, query, policy.cache)) {
    const { answer } = reader;
    if (!isFailure(answer.rcode)) {
      cache.store(query, hash, tick, answer);
      return 'answer';
    }
    const reason = REASON.upstreamRefused;
    cache.storeFailure(query, hash, tick, FAILURE_SECONDS, answer.rcode, reason);
    return 'failed-reply';
  }
  // A queue of ours that is full, or a network that is away, says nothing about the question.
  if (result.failure !== 'full' && result.failure !== 'offline') {
    const reason = failureReason(result);
    cache.storeFailure(query, hash, tick, FAILURE_SECONDS, RCODE.servFail, reason);
  }
  return 'nothing';
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
  const { answer } = parts.reader;
  // TC over TCP helps nobody: the client could only ask the same way again.
  const isUsable = verdict === 'answer' && !(answer.isTruncated && turn.transport === 'tcp');
  if (isUsable) {
    turn.outcome = OUTCOME.forwarded;
    return writeAnswer(turn, answer, 0, -1, EDE.none);
  }
  turn.reason = failureReason(result);
  const stale = answerStale(turn, hash, parts.cache, parts.cached);
  if (stale !== 0) return stale;
  turn.outcome = OUTCOME.failed;
  if (verdict === 'failed-reply') {
    const ede = answer.ede === EDE.none ? EDE.noReachableAuthority : answer.ede;
    return writeEmpty(turn, answer.rcode, ede);
  }
  const isFull = result.failure === 'full';
  return writeEmpty(turn, RCODE.servFail, isFull ? EDE.networkError : EDE.noReachableAuthority);
}
