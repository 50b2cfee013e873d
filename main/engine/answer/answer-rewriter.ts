/**
 * Writes an answer anew, where it cannot stay as it is: records left out (answer-inspector.ts), odd
 * replies (reply-repair.ts), or another, longer question in front of it (an NXDOMAIN that covers
 * names below, RFC 8020).
 *
 * Bytes that move would leave compression pointers behind, so names are written out, but for what
 * points into the question; in the RDATA of types newer than RFC 1035 that as well (RFC 3597 §4).
 * The RDATA of types without names is copied. Allocates once, at its first use.
 */
import { LIMITS } from '../../contract/limits.ts';
import { pointerAt } from './answer-name.ts';
import { RECORDS_MAX, Answer } from './answer.ts';
import { MARK_DROP, MARK_DROP_HINTS } from './answer-marks.ts';
import { namesInData } from '../../dns/reply-check.ts';
import {
  copyBytes,
  HEADER_BYTES,
  readUint16,
  RECORD_FIXED_BYTES,
  recordEnd,
  skipName,
  SVCB_KEY,
  writeUint16,
} from '../../dns/wire.ts';

export class AnswerRewriter {
  /** The result of the last `rewrite`. */
  readonly answer = new Answer();
  #image = new Uint8Array(0);
  #source = this.answer;
  /** Offset in the message at which the source's body begins. */
  #bodyOffset = 0;
  /** By how many bytes the new question is longer. */
  #shift = 0;
  #at = 0;
  #isFull = false;
  #isMessage = false;

