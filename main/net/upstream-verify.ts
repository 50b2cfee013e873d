/**
 * Whether bytes that came back under an attempt's ID are its reply: engine/reply-check.ts, and what
 * a wrong letter case means on each way. Used by the upstream pool.
 */
import type { CounterName } from '../contract/counters.ts';
import { checkReply, REPLY_MALFORMED, REPLY_OK } from '../engine/reply-check.ts';
import { FLAG } from '../engine/wire.ts';
import type { Attempt } from './upstream-attempt.ts';
import { matchesButCase, readCookie, restoreQuestion } from './upstream-message.ts';

/** A verdict and the counter that it adds to. */
export interface Verdict {
  readonly counter: CounterName;
}

/** Verified: relay it. */
export const REPLY_IS_OURS: Verdict = { counter: 'upstreamAnswered' };
/** Somebody else's message or a forgery: wait on. */
export const REPLY_IS_FOREIGN: Verdict = { counter: 'upstreamMismatched' };
/** Over UDP, right but for the letter case: a forgery, or a server that changes the case. */
export const REPLY_HAS_WRONG_CASE: Verdict = { counter: 'upstreamMismatched' };
/** Over UDP, without the cookie that the server always sends: a forgery, or another server. */
export const REPLY_LACKS_COOKIE: Verdict = { counter: 'upstreamMismatched' };
/** Does not parse to its end: wait on. */
export const REPLY_IS_BROKEN: Verdict = { counter: 'upstreamMalformed' };

/**
 * Verifies a reply. One that came over TCP in another letter case cannot be a forgery from off the
 * path: it is given the right case, and the server is noted as one that changes it. The same holds
 * over UDP once the server is known to do so and was asked without random case.
 */
export function verifyReply(attempt: Attempt, bytes: Buffer): Verdict {
  const { query, upstream } = attempt;
  const end = attempt.exchange.questionEnd;
  const code = checkReply(bytes, bytes.length, query, query.length);
  if (code === REPLY_OK) {
    if (!attempt.overTcp) upstream.keptCase();
    return checkCookie(attempt, bytes);
  }
  if (code === REPLY_MALFORMED) return REPLY_IS_BROKEN;
  if (!matchesButCase(bytes, query, end)) return REPLY_IS_FOREIGN;
  if (!attempt.overTcp && attempt.hasRandomCase) return REPLY_HAS_WRONG_CASE;
  restoreQuestion(bytes, query, end);
  if (checkReply(bytes, bytes.length, query, query.length) !== REPLY_OK) return REPLY_IS_BROKEN;
  if (attempt.hasRandomCase) upstream.changesCase = true;
  return checkCookie(attempt, bytes);
}

/** A truncated reply may have lost its cookie, and leads to TCP anyway. */
function checkCookie(attempt: Attempt, bytes: Buffer): Verdict {
  const { cookie, upstream, overTcp } = attempt;
  const isTruncated = ((bytes[2] as number) & FLAG.truncated) !== 0;
  if (cookie === null || isTruncated) return REPLY_IS_OURS;
  const received = readCookie(bytes, attempt.exchange.questionEnd);
  switch (upstream.cookies.check(cookie, received, overTcp)) {
    case 'fine':
      return REPLY_IS_OURS;
    case 'foreign':
      return REPLY_IS_FOREIGN;
    case 'missing':
      return REPLY_LACKS_COOKIE;
  }
}
