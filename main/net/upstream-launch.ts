/**
 * Makes one attempt at a question, as the server that gets it needs it: letter case, cookie, padding
 * or no OPT at all. Called by the upstream pool.
 */
import type { Random } from '../engine/ports.ts';
import { OPT_BYTES } from '../engine/wire.ts';
import { Attempt } from './upstream-attempt.ts';
import type { AttemptPurpose, PendingExchange } from './upstream-attempt.ts';
import { copyQuery, paddingFor } from './upstream-message.ts';
import type { Upstream } from './upstream.ts';

/**
 * Plain queries carry what a forger cannot guess: random letter case, and a cookie. Encrypted ones
 * need neither, but are padded so that their length tells nothing (RFC 8467).
 *
 * @param overTcp  by TCP or on top of it
 */
export function buildAttempt(
  exchange: PendingExchange,
  upstream: Upstream,
  purpose: AttemptPurpose,
  overTcp: boolean,
  random: Random,
  nowUs: number,
): Attempt {
  const { query, questionEnd } = exchange;
  const keepsOpt = purpose !== 'without-edns' && !upstream.refusesEdns;
  const hasOpt = keepsOpt && query.length === questionEnd + OPT_BYTES;
  const mixesCase = !upstream.changesCase && !upstream.isSecure;
  const options = hasOpt ? optionsFor(upstream, query.length) : undefined;
  const copy = copyQuery(query, questionEnd, mixesCase ? random : null, keepsOpt, options);
  const attempt = new Attempt(exchange, upstream, purpose, copy, hasOpt, mixesCase, nowUs);
  attempt.overTcp = overTcp;
  if (hasOpt && !upstream.isSecure) attempt.cookie = upstream.cookies.client;
  return attempt;
}

function optionsFor(upstream: Upstream, queryBytes: number): Buffer {
  return upstream.isSecure ? paddingFor(queryBytes) : upstream.cookies.option();
}
