/**
 * Which of many policies speaks of a name: their domains in one exact map with a Bloom filter in
 * front, and the regular expressions of each in a RuleSet of its own. Policies are numbered in the
 * order in which they decide, so the smallest number that applies wins: priority first, whatever
 * the level of the name (docs/filtering.md).
 *
 * One table holds the policies of the settings, another one blocked services, safe search and
 * bypass prevention. Who a policy is for, and whether it is in force now, is a mask that the caller
 * brings: a schedule or another client costs no other table.
 *
 *   Int32 words:  header | slots (offset of a name's record, 0 empty) | Bloom words | records
 *   record:       hash | bytes of the name | entries | entry ... | the name, padded to words
 *   entry:        policy << 2 | scope
 *
 * Made by policy-table-builder.ts, read in every data-plane thread over the same shared memory.
 */
import { BloomFilter } from './bloom-filter.ts';
import type { NameView } from '../../dns/name.ts';
import type { MatchContext } from './match-context.ts';
import { RULE_NONE, RuleSet, type Rewrite, type RuleBuffers } from './rule-set.ts';

/** The name and all below it. */
export const SCOPE_NAME = 0;
/** All below the name. */
export const SCOPE_BELOW = 1;
/** The name alone. */
export const SCOPE_EXACT = 2;
export type NameScope = typeof SCOPE_NAME | typeof SCOPE_BELOW | typeof SCOPE_EXACT;

export const HEADER_WORDS = 5;
/** Words before the entries of a record. */
export const RECORD_WORDS = 3;

/** What a policy does when it wins. */
export interface TableEntry {
  readonly action: 'allow' | 'redirect' | 'block';
  /** With redirect, and with block in place of the blocking answer. */
  readonly rewrite: Rewrite | null;
  /** Of contract/outcome.ts; how the log calls it. */
  readonly reason: number;
  /** The id by which the log finds the policy's name. */
  readonly listId: number;
  /** Its regular expressions; null when it has none. */
  readonly patterns: RuleBuffers | null;
}

/** A table as it crosses threads. */
export interface TableMessage {
  readonly memory: SharedArrayBuffer;
  readonly entries: readonly TableEntry[];
}

export class PolicyTable {
  readonly entries: readonly TableEntry[];
  /** Names in the exact map. */
  readonly nameCount: number;
  /** Labels of the name that the winner of the last `match` names; 0 for a regular expression. */
  labels = 0;
  readonly #words: Int32Array;
  readonly #bytes: Uint8Array;
  readonly #slotMask: number;
  readonly #bloom: BloomFilter;
  /** Policies with regular expressions, in order, and those expressions. */
  readonly #patternOwners: readonly number[];
  readonly #patterns: readonly RuleSet[];

  constructor({ memory, entries }: TableMessage) {
    this.entries = entries;
    this.#words = new Int32Array(memory);
    this.#bytes = new Uint8Array(memory);
    const [nameCount = 0, slots = 1, bits = 64, hashes = 1] = this.#words;
    this.nameCount = nameCount;
    this.#slotMask = slots - 1;
    const bloomAt = HEADER_WORDS + slots;
    const words = this.#words.subarray(bloomAt, bloomAt + bits / 32);
    this.#bloom = new BloomFilter(words, { bits, hashes });
    this.#patternOwners = entries.flatMap(({ patterns }, index) => (patterns ? [index] : []));
    this.#patterns = entries.flatMap(({ patterns }) => (patterns ? [RuleSet.open(patterns)] : []));
  }

  /**
   * The policy that decides about a name.
   *
   * @param mask  index = policy, 1 = it applies to this client now
   * @returns     its index, -1 for none; sets `labels`
   * Cost: a look at the Bloom filter for each label; no allocation (bench/micro/policies.bench.ts).
   */
  match(view: NameView, matchContext: MatchContext, mask: Uint8Array): number {
    this.labels = 0;
    let best = this.nameCount === 0 ? -1 : this.#matchNames(view, mask);
    for (let index = 0; index < this.#patterns.length; index++) {
      const owner = this.#patternOwners[index] as number;
      if (best >= 0 && owner > best) break;
      if (mask[owner] !== 1 || owner === best) continue;
      if ((this.#patterns[index] as RuleSet).match(view, matchContext) === RULE_NONE) continue;
      best = owner;
      this.labels = 0;
      break;
    }
    return best;
  }

  /** Visits each policy that speaks of the name, in no order. For explanations. */
  forEachMatch(
    view: NameView,
    matchContext: MatchContext,
    mask: Uint8Array,
    visit: (index: number, labels: number) => void,
  ): void {
    for (let label = 0; label < view.labelCount; label++) {
      const record = this.#find(view, label);
      const count = record < 0 ? 0 : (this.#words[record + 2] as number);
      for (let entry = 0; entry < count; entry++) {
        const word = this.#words[record + RECORD_WORDS + entry] as number;
        if (mask[word >> 2] === 1 && isMet(word & 3, label)) {
          visit(word >> 2, view.labelCount - label);
        }
      }
    }
    for (const [index, owner] of this.#patternOwners.entries()) {
      const patterns = this.#patterns[index] as RuleSet;
      if (mask[owner] === 1 && patterns.match(view, matchContext) !== RULE_NONE) visit(owner, 0);
    }
  }

  #matchNames(view: NameView, mask: Uint8Array): number {
    let best = -1;
    for (let label = 0; label < view.labelCount; label++) {
      if (!this.#bloom.mayHave(view.suffixHashes[label] as number)) continue;
      const record = this.#find(view, label);
      if (record < 0) continue;
      const found = this.#firstOf(record, label, mask, best);
      if (found === best) continue;
      best = found;
      this.labels = view.labelCount - label;
    }
    return best;
  }

  /** The first policy of a record that applies, if it comes before `best`; else `best`. */
  #firstOf(record: number, label: number, mask: Uint8Array, best: number): number {
    const count = this.#words[record + 2] as number;
    for (let entry = 0; entry < count; entry++) {
      const word = this.#words[record + RECORD_WORDS + entry] as number;
      const policy = word >> 2;
      if (best >= 0 && policy >= best) return best;
      if (mask[policy] === 1 && isMet(word & 3, label)) return policy;
    }
    return best;
  }

  /** Where the record of the suffix that begins at `label` lies; -1 when there is none. */
  #find(view: NameView, label: number): number {
    const words = this.#words;
    const hash = view.suffixHashes[label] as number;
    for (let slot = hash & this.#slotMask; ; slot = (slot + 1) & this.#slotMask) {
      const record = words[HEADER_WORDS + slot] as number;
      if (record === 0) return -1;
      if (words[record] === hash && this.#isNamed(record, view, label)) return record;
    }
  }

  #isNamed(record: number, view: NameView, label: number): boolean {
    const start = view.labelStarts[label] as number;
    const length = this.#words[record + 1] as number;
    if (view.nameLength - start !== length) return false;
    const at = 4 * (record + RECORD_WORDS + (this.#words[record + 2] as number));
    for (let index = 0; index < length; index++) {
      if (this.#bytes[at + index] !== view.name[start + index]) return false;
    }
    return true;
  }
}

function isMet(scope: number, label: number): boolean {
  return label === 0 ? scope !== SCOPE_BELOW : scope !== SCOPE_EXACT;
}
