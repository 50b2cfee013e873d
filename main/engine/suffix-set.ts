/**
 * A small set of domain names that settings or code name, asked whether a name is one of them or
 * lies below one: suffixes with their own treatment. Read by the steps; never changed once made.
 *
 * For a handful of names beside the big tables (domain-table.ts), which name no single labels.
 */
import type { NameView } from './domain-table.ts';
import { hashName, writeName } from './name.ts';

const SLOTS_MIN = 16;

export class SuffixSet {
  /** Distinct names. */
  readonly size: number;
  readonly #names: Uint8Array[] = [];
  readonly #hashes: Int32Array;
  /** Index into #names plus 1; 0 is an empty slot. */
  readonly #slots: Uint16Array;
  readonly #mask: number;

  /** @param names  presentation form; what is no name is left out, as the settings check tells */
  constructor(names: readonly string[]) {
    let slots = SLOTS_MIN;
    while (slots < names.length * 4) slots *= 2;
    this.#mask = slots - 1;
    this.#hashes = new Int32Array(slots);
    this.#slots = new Uint16Array(slots);
    for (const name of names) this.#add(name);
    this.size = this.#names.length;
  }

  /** Whether the name, or one above it, is in the set. Cost: a probe a label; nothing when empty. */
  covers(view: NameView): boolean {
    if (this.size === 0) return false;
    for (let label = 0; label < view.labelCount; label++) {
      if (this.#holds(view, label)) return true;
    }
    return false;
  }

  /** Whether the name itself is in the set. */
  has(view: NameView): boolean {
    return this.size > 0 && view.labelCount > 0 && this.#holds(view, 0);
  }

  #add(text: string): void {
    const scratch = new Uint8Array(255);
    const length = writeName(text, scratch, 0);
    if (length <= 0) return;
    const name = scratch.slice(0, length);
    const hash = hashName(name, 0, length);
    let slot = hash & this.#mask;
    while (this.#slots[slot] !== 0) {
      if (this.#hashes[slot] === hash) return;
      slot = (slot + 1) & this.#mask;
    }
    this.#hashes[slot] = hash;
    this.#slots[slot] = this.#names.push(name);
  }

  #holds(view: NameView, label: number): boolean {
    const hash = view.suffixHashes[label] as number;
    let slot = hash & this.#mask;
    for (;;) {
      const index = this.#slots[slot] as number;
      if (index === 0) return false;
      if (this.#hashes[slot] === hash)
        return isNamed(this.#names[index - 1] as Uint8Array, view, label);
      slot = (slot + 1) & this.#mask;
    }
  }
}

function isNamed(name: Uint8Array, view: NameView, label: number): boolean {
  const start = view.labelStarts[label] as number;
  if (view.nameLength - start !== name.length) return false;
  for (let index = 0; index < name.length; index++) {
    if (name[index] !== view.name[start + index]) return false;
  }
  return true;
}
