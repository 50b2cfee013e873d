/**
 * What one server was found not to understand: mixed letter case, EDNS, cookies on every reply, TCP
 * beside UDP. Kept by each upstream, read when a question is put into its form (upstream-launch.ts).
 *
 * The usual form of a question has mixed case and an OPT record. An error, a negative answer or
 * silence may be the server's word on the form, so it is confirmed in a plainer form before it is
 * believed, unless the server has proven itself:
 *
 *     a positive answer to the usual form    the server and the zone are proven for hours
 *     the plainer form fares no better       the zone is proven: the answer was about the name
 *     the plainer form fares better          a strike against what was left out
 *
 * Zones count apart, because a forwarder may send them to servers of different makes. A zone is here
 * the last two labels of a name.
 *
 * Nothing is left out for good, nor by one packet, which may be forged: it takes STRIKES_MAX
 * different questions without a reply in between that shows the contrary, or a reply over TCP, and
 * it ends by itself. Afterwards the usual form is tried again; one strike more renews the end.
 */
import { LIMITS } from '../../contract/limits.ts';
import type { Random } from '../../engine/query/ports.ts';
import { keyedHash } from '../../dns/name.ts';
import { HEADER_BYTES } from '../../dns/wire.ts';

/** What a question may be asked without; bits of Attempt.omits. */
export const OMIT_CASE = 1;
export const OMIT_OPT = 2;

const MINUTE_US = 60_000_000;
const HOUR_US = 60 * MINUTE_US;
const QUESTION_REST_BYTES = 1 + 4;
/** How long something is left out, a proof holds, and TCP that failed is not used for checks. */
const OMITTED_US = 2 * HOUR_US;
const PROVEN_US = 4 * HOUR_US;
const COOKIES_OFF_US = HOUR_US;
const TCP_OFF_US = 10 * MINUTE_US;
/** Different questions that speak against a feature of a server, and of one zone of it. */
const STRIKES_MAX = 3;
const ZONE_STRIKES_MAX = 2;
/** Strikes for cookies are not cleared by a good reply: half of a pool of servers may send them. */
const COOKIE_STRIKES_US = 5 * MINUTE_US;
/** Confirmations of a proven server: one for so many replies, and at most so many at once. */
const REPLIES_PER_CONFIRMATION = 8;
const CONFIRMATIONS_MAX = 16;

/** One feature that a server may not understand. */
class Quirk {
  readonly #periodUs: number;
  /** Different questions in which the server did better without it. */
  readonly #questions = new Set<string>();
  #untilUs = -Infinity;
  #provenUntilUs = -Infinity;

  constructor(periodUs: number) {
    this.#periodUs = periodUs;
  }

  isOmitted(nowUs: number): boolean {
    return nowUs < this.#untilUs;
  }

  isProven(nowUs: number): boolean {
    return nowUs < this.#provenUntilUs;
  }

