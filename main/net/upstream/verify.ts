/**
 * Two judgements about bytes that came back under an attempt's ID. Is it the server's reply? ID,
 * question, letter case and cookie say so, and then the server lives. What of it can be used? All of
 * a well-formed reply, and what engine/answer/reply-repair.ts finds in another. Used by the upstream pool.
 */
import type { CounterName } from '../../contract/counters.ts';
import { isWellFormed } from '../../dns/reply-check.ts';
import { repairReply } from '../../engine/answer/reply-repair.ts';
import { DOUBT } from './attempt.ts';
import type { Attempt } from './attempt.ts';
import { emptyReply, fitOf, isTruncated, rcodeOf, readCookie, restoreQuestion } from './message.ts';

/** A verdict and the counter that it adds to. */
export interface Verification {
  readonly counter: CounterName;
}

/** Verified: use `attempt.reply`. */
export const REPLY_IS_OURS: Verification = { counter: 'upstreamAnswered' };
/** The server's, but of no use: nothing can be read from it. */
export const REPLY_IS_BROKEN: Verification = { counter: 'upstreamMalformed' };
/** Somebody else's message or a forgery: wait on. */
export const REPLY_IS_FOREIGN: Verification = { counter: 'upstreamMismatched' };
/** Over UDP, right but for the letter case: a forgery, or a server that changes the case. */
export const REPLY_HAS_WRONG_CASE: Verification = { counter: 'upstreamMismatched' };
/** Over UDP, without the cookie that the server sends: a forgery, or another server. */
export const REPLY_LACKS_COOKIE: Verification = { counter: 'upstreamMismatched' };
/** Over UDP, an error without a question: a forgery, or a server that does not understand ours. */
export const REPLY_LACKS_QUESTION: Verification = { counter: 'upstreamMismatched' };

/**
 * Verifies a reply and finds what of it can be used: `attempt.reply`, with the attempt's question.
 *
 * Over TCP nobody can forge from off the path: a reply in another letter case, or an error without a
 * question, is the server's there. So is one in another case when the case was not random.
 */
export function verifyReply(attempt: Attempt, bytes: Buffer, nowUs: number): Verification {
  const { query, exchange, upstream, overTcp, hasRandomCase } = attempt;
  const end = exchange.questionEnd;
  switch (fitOf(bytes, query, end)) {
    case 'foreign':
      return REPLY_IS_FOREIGN;
    case 'no-question':
      return verifyBare(attempt, bytes);
    case 'other-case':
      if (hasRandomCase && !overTcp) return REPLY_HAS_WRONG_CASE;
      if (hasRandomCase) upstream.quirks.changedCaseOverTcp(nowUs);
      restoreQuestion(bytes, query, end);
      break;
    case 'same':
      if (hasRandomCase && !overTcp) upstream.quirks.keptCase();
  }
  attempt.reply = usablePart(bytes, end, overTcp);
  return attempt.reply === null ? REPLY_IS_BROKEN : checkCookie(attempt, attempt.reply, nowUs);
}

/** Of a truncated reply nothing is used: it leads to TCP, or over TCP to another server. */
function usablePart(bytes: Buffer, end: number, overTcp: boolean): Buffer | null {
  if (overTcp && isTruncated(bytes)) return null;
  return isWellFormed(bytes, bytes.length, end) ? bytes : repairReply(bytes, end);
}

/** One may be forged; two of one server, with other IDs and ports, are believed. */
function verifyBare(attempt: Attempt, bytes: Buffer): Verification {
  const { exchange, upstream, overTcp, query } = attempt;
  if (!overTcp && !exchange.hasDoubted(upstream, DOUBT.bare)) {
    attempt.reply = bytes;
    return REPLY_LACKS_QUESTION;
  }
  attempt.reply = emptyReply(query, exchange.questionEnd, rcodeOf(bytes));
  return REPLY_IS_OURS;
}

/** A truncated reply may have lost its cookie, and leads to TCP anyway. */
function checkCookie(attempt: Attempt, bytes: Buffer, nowUs: number): Verification {
  const { cookie, upstream, overTcp, exchange } = attempt;
  if (cookie === null || isTruncated(bytes)) return REPLY_IS_OURS;
  const end = exchange.questionEnd;
  switch (upstream.cookies.check(cookie, readCookie(bytes, end), overTcp)) {
    case 'fine':
      return REPLY_IS_OURS;
    case 'foreign':
      return REPLY_IS_FOREIGN;
    case 'missing': {
      const isExpected = upstream.quirks.lackedCookie(exchange.query, end, nowUs);
      const isSecond = exchange.hasDoubted(upstream, DOUBT.cookie);
      return isExpected || isSecond ? REPLY_IS_OURS : REPLY_LACKS_COOKIE;
    }
  }
}
