/**
 * Grams: three or four bytes by which patterns are filed (engine/filter/pattern-set.ts), and how common
 * they are in names. Used while patterns are compiled.
 */
import { ANY_BYTES, LABEL_START, TEXT_END, TEXT_START } from '../../engine/filter/wildcard.ts';
import type { StringSet } from './regex-literals.ts';
import { MADE_UP_PAIRS, WELL_KNOWN_NAMES } from './well-known-names.ts';

const GRAM_MIN = 3;
const GRAM_MAX = 4;

/** The grams of a string of three bytes or more, as pattern-set.ts reads them; [] of a shorter. */
export function gramsOf(text: string): number[] {
  if (text.length < GRAM_MIN) return [];
  const size = Math.min(text.length, GRAM_MAX);
  const grams: number[] = [];
  for (let at = 0; at + size <= text.length; at++) grams.push(gramAt(text, at, size));
  return grams;
}

function gramAt(text: string, at: number, size: number): number {
  let gram = 0;
  for (let index = 0; index < size; index++) gram |= text.charCodeAt(at + index) << (index * 8);
  return gram;
}

let occurrences: Map<number, number> | null = null;

/** In how many places of the sample names a gram stands. */
export function commonness(gram: number): number {
  occurrences ??= countGrams();
  return occurrences.get(gram) ?? 0;
}

function countGrams(): Map<number, number> {
  const counts = new Map<number, number>();
  for (const name of [...WELL_KNOWN_NAMES, ...MADE_UP_PAIRS.flat()]) {
    const text = String.fromCharCode(TEXT_START) + name + String.fromCharCode(TEXT_END);
    for (const size of [GRAM_MIN, GRAM_MAX]) {
      for (let at = 0; at + size <= text.length; at++) {
        const gram = gramAt(text, at, size);
        counts.set(gram, (counts.get(gram) ?? 0) + 1);
      }
    }
  }
  return counts;
}

/** A Rater: by the rarest gram of the worst string; 1 when no sample name has any of them. */
export function rateStrings(strings: readonly string[]): number {
  let worst = 1;
  for (const text of strings) {
    let rarest = 0;
    for (const gram of gramsOf(text)) rarest = Math.max(rarest, 1 / (1 + commonness(gram)));
    worst = Math.min(worst, rarest);
  }
  return strings.length === 0 ? 0 : worst;
}

/** Whether none of the sample names can match a pattern that needs a string of each set. */
export function isRare(sets: readonly StringSet[]): boolean {
  return sets.some((set) => rateStrings(set) === 1);
}

/** As `requiredStrings` of regex-literals.ts, for a wildcard: each of its parts is needed. */
export function wildcardStrings(pattern: string): readonly StringSet[] {
  return pattern.split(BREAKS).flatMap((part) => (part.length >= GRAM_MIN ? [[part]] : []));
}

const BREAKS = new RegExp(`[${String.fromCharCode(LABEL_START, ANY_BYTES)}]+`);