  /** Counts a question against the feature. */
  strike(question: string, nowUs: number): void {
    if (this.isOmitted(nowUs)) return;
    this.#questions.add(question);
    if (this.#questions.size < STRIKES_MAX) return;
    this.omit(nowUs);
    // After the end, one question more is enough to renew it.
    for (const known of [...this.#questions].slice(0, 1)) this.#questions.delete(known);
  }

  /** The server showed over TCP, or in enough questions, that it does not understand it. */
  omit(nowUs: number): void {
    this.#untilUs = nowUs + this.#periodUs;
    this.#provenUntilUs = -Infinity;
  }

  prove(nowUs: number): void {
    this.#provenUntilUs = nowUs + PROVEN_US;
    this.clearStrikes();
  }

  clearStrikes(): void {
    if (this.#questions.size > 0) this.#questions.clear();
  }
}

/** Everything found out about one server's ways. All times are the monotonic clock's, in µs. */
export class UpstreamQuirks {
  readonly #seed: number;
  /** Questions in mixed case fare worse. */
  #case = new Quirk(OMITTED_US);
  /** Replies come in another case. */
  #echo = new Quirk(OMITTED_US);
  #opt = new Quirk(OMITTED_US);
  #cookies = new Quirk(COOKIES_OFF_US);
  #cookieStruckUs = -Infinity;
  #silenceStruckUs = -Infinity;
  #tcpOffUntilUs = -Infinity;
  #zones: ZoneForms | null = null;
  #confirmations = CONFIRMATIONS_MAX;
  #replies = 0;
  #probes = 0;

  constructor(random: Random) {
    this.#seed = random.uint32() | 0;
  }

  /** The zone of a question, by a keyed hash of its last two labels; never 0. */
  zoneOf(query: Uint8Array, end: number): number {
    const nameEnd = end - QUESTION_REST_BYTES;
    let last = HEADER_BYTES;
    let before = HEADER_BYTES;
    for (let at = HEADER_BYTES; at < nameEnd; at += (query[at] as number) + 1) {
      before = last;
      last = at;
    }
    return this.#hash(query, before, nameEnd);
  }

  /** What a question in a zone is asked without from the start: OMIT_ bits. */
  omitted(zone: number, nowUs: number): number {
    const byZone = this.#zones?.omitted(zone, nowUs) ?? 0;
    return (
      byZone |
      (this.#isCaseOmitted(nowUs) ? OMIT_CASE : 0) |
      (this.#opt.isOmitted(nowUs) ? OMIT_OPT : 0)
    );
  }

  /** It has answered questions in the usual form, or a part of it. */
  isProven(nowUs: number): boolean {
    return this.#case.isProven(nowUs) || this.#opt.isProven(nowUs);
  }

  /**
   * What a server that is down and has never proven itself is asked without: in turn the case, and
   * both.
   */
  omittedInProbe(): number {
    return this.#probes++ % 2 === 0 ? OMIT_CASE : OMIT_CASE | OMIT_OPT;
  }

  /** What a question in a zone is asked without after the server was silent to it so many times. */
  omittedAfterSilence(zone: number, silent: number, needsOpt: boolean, nowUs: number): number {
    if (silent === 0 || this.#isZoneProven(zone, nowUs)) return 0;
    const keepsOpt = silent === 1 || (needsOpt && this.#opt.isProven(nowUs));
    return keepsOpt ? OMIT_CASE : OMIT_CASE | OMIT_OPT;
  }

  /** Whether a negative answer or an error may be about the letter case. Uses up a confirmation. */
  doubtsCase(zone: number, nowUs: number): boolean {
    if (this.#isZoneProven(zone, nowUs)) return false;
    if (!this.#case.isProven(nowUs)) return true;
    if (this.#confirmations === 0) return false;
    this.#confirmations--;
    return true;
  }

  /** Whether an error may be about the OPT record. */
  doubtsOpt(zone: number, nowUs: number): boolean {
    return !this.#opt.isProven(nowUs) && !this.#isZoneProven(zone, nowUs);
  }

  /** A reply came that is the server's. */
  replied(): void {
    if (++this.#replies < REPLIES_PER_CONFIRMATION) return;
    this.#replies = 0;
    if (this.#confirmations < CONFIRMATIONS_MAX) this.#confirmations++;
  }

  /** A positive answer came to a question with what is not in `omits`. */
  provedGood(zone: number, omits: number, nowUs: number): void {
    if ((omits & OMIT_CASE) === 0) this.#case.prove(nowUs);
    if ((omits & OMIT_OPT) === 0) this.#opt.prove(nowUs);
    if (omits === 0) this.#zoneProven(zone, nowUs);
  }

  /** A reply that is no error came to a question with OPT. */
  tookOpt(nowUs: number): void {
    this.#opt.prove(nowUs);
  }

  /** A negative answer or an error was confirmed in a plainer form. */
  provedNegative(zone: number, nowUs: number): void {
    this.#zoneProven(zone, nowUs);
  }

  /** A question fared better without these: OMIT_ bits. */
  strike(query: Uint8Array, end: number, bits: number, nowUs: number): void {
    const question = questionKey(query, end);
    if ((bits & OMIT_CASE) !== 0) this.#case.strike(question, nowUs);
    if ((bits & OMIT_OPT) !== 0) this.#opt.strike(question, nowUs);
    this.#strikeZone(query, end, bits, nowUs);
  }

  /**
   * The server was silent to a question until it was asked without these. That may be a lost packet:
   * all questions of one silence are one strike, and one proof of the contrary outweighs them.
   *
   * @param sentUs  when the question left that got no reply
   */
  strikeSilence(query: Uint8Array, end: number, bits: number, sentUs: number, nowUs: number): void {
    if (sentUs <= this.#silenceStruckUs) return;
    this.#silenceStruckUs = nowUs;
    const question = questionKey(query, end);
    if ((bits & OMIT_CASE) !== 0 && !this.#case.isProven(nowUs)) this.#case.strike(question, nowUs);
    if ((bits & OMIT_OPT) !== 0 && !this.#opt.isProven(nowUs)) this.#opt.strike(question, nowUs);
    this.#strikeZone(query, end, bits, nowUs);
  }

  /**
   * A UDP reply was right but for the case: it is a forgery, or the server changes the case.
   *
   * @returns whether the server is no longer asked in mixed case
   */
  changedCase(query: Uint8Array, end: number, nowUs: number): boolean {
    this.#echo.strike(questionKey(query, end), nowUs);
    return this.#isCaseOmitted(nowUs);
  }

  /** The same over TCP, where nobody can forge from off the path. */
  changedCaseOverTcp(nowUs: number): void {
    this.#echo.omit(nowUs);
  }

  /** A UDP reply came in the case that was asked. */
  keptCase(): void {
    this.#echo.clearStrikes();
  }

  /** A UDP reply came without the cookie that others have. @returns whether that is expected now */
  lackedCookie(query: Uint8Array, end: number, nowUs: number): boolean {
    if (nowUs - this.#cookieStruckUs > COOKIE_STRIKES_US) this.#cookies.clearStrikes();
    this.#cookieStruckUs = nowUs;
    this.#cookies.strike(questionKey(query, end), nowUs);
    return this.#cookies.isOmitted(nowUs);
  }

  /** TCP beside UDP was closed or silent: the next check goes another way. */
  tcpFailed(nowUs: number): void {
    this.#tcpOffUntilUs = nowUs + TCP_OFF_US;
  }

  tcpAnswered(): void {
    this.#tcpOffUntilUs = -Infinity;
  }

  hasTcp(nowUs: number): boolean {
    return nowUs >= this.#tcpOffUntilUs;
  }

  /** What the server is asked without now, in words; '' for nothing. */
  describe(nowUs: number): string {
    const words = [
      this.#isCaseOmitted(nowUs) ? 'mixed case' : '',
      this.#opt.isOmitted(nowUs) ? 'EDNS' : '',
      this.#cookies.isOmitted(nowUs) ? 'cookies in every reply' : '',
    ];
    return words.filter((word) => word !== '').join(', ');
  }

  /** For another network. */
  forget(): void {
    this.#case = new Quirk(OMITTED_US);
    this.#echo = new Quirk(OMITTED_US);
    this.#opt = new Quirk(OMITTED_US);
    this.#cookies = new Quirk(COOKIES_OFF_US);
    this.#silenceStruckUs = -Infinity;
    this.#tcpOffUntilUs = -Infinity;
    this.#zones = null;
  }

  #isCaseOmitted(nowUs: number): boolean {
    return this.#case.isOmitted(nowUs) || this.#echo.isOmitted(nowUs);
  }

  #isZoneProven(zone: number, nowUs: number): boolean {
    return this.#zones?.isProven(zone, nowUs) ?? false;
  }

  #zoneProven(zone: number, nowUs: number): void {
    this.#zones ??= new ZoneForms();
    this.#zones.prove(zone, nowUs);
  }

  #strikeZone(query: Uint8Array, end: number, bits: number, nowUs: number): void {
    this.#zones ??= new ZoneForms();
    const question = this.#hash(query, HEADER_BYTES, end);
    this.#zones.strike(this.zoneOf(query, end), question, bits, nowUs);
  }

  #hash(bytes: Uint8Array, start: number, end: number): number {
    return keyedHash(bytes, start, end, this.#seed) | 1;
  }
}

/** Tells questions apart: name, type and class. */
function questionKey(query: Uint8Array, end: number): string {
  return Buffer.from(query.buffer, query.byteOffset + HEADER_BYTES, end - HEADER_BYTES).toString(
    'latin1',
  );
}

/** The zones of one server: a slot each by hash, the newer one stays. */
class ZoneForms {
  readonly #hashes = new Int32Array(LIMITS.upstreamZonesMax);
  readonly #untilUs = new Float64Array(LIMITS.upstreamZonesMax);
  /** OMIT_ bits: what the zone is asked without. */
  readonly #omitted = new Uint8Array(LIMITS.upstreamZonesMax);
  readonly #strikes = new Uint8Array(LIMITS.upstreamZonesMax);
  /** Hash of the question of the last strike. */
  readonly #questions = new Int32Array(LIMITS.upstreamZonesMax);
  readonly #isProven = new Uint8Array(LIMITS.upstreamZonesMax);

  omitted(hash: number, nowUs: number): number {
    const slot = this.#find(hash, nowUs);
    return slot < 0 ? 0 : (this.#omitted[slot] as number);
  }

  isProven(hash: number, nowUs: number): boolean {
    const slot = this.#find(hash, nowUs);
    return slot >= 0 && this.#isProven[slot] === 1;
  }

  prove(hash: number, nowUs: number): void {
    const slot = this.#take(hash, nowUs);
    // What is left out stays so until its end.
    if (this.#omitted[slot] !== 0) return;
    this.#isProven[slot] = 1;
    this.#strikes[slot] = 0;
    this.#untilUs[slot] = nowUs + PROVEN_US;
  }

  strike(hash: number, question: number, bits: number, nowUs: number): void {
    const slot = this.#take(hash, nowUs);
    if (this.#strikes[slot] !== 0 && this.#questions[slot] === question) return;
    this.#questions[slot] = question;
    this.#isProven[slot] = 0;
    this.#untilUs[slot] = nowUs + OMITTED_US;
    this.#strikes[slot] = (this.#strikes[slot] as number) + 1;
    if ((this.#strikes[slot] as number) < ZONE_STRIKES_MAX) return;
    this.#strikes[slot] = 0;
    this.#omitted[slot] = (this.#omitted[slot] as number) | bits;
  }

  #find(hash: number, nowUs: number): number {
    const slot = this.#slotOf(hash);
    return this.#hashes[slot] === hash && nowUs < (this.#untilUs[slot] as number) ? slot : -1;
  }

  #take(hash: number, nowUs: number): number {
    const slot = this.#slotOf(hash);
    if (this.#find(hash, nowUs) >= 0) return slot;
    this.#hashes[slot] = hash;
    this.#omitted[slot] = this.#strikes[slot] = this.#isProven[slot] = 0;
    return slot;
  }

  #slotOf(hash: number): number {
    return (hash >>> 1) % LIMITS.upstreamZonesMax;
  }
}
