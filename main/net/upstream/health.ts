/**
 * What is known about one upstream: how fast it answers, and whether it does. Kept by the upstream
 * pool.
 *
 * A failure is first of the question, then of its name, and only then of the server. So silence counts
 * against a server when another one answered the same question; what nobody answers is the fault of
 * the name, or the network is away. It is gathered by zone (upstream-group.ts), because one zone whose
 * name servers are dead can mean many names, and ends with the first verified reply to any question:
 *
 *     sound ──silent──▶ in doubt ──others answered, for several zones──▶ down ──reply──▶ sound
 *       └──nobody listens there, or three refusals that another server could answer──▶ down
 *
 * In doubt it keeps its place, and the next server is asked at the same time. Down, it is asked last,
 * and beside the others now and then.
 */
import type { SendFailure } from '../transport/network-error.ts';

/** Hedge delay before the first reply is measured, and for a server that is down. */
const HEDGE_UNKNOWN_US = 150_000;
const HEDGE_DOWN_US = 150_000;
const HEDGE_MIN_US = 150_000;
export const HEDGE_MAX_US = 500_000;
/** Time before the same server is asked again: a resolver may need so long for a fresh name. */
const RESEND_MIN_US = 400_000;
/** A server whose answers take longer stands behind those that are faster. */
const SLOW_US = 300_000;
/** A single answer that takes longer is its name's fault, and counts as so much at most. */
const SAMPLE_MAX_US = 500_000;
/** Zones that others answered for, and since when, that make a server down. A satellite takes 0.6 s. */
const DOWN_ZONES = 3;
const DOWN_US = 1_500_000;
/** Zones without an answer, and since when: a sign of being offline, if it is so with every server. */
const OFFLINE_ZONES = 5;
const OFFLINE_US = 3_000_000;
/** Time between two probes of a server that is down: doubles from the first to the last. */
const BACKOFF_FIRST_US = 1_000_000;
const BACKOFF_LAST_US = 30_000_000;
/** Refusals in a row, of questions that another server answered, that make a server down. */
const REFUSALS_MAX = 3;
/** A smoothed time without a fresh measurement is believed for so long; of a slow server, shorter. */
const MEASURED_US = 30_000_000;
const SLOW_MEASURED_US = 5_000_000;

/** Rank in the order of asking. */
export const RANK_UP = 0;
export const RANK_SLOW = 1;
export const RANK_DOWN = 2;

/** Round-trip time and failures of one server. All times are the monotonic clock's, in µs. */
export class UpstreamHealth {
  /** Smoothed round trip and its deviation, as TCP keeps them (RFC 6298 §2). 0: none measured. */
  #smoothedUs = 0;
  #deviationUs = 0;
  #repliedUs = -1;
  /** Zones asked about in vain since the last reply, and those that another server answered for. */
  readonly #silent = new ZoneSet(OFFLINE_ZONES);
  readonly #outdone = new ZoneSet(DOWN_ZONES);
  /** The latter are enough: it is down until it answers. */
  #isOutdone = false;
  /** What sending met with last; null after a reply. */
  #fault: SendFailure | null = null;
  #refusals = 0;
  /** Probes since it went down. */
  #probes = 0;
  #probeUs = 0;

  get isDown(): boolean {
    return this.#isOutdone || this.#fault !== null || this.isRefusing;
  }

  /** Something was asked and not answered, and nothing has been since. */
  get isInDoubt(): boolean {
    return this.#silent.size > 0 && !this.isDown;
  }

  get isRefusing(): boolean {
    return this.#refusals >= REFUSALS_MAX;
  }

  /** The system cannot send to it. */
  get isCutOff(): boolean {
    return this.#fault === 'network';
  }

  get rank(): number {
    if (this.isDown) return RANK_DOWN;
    return this.#smoothedUs > SLOW_US ? RANK_SLOW : RANK_UP;
  }

  /** Smoothed round trip; 0 when none was measured. */
  get roundTripUs(): number {
    return this.#smoothedUs;
  }

