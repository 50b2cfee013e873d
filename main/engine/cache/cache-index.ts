/**
 * The hash index of the answer cache: hash -> position of an entry in the arena.
 *
 * Open addressing with linear probing, at most two thirds full. An entry
 * stands at most PROBES_MAX slots from its home, so a lookup is bounded whatever names an attacker
 * chooses; when there is no free slot that near, the entry in the home slot gives way. Removal
 * shifts the followers back, so there are no tombstones.
 */

const PROBES_MAX = 16;

/** Int32 words of a slot: hash, position. */
const SLOT_WORDS = 2;
const POSITION = 1;

export class CacheIndex {
  readonly #mask: number;
  /** Hash and position side by side, in one cache line; position 0 is an empty slot. */
  readonly #words: Int32Array;

  /** @param entries  how many there will be at most */
  constructor(entries: number) {
    let slots = PROBES_MAX;
    while (slots * 2 < entries * 3) slots *= 2;
    this.#mask = slots - 1;
    this.#words = new Int32Array(slots * SLOT_WORDS);
  }

  clear(): void {
    this.#words.fill(0);
  }

  /** The first slot with this hash, -1 for none. */
  first(hash: number): number {
    return this.#scan(hash, 0);
  }

  /** The next slot behind `slot` with this hash, -1 for none. */
  next(hash: number, slot: number): number {
    return this.#scan(hash, ((slot - hash) & this.#mask) + 1);
  }

  position(slot: number): number {
    return this.#words[slot * SLOT_WORDS + POSITION] as number;
  }

  /** Position in the home slot of a hash, be it that of another hash; 0 for an empty slot. */
  home(hash: number): number {
    return this.position(hash & this.#mask);
  }

  /** Visits the position of every entry; the index must not change meanwhile. */
  forEach(visit: (position: number) => void): void {
    for (let slot = 0; slot <= this.#mask; slot++) {
      const position = this.position(slot);
      if (position !== 0) visit(position);
    }
  }

  /** Adds an entry. Returns the position of the one it displaced, 0 for none. */
  add(hash: number, position: number): number {
    for (let probe = 0; probe < PROBES_MAX; probe++) {
      const slot = (hash + probe) & this.#mask;
      if (this.position(slot) === 0) {
        this.#set(slot, hash, position);
        return 0;
      }
    }
    const home = hash & this.#mask;
    const displaced = this.position(home);
    this.#set(home, hash, position);
    return displaced;
  }

  /** The entry at `from` is now at `to`. */
  move(hash: number, from: number, to: number): void {
    const slot = this.#slotOf(hash, from);
    if (slot >= 0) this.#words[slot * SLOT_WORDS + POSITION] = to;
  }

  remove(hash: number, position: number): void {
    let hole = this.#slotOf(hash, position);
    if (hole < 0) return;
    const mask = this.#mask;
    for (let slot = (hole + 1) & mask; this.position(slot) !== 0; slot = (slot + 1) & mask) {
      const home = this.#hash(slot) & mask;
      // An entry may move back to the hole unless the hole lies before its home.
      if (((slot - home) & mask) < ((slot - hole) & mask)) continue;
      this.#set(hole, this.#hash(slot), this.position(slot));
      hole = slot;
    }
    this.#words[hole * SLOT_WORDS + POSITION] = 0;
  }

  #hash(slot: number): number {
    return this.#words[slot * SLOT_WORDS] as number;
  }

  #set(slot: number, hash: number, position: number): void {
    this.#words[slot * SLOT_WORDS] = hash;
    this.#words[slot * SLOT_WORDS + POSITION] = position;
  }

  #slotOf(hash: number, position: number): number {
    for (let slot = this.first(hash); slot >= 0; slot = this.next(hash, slot)) {
      if (this.position(slot) === position) return slot;
    }
    return -1;
  }

  #scan(hash: number, from: number): number {
    for (let probe = from; probe < PROBES_MAX; probe++) {
      const slot = (hash + probe) & this.#mask;
      if (this.position(slot) === 0) return -1;
      if (this.#hash(slot) === hash) return slot;
    }
    return -1;
  }
}
