/**
 * An answer as it is kept: everything of an upstream's reply behind the question, as wire bytes,
 * and where its TTLs stand.
 *
 *   bytes:  ... | body: answer, authority, additional records | TTL offsets, 2 bytes each | ...
 *               bodyAt                                        bodyAt + bodyLength
 *
 * The question is not kept: whoever asks the same question brings one of the same length, so
 * compression pointers in the body stay right. Offsets count from the body's first byte,
 * little-endian. `ReplyReader` makes such an image from a reply; the cache stores it as it is, and
 * one routine (reply.ts, writeAnswer) writes both.
 */
import { LIMITS } from '../../contract/limits.ts';
import type { EngineConfig } from '../filter/engine-config.ts';
import type { Query } from '../query/query.ts';
import {
  copyBytes,
  FLAG,
  HEADER_BYTES,
  OPTION_EDE,
  EDE,
  RCODE,
  readUint16,
  readUint32,
  RECORD_FIXED_BYTES,
  recordEnd,
  skipName,
  TYPE,
  writeUint32,
} from '../../dns/wire.ts';

/** Longest time a negative answer is kept. RFC 2308 §5 suggests one to three hours. */
const NEGATIVE_TTL_MAX_SECONDS = 3 * 3_600;
/** A record has at least a one-byte owner and no data. */
export const RECORDS_MAX = Math.floor(LIMITS.messageBytesMax / (1 + RECORD_FIXED_BYTES));
/** TTL, RDLENGTH, two root names and five numbers. RFC 1035 §3.3.13. */
const SOA_BEHIND_TTL_BYTES_MIN = 4 + 2 + 2 + 20;
const NO_BYTES = new Uint8Array(0);

/** A view of one kept answer; reused, filled by the cache or by ReplyReader. */
export class Answer {
  bytes: Uint8Array = NO_BYTES;
  bodyAt = 0;
  bodyLength = 0;
  recordCount = 0;
  answerCount = 0;
  authorityCount = 0;
  additionalCount = 0;
  rcode = 0;
  /** AD as the upstream set it. */
  isAuthenticated = false;
  /** TC as the upstream set it: there is no body. */
  isTruncated = false;
  /** Seconds it may be kept; 0 when it may not. */
  lifetimeSeconds = 0;
  /** Extended error that the upstream gave; EDE.none without one. */
  ede: number = EDE.none;
  /** When the cache stored it, in ticks; set by the cache. */
  storedTick = 0;
  /** REASON of a failure that the cache remembers; 0 for an answer. */
  failure = 0;
  /** It names others (CNAME, SVCB, HTTPS) that the filter has to be asked about. */
  hasTargets = false;
  /** Private addresses were taken out; with no record left, all that was asked for. */
  isStripped = false;
  /** Where it is kept; set by the cache, for its own use. */
  position = 0;
  /** Version of the policy whose filter passed its targets; 0 for none. Set by the cache. */
  passedVersion = 0;

  /** Takes all records out. */
  clearBody(): void {
    this.bodyLength = 0;
    this.recordCount = 0;
    this.answerCount = this.authorityCount = this.additionalCount = 0;
    this.hasTargets = false;
  }
}

/** Limits of TTLs, of the policy. */
export type TtlLimits = Pick<EngineConfig['cache'], 'ttlMinSeconds' | 'ttlMaxSeconds'>;

export class ReplyReader {
  /** The answer of the last `read`. */
  readonly answer = new Answer();
  /** Made at the first reply: an engine that only blocks never needs it. */
  #image: Uint8Array = NO_BYTES;
  #reply: Uint8Array = NO_BYTES;
  #limits: TtlLimits = { ttlMinSeconds: 0, ttlMaxSeconds: 0 };
  #bodyLength = 0;
  #recordCount = 0;
  #lifetime = 0;
  /** TTL of the negative answer, by the SOA; -1 without one. */
  #negativeTtl = -1;
  #hasWanted = false;