  /** How long a question waits for this server before the next is asked as well. */
  get hedgeUs(): number {
    if (this.isDown) return HEDGE_DOWN_US;
    if (this.#smoothedUs === 0) return HEDGE_UNKNOWN_US;
    const expectedUs = this.#smoothedUs + 4 * this.#deviationUs;
    return Math.min(Math.max(expectedUs, HEDGE_MIN_US), HEDGE_MAX_US);
  }

  /** How long a question waits before it is sent to this very server again. */
  get resendUs(): number {
    return Math.max(this.hedgeUs, RESEND_MIN_US);
  }

  /** True when the round trip is not known, or only from long ago. */
  needsMeasuring(nowUs: number): boolean {
    const believedUs = this.rank === RANK_SLOW ? SLOW_MEASURED_US : MEASURED_US;
    return this.#repliedUs < 0 || nowUs - this.#repliedUs > believedUs;
  }

  /** True when questions of many zones, over some seconds, met with nothing but silence. */
  isSilentAt(nowUs: number): boolean {
    return this.#fault === null && this.#silent.isFullFor(OFFLINE_US, nowUs);
  }

  /**
   * Notes a verified reply, late ones too. A quick one shows what the server can do, a slow one may
   * be the fault of its name; so the first counts more.
   *
   * @returns whether the rank has changed
   */
  answered(tookUs: number, nowUs: number): boolean {
    const rank = this.rank;
    if (this.#smoothedUs === 0) {
      this.#smoothedUs = tookUs;
      this.#deviationUs = tookUs / 2;
    } else {
      const sampleUs = Math.min(tookUs, Math.max(SAMPLE_MAX_US, 2 * this.#smoothedUs));
      const errorUs = sampleUs - this.#smoothedUs;
      this.#deviationUs += (Math.abs(errorUs) - this.#deviationUs) / 4;
      this.#smoothedUs += errorUs / (errorUs < 0 ? 4 : 8);
    }
    this.#repliedUs = nowUs;
    this.#fault = null;
    this.#isOutdone = false;
    this.#silent.clear();
    this.#outdone.clear();
    return this.rank !== rank;
  }

  /** Notes a reply with an answer in it. @returns whether the rank has changed */
  helped(): boolean {
    const wasRefusing = this.isRefusing;
    this.#refusals = 0;
    return wasRefusing;
  }

  /** Notes SERVFAIL or the like to a question that another server answered. @returns as `outdone` */
  refused(nowUs: number): boolean {
    const wasDown = this.isDown;
    this.#refusals++;
    return this.#hasGoneDown(wasDown, nowUs);
  }

  /**
   * Notes that a question about a zone, sent at `sentUs`, got no reply for longer than expected. It
   * says nothing when the server has answered something since.
   */
  missed(zone: string, sentUs: number): void {
    if (this.#repliedUs < sentUs) this.#silent.add(zone, sentUs);
  }

  /** Notes that meanwhile another server answered it. @returns whether this one has just gone down */
  outdone(zone: string, sentUs: number, nowUs: number): boolean {
    if (this.#repliedUs >= sentUs) return false;
    const wasDown = this.isDown;
    this.#outdone.add(zone, sentUs);
    this.#isOutdone ||= this.#outdone.isFullFor(DOWN_US, nowUs);
    return this.#hasGoneDown(wasDown, nowUs);
  }

  /** Notes that what was sent at `sentUs` cannot have arrived. @returns as `outdone` */
  failed(fault: SendFailure, sentUs: number, nowUs: number): boolean {
    if (this.#repliedUs >= sentUs) return false;
    const wasDown = this.isDown;
    this.#fault = fault;
    return this.#hasGoneDown(wasDown, nowUs);
  }

  /** True when it is time to ask a server that is down; then plans the next time. */
  takesProbe(nowUs: number): boolean {
    if (!this.isDown || nowUs < this.#probeUs) return false;
    this.#planProbe(nowUs, this.#probes + 1);
    return true;
  }

  #hasGoneDown(wasDown: boolean, nowUs: number): boolean {
    if (wasDown || !this.isDown) return false;
    this.#planProbe(nowUs, 0);
    return true;
  }

  #planProbe(nowUs: number, earlier: number): void {
    this.#probes = earlier;
    const doublings = Math.min(earlier, 10);
    this.#probeUs = nowUs + Math.min(BACKOFF_FIRST_US * 2 ** doublings, BACKOFF_LAST_US);
  }
}

/** Some zones, and when the first of their questions left. */
class ZoneSet {
  readonly #zones: string[] = [];
  readonly #max: number;
  #sinceUs = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#zones.length;
  }

  add(zone: string, sentUs: number): void {
    this.#sinceUs = this.size === 0 ? sentUs : Math.min(this.#sinceUs, sentUs);
    if (this.size < this.#max && !this.#zones.includes(zone)) this.#zones.push(zone);
  }

  /** True when there are as many as it takes, and the first question is that old. */
  isFullFor(us: number, nowUs: number): boolean {
    return this.size >= this.#max && nowUs - this.#sinceUs >= us;
  }

  clear(): void {
    this.#zones.length = 0;
  }
}
