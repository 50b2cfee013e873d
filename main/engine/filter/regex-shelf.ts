/**
 * Where a thread keeps its compiled expressions, those of all its rule sets together. One takes
 * tens of kilobytes of the heap, a list may have thousands, and a data-plane thread has little room:
 * so they are bounded by an estimate of their bytes, and those not used lately are compiled again
 * when they are next met (the clock, or second chance, algorithm).
 *
 * Used by pattern-set.ts. The places refer to no rule set, so that one that was replaced can go.
 */
import { LIMITS } from '../../contract/limits.ts';
import type { NameRegex } from './regex-engine.ts';

/** By pattern of one rule set; undefined for what is not compiled, or no longer. */
export type RegexSlots = (NameRegex | undefined)[];

/** Measured: an expression of 25 instructions takes 26 KB with its automaton, one of 988 180 KB. */
const BYTES_EACH = 24_000;
const BYTES_OF_INSTRUCTION = 180;

interface Place {
  readonly slots: RegexSlots;
  readonly index: number;
  readonly bytes: number;
}

export class RegexShelf {
  readonly #bytesMax: number;
  readonly #places: Place[] = [];
  #bytes = 0;
  #hand = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Expressions that are kept. */
  get count(): number {
    return this.#places.length;
  }

  /** Puts an expression into its slot, and takes others out of theirs while there are too many. */
  put(slots: RegexSlots, index: number, regex: NameRegex): void {
    const bytes = BYTES_EACH + regex.size * BYTES_OF_INSTRUCTION;
    while (this.#bytes + bytes > this.#bytesMax && this.#places.length > 0) this.#dropOne();
    slots[index] = regex;
    this.#places.push({ slots, index, bytes });
    this.#bytes += bytes;
  }

  /** Ends in the second round at the latest: the first one takes every mark off. */
  #dropOne(): void {
    for (;;) {
      if (this.#hand >= this.#places.length) this.#hand = 0;
      const place = this.#places[this.#hand] as Place;
      const regex = place.slots[place.index];
      if (regex?.isUsed !== true) {
        this.#take(place);
        return;
      }
      regex.isUsed = false;
      this.#hand++;
    }
  }

  #take(place: Place): void {
    place.slots[place.index] = undefined;
    this.#bytes -= place.bytes;
    const last = this.#places.pop() as Place;
    if (last !== place) this.#places[this.#hand] = last;
  }
}

/** The one of this thread. */
export const REGEX_SHELF = new RegexShelf(LIMITS.regexHeapBytesMax);
