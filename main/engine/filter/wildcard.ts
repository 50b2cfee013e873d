/**
 * Wildcards over a name's text, and that text.
 *
 * The text is the name in lower case with dots, between a start and an end mark, so that a pattern
 * can be tied to either by an ordinary byte:
 *
 *   TEXT_START  ads.example  TEXT_END
 *
 * A pattern is compiled by lists/compile/program-builder.ts: bytes that stand for themselves and for the
 * marks, `*` for any bytes, LABEL_START for a place where a label begins. What is before its first
 * and behind its last byte does not matter. Allocates nothing.
 */
import { LIMITS } from '../../contract/limits.ts';
import type { NameView } from '../../dns/name.ts';

export const TEXT_START = 1;
export const TEXT_END = 2;
/** In patterns only: the next byte begins a label. Takes no room. */
export const LABEL_START = 3;
export const ANY_BYTES = 0x2a;
const DOT = 0x2e;
/** In the text for a dot inside a label, which is no border of labels. */
const INNER_DOT = 4;

/** Room for the longest name's text. */
export const TEXT_BYTES_MAX = LIMITS.nameBytesMax + 2;

/** Writes the text of a name; returns its length, marks included. */
export function writeText(view: NameView, text: Uint8Array): number {
  const { name, nameLength } = view;
  text[0] = TEXT_START;
  let at = 0;
  let border = 0;
  for (let from = 0; from < nameLength; from++) {
    const byte = name[from] as number;
    if (from === border) {
      border += byte + 1;
      if (from > 0) text[++at] = DOT;
    } else {
      text[++at] = byte === DOT ? INNER_DOT : byte;
    }
  }
  text[++at] = TEXT_END;
  return at + 1;
}

/**
 * Whether a pattern, pattern[start, end), occurs in a text.
 *
 * The parts between the stars are looked for from left to right; the leftmost place of each is as
 * good as any other, so nothing is ever tried again: at most pattern × text comparisons.
 */
export function matchesWildcard(
  pattern: Uint8Array,
  start: number,
  end: number,
  text: Uint8Array,
  textLength: number,
): boolean {
  let at = 0;
  let part = start;
  while (part < end) {
    let partEnd = part;
    while (partEnd < end && pattern[partEnd] !== ANY_BYTES) partEnd++;
    if (partEnd > part) {
      at = findPart(pattern, part, partEnd, text, at, textLength);
      if (at < 0) return false;
    }
    part = partEnd + 1;
  }
  return true;
}

/** The end of the leftmost place of a part at or behind `from`; -1 when there is none. */
function findPart(
  pattern: Uint8Array,
  part: number,
  partEnd: number,
  text: Uint8Array,
  from: number,
  textLength: number,
): number {
  for (let place = from; place < textLength; place++) {
    const behind = matchPart(pattern, part, partEnd, text, place, textLength);
    if (behind >= 0) return behind;
  }
  return -1;
}

function matchPart(
  pattern: Uint8Array,
  part: number,
  partEnd: number,
  text: Uint8Array,
  place: number,
  textLength: number,
): number {
  let at = place;
  for (let index = part; index < partEnd; index++) {
    const byte = pattern[index] as number;
    if (byte === LABEL_START) {
      const before = at === 0 ? 0 : (text[at - 1] as number);
      if (before !== TEXT_START && before !== DOT) return -1;
    } else if (at >= textLength || text[at++] !== byte) {
      return -1;
    }
  }
  return at;
}
