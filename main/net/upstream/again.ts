/**
 * Which replies lead to another question at the same server: over TCP, or in a plainer form, and what
 * is learned about the server by comparing (upstream-quirks.ts). Used by the upstream pool.
 */
import { DOUBT } from './attempt.ts';
import type { Attempt, AttemptPurpose } from './attempt.ts';
import type { ExchangeScheduler } from './scheduler.ts';
import {
  extendedRcodeOf,
  isBadCookie,
  isFormRefusal,
  isTruncated,
  RANK,
  rcodeOf,
  restoreQuestion,
} from './message.ts';
import { OMIT_CASE, OMIT_OPT } from './quirks.ts';
import { REPLY_HAS_WRONG_CASE, REPLY_LACKS_COOKIE } from './verify.ts';
import type { Verification } from './verify.ts';

/** Asks again after a UDP reply that a forger may have sent. The attempt was dropped. */
export function doubtReply(
  attempt: Attempt,
  verdict: Verification,
  asking: ExchangeScheduler,
  nowUs: number,
): void {
  const { exchange, upstream } = attempt;
  const { quirks } = upstream;
  if (verdict === REPLY_HAS_WRONG_CASE) {
    const isFirst = exchange.doubt(upstream, DOUBT.wrongCase);
    const isGivenUp = quirks.changedCase(exchange.query, exchange.questionEnd, nowUs);
    const overTcp = isFirst && !isGivenUp && quirks.hasTcp(nowUs);
    asking.askAgain(attempt, overTcp ? 'check' : 'plain-case', overTcp, nowUs);
  } else if (verdict === REPLY_LACKS_COOKIE) {
    exchange.doubt(upstream, DOUBT.cookie);
    const overTcp = quirks.hasTcp(nowUs);
    asking.askAgain(attempt, overTcp ? 'check' : 'ask', overTcp, nowUs);
  } else {
    exchange.doubt(upstream, DOUBT.bare);
    exchange.negative = { upstream, omits: attempt.omits, rank: RANK.failure };
    const isAboutOpt = attempt.hasOpt && isFormRefusal(rcodeOf(attempt.reply as Buffer));
    asking.askAgain(attempt, isAboutOpt ? 'without-edns' : 'plain-case', false, nowUs);
  }
}

/** TCP could not tell whether a reply was forged: another question over UDP has to. */
export function checkFailed(attempt: Attempt, asking: ExchangeScheduler, nowUs: number): void {
  const { exchange, upstream } = attempt;
  upstream.quirks.tcpFailed(nowUs);
  const isAboutCase = exchange.hasDoubted(upstream, DOUBT.wrongCase);
  asking.askAgain(attempt, isAboutCase ? 'plain-case' : 'ask', false, nowUs);
}

/** Asks over TCP once after a reply that cannot be read. @returns false when that is no use */
export function asksWhole(attempt: Attempt, asking: ExchangeScheduler, nowUs: number): boolean {
  const { exchange, upstream, overTcp } = attempt;
  if (overTcp || !exchange.doubt(upstream, DOUBT.broken)) return false;
  asking.askAgain(attempt, 'ask', true, nowUs);
  return true;
}

/** Follows the wish of a verified reply to be asked another way; false when it has none. */
export function asksOtherwise(
  attempt: Attempt,
  bytes: Buffer,
  asking: ExchangeScheduler,
  nowUs: number,
): boolean {
  const { exchange, overTcp, purpose } = attempt;
  if (isTruncated(bytes)) {
    asking.askAgain(attempt, 'ask', true, nowUs);
    return true;
  }
  if (isBadCookie(bytes, exchange.questionEnd) && attempt.cookie !== null) {
    // The reply brought the cookie that the server wants; if that does not help, TCP will.
    asking.askAgain(attempt, 'with-cookie', purpose === 'with-cookie', nowUs);
    return true;
  }
  const { query, questionEnd } = exchange;
  const plainer = plainerForm(attempt, bytes, nowUs);
  if (plainer === null) {
    const { quirks } = attempt.upstream;
    if (leftSince(attempt) !== 0 && !isBetter(attempt)) {
      quirks.provedNegative(attempt.zone, nowUs);
    }
    return false;
  }
  const { rank } = attempt;
  restoreQuestion(bytes, query, questionEnd);
  exchange.offer(Buffer.from(bytes), rank, attempt.upstream);
  exchange.negative = { upstream: attempt.upstream, omits: attempt.omits, rank };
  asking.askAgain(attempt, plainer, overTcp, nowUs);
  return true;
}

