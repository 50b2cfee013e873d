/**
 * Reads a name inside a kept answer (answer.ts), compression pointers followed, as a NameView that
 * tables can be asked about. One object is reused; reading allocates nothing.
 *
 * A kept answer has no header and no question of its own. Pointers count from the start of the
 * message, so one below 12 + the question's length leads into the question, which the caller gives
 * as folded labels: the query's own, or a part of it for an answer to a name above it.
 */
import { LIMITS } from '../../contract/limits.ts';
import type { Answer } from './answer.ts';
import type { NameView } from '../../dns/name.ts';
import { hashSuffixes, lowerCase } from '../../dns/name.ts';
import { HEADER_BYTES } from '../../dns/wire.ts';

/** Type and class behind the question's root label. */
const QUESTION_REST_BYTES = 1 + 4;

export class AnswerName implements NameView {
  readonly name = new Uint8Array(LIMITS.nameBytesMax);
  nameLength = 0;
  labelCount = 0;
  readonly labelStarts = new Uint8Array(LIMITS.labelsMax);
  readonly suffixHashes = new Int32Array(LIMITS.labelsMax);

  /**
   * Reads the name at answer.bytes[at].
   *
   * @param question  folded labels of the question that the answer was given to, question[from, to)
   * @returns         false when it does not parse; the fields are then of no use
   */
  read(answer: Answer, at: number, question: Uint8Array, from: number, to: number): boolean {
    this.nameLength = 0;
    this.labelCount = 0;
    const bodyOffset = HEADER_BYTES + (to - from) + QUESTION_REST_BYTES;
    const { bytes, bodyAt, bodyLength } = answer;
    const end = bodyAt + bodyLength;
    // Each pointer leads to before the place it stands at, so there can be no loop.
    let bound = bodyLength + bodyOffset;
    for (let place = at; ;) {
      place = this.#takeLabels(bytes, place, end);
      if (place < 0 || place >= end) return false;
      if (bytes[place] === 0) return this.#finish();
      const target = pointerAt(bytes, place, end);
      if (target < HEADER_BYTES || target >= bound) return false;
      bound = target;
      if (target < bodyOffset) {
        // The root label behind the question's labels is not there to be read.
        const start = from + target - HEADER_BYTES;
        return start <= to && this.#takeLabels(question, start, to) === to && this.#finish();
      }
      place = bodyAt + target - bodyOffset;
    }
  }

  /** Takes labels up to what is none. Returns where that is; -1 when one is not whole. */
  #takeLabels(bytes: Uint8Array, start: number, end: number): number {
    let place = start;
    while (place < end) {
      const size = bytes[place] as number;
      if (size === 0 || size > LIMITS.labelBytesMax) return place;
      if (!this.#takeLabel(bytes, place, size, end)) return -1;
      place += size + 1;
    }
    return place;
  }

  #takeLabel(bytes: Uint8Array, place: number, size: number, end: number): boolean {
    const start = this.nameLength;
    if (place + 1 + size > end || start + size + 1 > LIMITS.nameBytesMax - 1) return false;
    this.labelStarts[this.labelCount++] = start;
    this.name[start] = size;
    for (let index = 1; index <= size; index++) {
      this.name[start + index] = lowerCase(bytes[place + index] as number);
    }
    this.nameLength = start + size + 1;
    return true;
  }

  #finish(): boolean {
    const { name, nameLength, labelStarts, labelCount, suffixHashes } = this;
    hashSuffixes(name, nameLength, labelStarts, labelCount, suffixHashes);
    return true;
  }
}

/** Whether two names are the same. Hashes tell most that differ apart. */
export function isSameName(left: NameView, right: NameView): boolean {
  return left.labelCount === right.labelCount && isSuffixOf(left, right, 0);
}

/** Whether `name` is what `view` ends with from one of its labels on; the root for labelCount. */
export function isSuffixOf(name: NameView, view: NameView, label: number): boolean {
  if (label < 0 || view.labelCount - label !== name.labelCount) return false;
  if (name.labelCount === 0) return true;
  if (name.suffixHashes[0] !== view.suffixHashes[label]) return false;
  const start = view.labelStarts[label] as number;
  if (view.nameLength - start !== name.nameLength) return false;
  for (let index = 0; index < name.nameLength; index++) {
    if (name.name[index] !== view.name[start + index]) return false;
  }
  return true;
}

/** Where a compression pointer leads; -1 when it is none. RFC 1035 §4.1.4. */
export function pointerAt(bytes: Uint8Array, at: number, end: number): number {
  const size = bytes[at] as number;
  if (size < 0xc0 || at + 2 > end) return -1;
  return ((size & 0x3f) << 8) | (bytes[at + 1] as number);
}
