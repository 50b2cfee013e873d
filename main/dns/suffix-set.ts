/**
 * A small set of domain names that settings or code name, asked whether a name is one of them or
 * lies below one: suffixes with upstreams of their own ("split DNS"), without stale answers, with
 * private addresses, connectivity checks. Read by the steps; never changed once made.
 *
 * For a handful of names beside the big tables (domain-table.ts), which name no single labels.
 */
import { AppError } from '../contract/errors.ts';
import type { NameView } from './name.ts';
import { hashName, writeName } from './name.ts';

export class SuffixSet {
  readonly #byHash = new Map<number, Uint8Array[]>();

  /** @throws AppError CONFIG_INVALID for what is no domain name; the root is none here */
  constructor(suffixes: readonly string[]) {
    const scratch = new Uint8Array(255);
    for (const suffix of suffixes) {
      const length = writeName(suffix, scratch, 0);
      if (length <= 0) throw new AppError('CONFIG_INVALID', `not a domain name: "${suffix}"`);
      const hash = hashName(scratch, 0, length);
      const names = this.#byHash.get(hash) ?? [];
      names.push(scratch.slice(0, length));
      this.#byHash.set(hash, names);
    }
  }

  get size(): number {
    return this.#byHash.size;
  }

  /** Whether the name, or one above it, is in the set. Cost: a look-up a label; no allocation. */
  covers(view: NameView): boolean {
    return this.match(view) > 0;
  }

  /** Whether the name itself is in the set. No allocation. */
  has(view: NameView): boolean {
    return view.labelCount > 0 && this.match(view) === view.labelCount;
  }

  /** Labels of the longest suffix in the set that the name ends with; 0 for none. No allocation. */
  match(view: NameView): number {
    if (this.#byHash.size === 0) return 0;
    for (let label = 0; label < view.labelCount; label++) {
      const names = this.#byHash.get(view.suffixHashes[label] as number);
      if (names === undefined) continue;
      for (const name of names) if (endsWith(view, label, name)) return view.labelCount - label;
    }
    return 0;
  }
}

function endsWith(view: NameView, label: number, name: Uint8Array): boolean {
  const start = view.labelStarts[label] as number;
  if (view.nameLength - start !== name.length) return false;
  for (let index = 0; index < name.length; index++) {
    if (view.name[start + index] !== name[index]) return false;
  }
  return true;
}
