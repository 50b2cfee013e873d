/**
 * A Bloom filter over hashes of names: says "surely not" or "perhaps" (Bloom, 1970). It stands in
 * front of the exact map of policy-table.ts, whose slots a query that no policy names then never
 * touches.
 *
 * The bits of one hash lie at first + i * step, the two taken from the 32-bit hash (Kirsch and
 * Mitzenmacher, 2006). Two names with equal hashes look the same to it: below 2^20 names that is
 * rarer than the rate it is built for.
 */
import { hashMix } from '../../dns/name.ts';

/** Share of absent names that get "perhaps", at most. */
export const BLOOM_FALSE_MAX = 1e-4;

const WORD_BITS = 32;
/** In a smaller one too few pairs of first bit and step are told apart. */
const BITS_MIN = 2 ** 14;

/** Sizes for a number of names: bits, a power of two, and how many of them a name sets. */
export interface BloomShape {
  readonly bits: number;
  readonly hashes: number;
}

/** The least power of two of bits that keeps the rate, and the number of hashes best for it. */
export function bloomShape(names: number): BloomShape {
  const wanted = Math.max(names, 1);
  const least = Math.ceil((wanted * -Math.log(BLOOM_FALSE_MAX)) / Math.LN2 ** 2);
  const bits = Math.max(BITS_MIN, 2 ** Math.ceil(Math.log2(least)));
  const hashes = Math.max(1, Math.min(16, Math.round((bits / wanted) * Math.LN2)));
  return { bits, hashes };
}

export class BloomFilter {
  readonly #words: Int32Array;
  readonly #mask: number;
  readonly #hashes: number;

  /** @param words  zeros, or those of a filter of the same shape; bits / 32 of them */
  constructor(words: Int32Array, { bits, hashes }: BloomShape) {
    this.#words = words;
    this.#mask = bits - 1;
    this.#hashes = hashes;
  }

  static wordsFor({ bits }: BloomShape): number {
    return bits / WORD_BITS;
  }

  add(hash: number): void {
    const step = stepOf(hash);
    let bit = hash;
    for (let left = this.#hashes; left > 0; left--, bit = (bit + step) | 0) {
      const at = (bit & this.#mask) >>> 5;
      this.#words[at] = (this.#words[at] as number) | (1 << (bit & 31));
    }
  }

  /** False: surely not added. Allocates nothing. */
  mayHave(hash: number): boolean {
    const step = stepOf(hash);
    let bit = hash;
    for (let left = this.#hashes; left > 0; left--, bit = (bit + step) | 0) {
      if (((this.#words[(bit & this.#mask) >>> 5] as number) & (1 << (bit & 31))) === 0) {
        return false;
      }
    }
    return true;
  }
}

/** Odd, so that a step never comes back to a bit too early. */
function stepOf(hash: number): number {
  return hashMix(hash ^ 0x5bd1e995) | 1;
}