  /**
   * Takes a reply apart: clamps TTLs, drops our OPT and what follows it, finds the lifetime.
   *
   * The reply was verified by reply-check.ts; its bounds are checked here all the same.
   *
   * @param query  the question, as parsed from the client's packet
   * @returns      false when the reply is not one to this question
   */
  read(reply: Uint8Array, query: Query, limits: TtlLimits): boolean {
    if (!isQuestion(reply, query)) return false;
    if (this.#image.length === 0) {
      this.#image = new Uint8Array(LIMITS.messageBytesMax + 2 * RECORDS_MAX);
    }
    const answer = this.answer;
    answer.rcode = (reply[3] as number) & 0x0f;
    answer.isAuthenticated = ((reply[3] as number) & FLAG.authenticated) !== 0;
    answer.isTruncated = ((reply[2] as number) & FLAG.truncated) !== 0;
    answer.ede = EDE.none;
    answer.hasTargets = false;
    answer.isStripped = false;
    this.#reply = reply;
    this.#limits = limits;
    this.#bodyLength = 0;
    this.#recordCount = 0;
    this.#lifetime = limits.ttlMaxSeconds;
    this.#negativeTtl = -1;
    this.#hasWanted = false;
    const bodyStart = HEADER_BYTES + query.questionLength;
    if (!answer.isTruncated && !this.#readSections(bodyStart, query.type)) return false;
    this.#fillAnswer();
    return true;
  }

  /** Reads and keeps the records of the three sections, up to OPT. */
  #readSections(bodyStart: number, type: number): boolean {
    const reply = this.#reply;
    copyBytes(reply, bodyStart, this.#image, 0, reply.length - bodyStart);
    const answerCount = readUint16(reply, 6);
    const additionalFrom = answerCount + readUint16(reply, 8);
    const count = additionalFrom + readUint16(reply, 10);
    let at = bodyStart;
    let index = 0;
    for (; index < count; index++) {
      const fixed = skipName(reply, at, reply.length);
      const next = recordEnd(reply, fixed, reply.length);
      if (next < 0) return false;
      const recordType = readUint16(reply, fixed);
      if (recordType === TYPE.opt) {
        if (index < additionalFrom) return false;
        this.#readOpt(fixed, next);
        break;
      }
      if (index < answerCount) {
        if (recordType === type) this.#hasWanted = true;
        if (hasTarget(recordType)) this.answer.hasTargets = true;
      }
      const isSoa = index >= answerCount && index < additionalFrom && recordType === TYPE.soa;
      this.#takeTtl(fixed + 4, bodyStart, next, isSoa);
      at = next;
    }
    this.answer.answerCount = answerCount;
    this.answer.authorityCount = additionalFrom - answerCount;
    this.answer.additionalCount = index - additionalFrom;
    this.#bodyLength = at - bodyStart;
    return true;
  }

  /** Clamps the TTL of a record in the image, and notes where it is. */
  #takeTtl(ttlAt: number, bodyStart: number, next: number, isSoa: boolean): void {
    const { ttlMinSeconds, ttlMaxSeconds } = this.#limits;
    const image = this.#image;
    const raw = readUint32(this.#reply, ttlAt);
    // 0 means "this time only" and stays 0. RFC 1035 §3.2.1.
    let ttl = raw === 0 ? 0 : Math.min(Math.max(raw, ttlMinSeconds), ttlMaxSeconds);
    if (isSoa && this.#negativeTtl < 0 && next - ttlAt >= SOA_BEHIND_TTL_BYTES_MIN) {
      // RFC 2308 §5: the smaller of the SOA's TTL and its last field.
      const minimum = readUint32(this.#reply, next - 4);
      ttl = Math.min(raw, minimum, NEGATIVE_TTL_MAX_SECONDS, ttlMaxSeconds);
      this.#negativeTtl = ttl;
    }
    const offset = ttlAt - bodyStart;
    writeUint32(image, offset, ttl);
    this.#lifetime = Math.min(this.#lifetime, ttl);
    const offsetAt = LIMITS.messageBytesMax + 2 * this.#recordCount++;
    image[offsetAt] = offset;
    image[offsetAt + 1] = offset >>> 8;
  }

  /** Response codes above 15 are failures to us; the first extended error is passed on. */
  #readOpt(fixed: number, end: number): void {
    const reply = this.#reply;
    if (reply[fixed + 4] !== 0) this.answer.rcode = RCODE.servFail;
    let at = fixed + RECORD_FIXED_BYTES;
    while (at + 4 <= end) {
      const size = readUint16(reply, at + 2);
      const isEde = readUint16(reply, at) === OPTION_EDE && size >= 2 && at + 6 <= end;
      if (isEde && this.answer.ede === EDE.none) this.answer.ede = readUint16(reply, at + 4);
      at += 4 + size;
    }
  }

  #fillAnswer(): void {
    const answer = this.answer;
    if (answer.isTruncated) {
      answer.answerCount = answer.authorityCount = answer.additionalCount = 0;
    }
    const offsetsFrom = LIMITS.messageBytesMax;
    const offsetsEnd = offsetsFrom + 2 * this.#recordCount;
    this.#image.copyWithin(this.#bodyLength, offsetsFrom, offsetsEnd);
    answer.bytes = this.#image;
    answer.bodyAt = 0;
    answer.bodyLength = this.#bodyLength;
    answer.recordCount = this.#recordCount;
    answer.lifetimeSeconds = this.#isStorable() ? this.#lifetime : 0;
  }

  /** NOERROR with what was asked for; or NODATA and NXDOMAIN with an SOA. RFC 2308 §5. */
  #isStorable(): boolean {
    const { rcode, isTruncated } = this.answer;
    if (isTruncated) return false;
    if (rcode === RCODE.noError && this.#hasWanted) return true;
    const isNegative = rcode === RCODE.noError || rcode === RCODE.nxDomain;
    return isNegative && this.#negativeTtl >= 0;
  }
}

/** Whether records of a type lead to another name that a client goes to. */
export function hasTarget(type: number): boolean {
  return type === TYPE.cname || type === TYPE.https || type === TYPE.svcb;
}

/** Whether the reply's question is the client's, letter case aside. */
function isQuestion(reply: Uint8Array, query: Query): boolean {
  const length = query.questionLength;
  if (reply.length < HEADER_BYTES + length || reply.length > LIMITS.messageBytesMax) return false;
  if (readUint16(reply, 4) !== 1) return false;
  for (let index = 0; index < query.nameLength; index++) {
    const byte = reply[HEADER_BYTES + index] as number;
    if ((byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte) !== query.name[index]) return false;
  }
  const behind = HEADER_BYTES + query.nameLength;
  return (
    reply[behind] === 0 &&
    readUint16(reply, behind + 1) === query.type &&
    readUint16(reply, behind + 3) === query.qclass
  );
}
