/**
 * The rules of a program that speak of addresses in answers: networks of any prefix length, found
 * by one probe for each distinct length. Used by rule-set.ts; layout in rule-program.ts.
 */
import { ADDRESS_WORDS, type RuleProgram } from './rule-program.ts';

/** Spreads the four words of an address and its prefix length. */
export function addressHash(a: number, b: number, c: number, d: number, bits: number): number {
  let hash = Math.imul(a ^ Math.imul(bits + 1, 0x9e3779b1), 0x2c1b3c6d);
  hash = Math.imul(hash ^ (hash >>> 15) ^ b, 0x297a2d39);
  hash = Math.imul(hash ^ (hash >>> 13) ^ c, 0x2c1b3c6d);
  hash = Math.imul(hash ^ (hash >>> 15) ^ d, 0x297a2d39);
  return hash ^ (hash >>> 16);
}

/** The word at `index` of an address of 16 bytes, with only its first `bits` bits kept. */
export function addressWord(address: Uint8Array, index: number, bits: number): number {
  const at = index * 4;
  const word =
    ((address[at] as number) << 24) |
    ((address[at + 1] as number) << 16) |
    ((address[at + 2] as number) << 8) |
    (address[at + 3] as number);
  const kept = bits - index * 32;
  if (kept >= 32) return word;
  return kept <= 0 ? 0 : word & (-1 << (32 - kept));
}

export class AddressTriggers {
  readonly #slots: Int32Array;
  readonly #mask: number;
  readonly #prefixes: Int32Array;
  #slot = 0;
  #prefix = 0;
  readonly #words = new Int32Array(4);

  constructor(program: RuleProgram) {
    this.#slots = program.parts.addresses;
    this.#mask = this.#slots.length / ADDRESS_WORDS - 1;
    this.#prefixes = program.parts.prefixes;
  }

  /**
   * Begins a search of the triggers that an address meets, the longest prefix first.
   *
   * @returns  a slot for `tagOf` and its kin, or -1; the next one comes from `next`
   */
  first(address: Uint8Array): number {
    this.#prefix = -1;
    return this.#nextPrefix(address);
  }

  next(address: Uint8Array): number {
    this.#slot = (this.#slot + 1) & this.#mask;
    const found = this.#probe(this.#prefixes[this.#prefix] as number);
    return found >= 0 ? found : this.#nextPrefix(address);
  }

  tagOf(slot: number): number {
    return this.#slots[slot * ADDRESS_WORDS + 5] as number;
  }

  lineOf(slot: number): number {
    return this.#slots[slot * ADDRESS_WORDS + 6] as number;
  }

  /** Length of the prefix of the trigger, of 128 bits. */
  bitsOf(slot: number): number {
    return (this.#slots[slot * ADDRESS_WORDS + 4] as number) - 1;
  }

  /** As RuleProgram.termsAt takes it. */
  termsOf(slot: number): number {
    return this.#slots[slot * ADDRESS_WORDS + 7] as number;
  }

  #nextPrefix(address: Uint8Array): number {
    while (++this.#prefix < this.#prefixes.length) {
      const bits = this.#prefixes[this.#prefix] as number;
      const words = this.#words;
      for (let index = 0; index < 4; index++) words[index] = addressWord(address, index, bits);
      this.#slot = this.#firstSlot(bits);
      const found = this.#probe(bits);
      if (found >= 0) return found;
    }
    return -1;
  }

  #firstSlot(bits: number): number {
    const words = this.#words;
    const a = words[0] as number;
    const b = words[1] as number;
    const c = words[2] as number;
    const d = words[3] as number;
    return addressHash(a, b, c, d, bits) & this.#mask;
  }

  /** From the present slot on; ends at an empty one. */
  #probe(bits: number): number {
    const slots = this.#slots;
    for (;;) {
      const at = this.#slot * ADDRESS_WORDS;
      const there = slots[at + 4] as number;
      if (there === 0) return -1;
      if (there === bits + 1 && this.#isAt(at)) return this.#slot;
      this.#slot = (this.#slot + 1) & this.#mask;
    }
  }

  #isAt(at: number): boolean {
    const words = this.#words;
    for (let index = 0; index < 4; index++) {
      if (this.#slots[at + index] !== words[index]) return false;
    }
    return true;
  }
}
