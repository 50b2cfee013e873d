/**
 * Makes one attempt at a question, as the server that gets it needs it: letter case, cookie, padding
 * or no OPT at all (upstream-quirks.ts). Called by the upstream pool.
 */
import type { Random } from '../../engine/query/ports.ts';
import { OPT_BYTES } from '../../dns/wire.ts';
import { Attempt } from './attempt.ts';
import type { AttemptPurpose, PendingExchange } from './attempt.ts';
import { copyQuery, hasSameName, paddingFor, wantsDnssec } from './message.ts';
import { OMIT_CASE, OMIT_OPT } from './quirks.ts';
import type { Upstream } from './upstream.ts';

/**
 * Plain queries carry what a forger cannot guess: random letter case, and a cookie. Encrypted ones
 * need neither, but are padded so that their length tells nothing (RFC 8467). Where the case is left
 * out, the ID, the port of a socket that few questions share, and the cookie remain.
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
  const zone = upstream.quirks.zoneOf(query, questionEnd);
  const isPlainProbe = purpose === 'ask' && mayBeForm(upstream, overTcp, nowUs);
  const omits = isPlainProbe
    ? upstream.quirks.omittedInProbe()
    : formOf(exchange, upstream, zone, purpose, overTcp, nowUs);
  const keepsOpt = (omits & OMIT_OPT) === 0;
  const hasOpt = keepsOpt && query.length === questionEnd + OPT_BYTES;
  const caseSource = upstream.mixesCase && (omits & OMIT_CASE) === 0 ? random : null;
  const options = hasOpt ? optionsFor(upstream, query.length) : undefined;
  const copy = copyQuery(query, questionEnd, caseSource, keepsOpt, options);
  const isMixed = !hasSameName(copy, query, questionEnd);
  const attempt = new Attempt(exchange, upstream, purpose, copy, hasOpt, isMixed, nowUs);
  attempt.overTcp = overTcp;
  attempt.zone = zone;
  attempt.isPlainProbe = isPlainProbe;
  if (hasOpt && !upstream.isSecure) attempt.cookie = upstream.cookies.client;
  return attempt;
}

/** A server that is down and never answered may only be silent to the usual form. */
function mayBeForm(upstream: Upstream, overTcp: boolean, nowUs: number): boolean {
  const { health, quirks, isStream } = upstream;
  if (overTcp !== isStream || !health.isDown) return false;
  return !health.isRefusing && !quirks.isProven(nowUs);
}

/** What an attempt is sent without: OMIT_ bits. */
function formOf(
  exchange: PendingExchange,
  upstream: Upstream,
  zone: number,
  purpose: AttemptPurpose,
  overTcp: boolean,
  nowUs: number,
): number {
  const { negative } = exchange;
  const before = negative?.upstream === upstream ? negative.omits : 0;
  const omits = upstream.quirks.omitted(zone, nowUs);
  switch (purpose) {
    case 'plain-case':
      return omits | before | OMIT_CASE;
    case 'without-edns':
      return omits | before | OMIT_OPT | (overTcp ? OMIT_CASE : 0);
    case 'check':
      return omits;
    case 'ask':
    case 'with-cookie':
      // Over TCP nobody can forge from off the path, whatever the case.
      return (
        omits | (overTcp ? OMIT_CASE : 0) | afterSilence(exchange, upstream, zone, overTcp, nowUs)
      );
  }
}

/**
 * A server that was silent to the question gets it in a plainer form. Silence of TCP beside UDP is
 * TCP's, and says nothing about forms.
 */
function afterSilence(
  { attempts, query, questionEnd }: PendingExchange,
  upstream: Upstream,
  zone: number,
  overTcp: boolean,
  nowUs: number,
): number {
  if (overTcp !== upstream.isStream) return 0;
  let silent = 0;
  for (const attempt of attempts) {
    const isSame = attempt.upstream === upstream && attempt.overTcp === overTcp;
    if (isSame && !attempt.isQueued) silent++;
  }
  if (silent === 0) return 0;
  // Without OPT there is no padding either.
  const needsOpt = upstream.isSecure || wantsDnssec(query, questionEnd);
  return upstream.quirks.omittedAfterSilence(zone, silent, needsOpt, nowUs);
}

function optionsFor(upstream: Upstream, queryBytes: number): Buffer {
  return upstream.isSecure ? paddingFor(queryBytes) : upstream.cookies.option();
}