/** The form in which a negative answer or an error is confirmed; null when it is believed. */
function plainerForm(attempt: Attempt, bytes: Buffer, nowUs: number): AttemptPurpose | null {
  const { rank } = attempt;
  const { questionEnd } = attempt.exchange;
  if (rank === RANK.positive) return null;
  if (attempt.hasOpt && isFormRefusal(extendedRcodeOf(bytes, questionEnd))) return 'without-edns';
  if (doubtsCase(attempt, nowUs)) return 'plain-case';
  return rank >= RANK.failure && doubtsOpt(attempt, nowUs) ? 'without-edns' : null;
}

/** Once a question and server. */
function doubtsCase({ exchange, upstream, zone, hasRandomCase }: Attempt, nowUs: number): boolean {
  if (!hasRandomCase || exchange.hasDoubted(upstream, DOUBT.case)) return false;
  const isDoubted = upstream.quirks.doubtsCase(zone, nowUs);
  return isDoubted && exchange.doubt(upstream, DOUBT.case);
}

/** Once a question and server. */
function doubtsOpt({ exchange, upstream, zone, hasOpt }: Attempt, nowUs: number): boolean {
  if (!hasOpt || exchange.hasDoubted(upstream, DOUBT.opt)) return false;
  const isDoubted = upstream.quirks.doubtsOpt(zone, nowUs);
  return isDoubted && exchange.doubt(upstream, DOUBT.opt);
}

/** Notes what a verified reply says about the forms of the question that it and others were sent in. */
export function learnFrom(attempt: Attempt, nowUs: number): void {
  const { upstream, exchange, overTcp } = attempt;
  const { quirks } = upstream;
  const { query, questionEnd } = exchange;
  quirks.replied();
  if (overTcp) quirks.tcpAnswered();
  if (attempt.rank === RANK.useless) return;
  const { rank } = attempt;
  if (rank === RANK.positive) quirks.provedGood(attempt.zone, lackedBy(attempt), nowUs);
  if (rank < RANK.failure) {
    if (attempt.hasOpt) quirks.tookOpt(nowUs);
    if (overTcp === upstream.isStream) compareWithSilence(attempt, nowUs);
  }
  const left = leftSince(attempt);
  if (left !== 0 && isBetter(attempt)) quirks.strike(query, questionEnd, left, nowUs);
}

/** What of the usual form it lacked: OMIT_ bits. A stream is never asked in mixed case. */
function lackedBy({ upstream, omits }: Attempt): number {
  return upstream.isStream ? omits & ~OMIT_CASE : omits;
}

/** What was left out since the negative reply that the attempt is to confirm: OMIT_ bits. */
function leftSince({ exchange, upstream, omits }: Attempt): number {
  const { negative } = exchange;
  return negative?.upstream === upstream ? omits & ~negative.omits : 0;
}

function isBetter({ exchange, rank }: Attempt): boolean {
  return rank < (exchange.negative?.rank ?? 0);
}

/** A plainer form got a reply where one before it got none. */
function compareWithSilence(attempt: Attempt, nowUs: number): void {
  const { upstream, exchange, omits, isPlainProbe } = attempt;
  const { query, questionEnd } = exchange;
  let silentOmits = -1;
  let sentUs = 0;
  for (const other of exchange.attempts) {
    if (other.upstream !== upstream || other.overTcp !== attempt.overTcp) continue;
    silentOmits = Math.max(silentOmits, 0) | other.omits;
    sentUs = other.sentUs;
  }
  if (isPlainProbe) {
    // Probes leave out the case first, then both.
    silentOmits = omits & OMIT_OPT ? OMIT_CASE : 0;
    sentUs = attempt.sentUs;
  }
  if (silentOmits < 0) return;
  const left = omits & ~silentOmits;
  if (left !== 0) upstream.quirks.strikeSilence(query, questionEnd, left, sentUs, nowUs);
}
