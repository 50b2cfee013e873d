/**
 * Unpredictable numbers for query IDs, socket choice and letter case, from the system's
 * cryptographic source. Drawn in bulk: one call into the source serves a thousand numbers.
 */
import { randomFillSync } from 'node:crypto';
import type { Random } from '../engine/query/ports.ts';

/** 32-bit words drawn at a time. */
const WORDS = 1_024;

/** A Random port over `crypto.randomFillSync`. Not shared between threads. */
export class CryptoRandom implements Random {
  readonly #words = new Uint32Array(WORDS);
  #next = WORDS;

  uint32(): number {
    if (this.#next === WORDS) {
      randomFillSync(this.#words);
      this.#next = 0;
    }
    const word = this.#words[this.#next] as number;
    // A number that was handed out is of no use to whoever reads this memory later.
    this.#words[this.#next++] = 0;
    return word;
  }

  uint16(): number {
    return this.uint32() >>> 16;
  }
}
