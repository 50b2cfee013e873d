/**
 * Makes the memory of policy-table.ts. Runs in the control plane, at each change of the settings
 * that the table is made of.
 */
import { LIMITS } from '../../contract/limits.ts';
import { BloomFilter, bloomShape } from './bloom-filter.ts';
import { hashName, writeName } from '../../dns/name.ts';
import { HEADER_WORDS, RECORD_WORDS, type NameScope } from './policy-table.ts';

interface NamedRecord {
  readonly hash: number;
  readonly name: Uint8Array;
  /** policy << 2 | scope. */
  readonly entries: number[];
}

/** Slots a name, at least: probes stay short. */
const SLOTS_PER_NAME = 2;

export class PolicyTableBuilder {
  readonly #byName = new Map<string, NamedRecord>();
  readonly #scratch = new Uint8Array(LIMITS.nameBytesMax);

  /**
   * Says that a policy speaks of a name. What is no name is left out: the settings check has told.
   *
   * @param policy  its place in the order in which policies decide, from 0
   * @param text    presentation form
   */
  add(policy: number, text: string, scope: NameScope): void {
    const length = writeName(text, this.#scratch, 0);
    if (length <= 0) return;
    const name = this.#scratch.slice(0, length);
    const key = Buffer.from(name).toString('latin1');
    let record = this.#byName.get(key);
    if (record === undefined) {
      record = { hash: hashName(name, 0, length), name, entries: [] };
      this.#byName.set(key, record);
    }
    const word = (policy << 2) | scope;
    if (!record.entries.includes(word)) record.entries.push(word);
  }

  finish(): SharedArrayBuffer {
    const records = [...this.#byName.values()];
    const slots = 2 ** Math.ceil(Math.log2(Math.max(2, records.length * SLOTS_PER_NAME)));
    const shape = bloomShape(records.length);
    const bloomAt = HEADER_WORDS + slots;
    let at = bloomAt + BloomFilter.wordsFor(shape);
    const total = records.reduce((sum, record) => sum + wordsOf(record), at);
    const memory = new SharedArrayBuffer(4 * total);
    const words = new Int32Array(memory);
    const bytes = new Uint8Array(memory);
    words.set([records.length, slots, shape.bits, shape.hashes]);
    const bloom = new BloomFilter(words.subarray(bloomAt, at), shape);
    for (const record of records) {
      const { hash, name, entries } = record;
      let slot = hash & (slots - 1);
      while (words[HEADER_WORDS + slot] !== 0) slot = (slot + 1) & (slots - 1);
      words[HEADER_WORDS + slot] = at;
      words.set([hash, name.length, entries.length], at);
      entries.sort((left, right) => left - right);
      words.set(entries, at + RECORD_WORDS);
      bytes.set(name, 4 * (at + RECORD_WORDS + entries.length));
      bloom.add(hash);
      at += wordsOf(record);
    }
    return memory;
  }
}

function wordsOf({ entries, name }: NamedRecord): number {
  return RECORD_WORDS + entries.length + Math.ceil(name.length / 4);
}
