/**
 * The hash index of the answer cache: hash -> position of an entry in the arena.
 *
 * Open addressing with linear probing over two parallel arrays, at most two thirds full. An entry
 * stands at most PROBES_MAX slots from its home, so a lookup is bounded whatever names an attacker
 * chooses; when there is no free slot that near, the entry in the home slot gives way. Removal
 * shifts the followers back, so there are no tombstones.
 */

const PROBES_MAX = 16;

export class CacheIndex {
  readonly #mask: number;
  readonly #hashes: Int32Array;
  /** 0 is an empty slot. */
  readonly #positions: Int32Array;

  /** @param entries  how many there will be at most */
  constructor(entries: number) {
    let slots = PROBES_MAX;
    while (slots * 2 < entries * 3) slots *= 2;
    this.#mask = slots - 1;
    this.#hashes = new Int32Array(slots);
    this.#positions = new Int32Array(slots);
  }

  clear(): void {
    this.#positions.fill(0);
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
    return this.#positions[slot] as number;
  }

  /** Visits the position of every entry; the index must not change meanwhile. */
  forEach(visit: (position: number) => void): void {
    for (const position of this.#positions) if (position !== 0) visit(position);
  }

  /** Adds an entry. Returns the position of the one it displaced, 0 for none. */
  add(hash: number, position: number): number {
    for (let probe = 0; probe < PROBES_MAX; probe++) {
      const slot = (hash + probe) & this.#mask;
      if (this.#positions[slot] === 0) {
        this.#hashes[slot] = hash;
        this.#positions[slot] = position;
        return 0;
      }
    }
    const home = hash & this.#mask;
    const displaced = this.#positions[home] as number;
    this.#hashes[home] = hash;
    this.#positions[home] = position;
    return displaced;
  }

  /** The entry at `from` is now at `to`. */
  move(hash: number, from: number, to: number): void {
    const slot = this.#slotOf(hash, from);
    if (slot >= 0) this.#positions[slot] = to;
  }

  remove(hash: number, position: number): void {
    let hole = this.#slotOf(hash, position);
    if (hole < 0) return;
    const mask = this.#mask;
    for (let slot = (hole + 1) & mask; this.#positions[slot] !== 0; slot = (slot + 1) & mask) {
      const home = (this.#hashes[slot] as number) & mask;
      // An entry may move back to the hole unless the hole lies before its home.
      if (((slot - home) & mask) < ((slot - hole) & mask)) continue;
      this.#hashes[hole] = this.#hashes[slot] as number;
      this.#positions[hole] = this.#positions[slot] as number;
      hole = slot;
    }
    this.#positions[hole] = 0;
  }

  #slotOf(hash: number, position: number): number {
    for (let slot = this.first(hash); slot >= 0; slot = this.next(hash, slot)) {
      if (this.#positions[slot] === position) return slot;
    }
    return -1;
  }

  #scan(hash: number, from: number): number {
    for (let probe = from; probe < PROBES_MAX; probe++) {
      const slot = (hash + probe) & this.#mask;
      if (this.#positions[slot] === 0) return -1;
      if (this.#hashes[slot] === hash) return slot;
    }
    return -1;
  }
}