  /**
   * @param source          to be copied; not this object's own `answer`
   * @param questionLength  bytes of the question that `source` was given to
   * @param shift           bytes that the new question has more, at its front
   * @param marks           a MARK_ of answer-marks.ts a record; null keeps all
   * @param isMessage       source.bytes is a message: header and question stand before the body
   * @returns               false when it does not parse or would not fit a message
   */
  rewrite(
    source: Answer,
    questionLength: number,
    shift: number,
    marks: Uint8Array | null,
    isMessage = false,
  ): boolean {
    if (this.#image.length === 0) {
      this.#image = new Uint8Array(LIMITS.messageBytesMax + 2 * RECORDS_MAX);
    }
    this.#source = source;
    this.#bodyOffset = HEADER_BYTES + questionLength;
    this.#shift = shift;
    this.#isMessage = isMessage;
    this.#at = 0;
    this.#isFull = false;
    const { bytes, bodyAt, bodyLength, recordCount, answerCount, authorityCount } = source;
    const { answer } = this;
    answer.answerCount = answer.authorityCount = answer.additionalCount = 0;
    answer.recordCount = 0;
    const end = bodyAt + bodyLength;
    let at = bodyAt;
    for (let index = 0; index < recordCount; index++) {
      const fixed = skipName(bytes, at, end);
      const next = recordEnd(bytes, fixed, end);
      if (next < 0) return false;
      const mark = marks === null ? 0 : (marks[index] as number);
      if (mark !== MARK_DROP) {
        if (!this.#copyRecord(at, fixed, next, mark === MARK_DROP_HINTS)) return false;
        if (index < answerCount) answer.answerCount++;
        else if (index < answerCount + authorityCount) answer.authorityCount++;
        else answer.additionalCount++;
      }
      at = next;
    }
    this.#fill(source);
    return true;
  }

  #fill(source: Answer): void {
    const { answer } = this;
    const image = this.#image;
    const offsetsFrom = LIMITS.messageBytesMax;
    image.copyWithin(this.#at, offsetsFrom, offsetsFrom + 2 * answer.recordCount);
    answer.bytes = image;
    answer.bodyAt = 0;
    answer.bodyLength = this.#at;
    answer.rcode = source.rcode;
    answer.isAuthenticated = false;
    answer.isTruncated = false;
    answer.lifetimeSeconds = source.lifetimeSeconds;
    answer.ede = source.ede;
    answer.storedTick = source.storedTick;
    answer.failure = source.failure;
    answer.hasTargets = source.hasTargets;
    answer.isStripped = source.isStripped;
  }

  #copyRecord(at: number, fixed: number, next: number, withoutHints: boolean): boolean {
    const image = this.#image;
    const { bytes } = this.#source;
    if (!this.#copyName(at, true)) return false;
    const fixedTo = this.#at;
    if (!this.#copy(fixed, RECORD_FIXED_BYTES)) return false;
    const dataAt = fixed + RECORD_FIXED_BYTES;
    const isWhole = withoutHints
      ? this.#copyWithoutHints(dataAt, next)
      : this.#copyData(readUint16(bytes, fixed), dataAt, next);
    if (!isWhole || this.#isFull) return false;
    writeUint16(image, fixedTo + 8, this.#at - fixedTo - RECORD_FIXED_BYTES);
    const offsetAt = LIMITS.messageBytesMax + 2 * this.answer.recordCount++;
    const ttlAt = fixedTo + 4;
    image[offsetAt] = ttlAt;
    image[offsetAt + 1] = ttlAt >>> 8;
    return true;
  }

  /** RDATA, its names written out. */
  #copyData(type: number, dataAt: number, next: number): boolean {
    const layout = namesInData(type);
    if (layout === null) return this.#copy(dataAt, next - dataAt);
    const { bytes } = this.#source;
    let at = dataAt + layout.before;
    if (layout.strings > 0) {
      for (let left = layout.strings; left > 0 && at < next; left--)
        at += 1 + (bytes[at] as number);
    }
    if (at > next || !this.#copy(dataAt, at - dataAt)) return false;
    for (let left = layout.names; left > 0; left--) {
      if (!this.#copyName(at, layout.pointers)) return false;
      at = skipName(bytes, at, next);
      if (at < 0) return false;
    }
    return this.#copy(at, next - at);
  }

  /** SVCB and HTTPS without their address hints. Their target is never compressed. */
  #copyWithoutHints(dataAt: number, next: number): boolean {
    const { bytes } = this.#source;
    let at = skipName(bytes, dataAt + 2, next);
    if (at < 0 || !this.#copy(dataAt, at - dataAt)) return false;
    while (at + 4 <= next) {
      const size = 4 + readUint16(bytes, at + 2);
      if (at + size > next) return false;
      const key = readUint16(bytes, at);
      const isHint = key === SVCB_KEY.ipv4hint || key === SVCB_KEY.ipv6hint;
      if (!isHint && !this.#copy(at, size)) return false;
      at += size;
    }
    return at === next;
  }

  #copy(from: number, length: number): boolean {
    if (length < 0 || this.#at + length > LIMITS.messageBytesMax) {
      this.#isFull = true;
      return false;
    }
    copyBytes(this.#source.bytes, from, this.#image, this.#at, length);
    this.#at += length;
    return true;
  }

  /**
   * A name with its pointers followed, but for the one that leads into the question, if that may
   * stay one or the question is not there to be copied.
   */
  #copyName(start: number, mayPoint: boolean): boolean {
    const { bytes, bodyAt, bodyLength } = this.#source;
    const end = bodyAt + bodyLength;
    let bound = this.#bodyOffset + bodyLength;
    for (let at = start; ;) {
      const labelsEnd = endOfLabels(bytes, at, end);
      if (labelsEnd < 0 || !this.#copy(at, labelsEnd - at)) return false;
      if (bytes[labelsEnd] === 0) return this.#copy(labelsEnd, 1);
      const target = pointerAt(bytes, labelsEnd, end);
      if (target < HEADER_BYTES || target >= bound) return false;
      bound = target;
      if (target < this.#bodyOffset && (mayPoint || !this.#isMessage)) {
        if (!this.#copy(labelsEnd, 2)) return false;
        writeUint16(this.#image, this.#at - 2, 0xc000 | (target + this.#shift));
        return true;
      }
      at = bodyAt + target - this.#bodyOffset;
    }
  }
}

/** Where the labels from `start` on end: at a root or a pointer; -1 when they are not whole. */
function endOfLabels(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end) {
    const size = bytes[at] as number;
    if (size === 0 || size > LIMITS.labelBytesMax) return at;
    at += size + 1;
  }
  return -1;
}
