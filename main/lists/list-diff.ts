/**
 * Counts how many names came and went between two copies of a list. Run by the compile thread for
 * each new copy; reads one copy at a time.
 */
import { createHash } from 'node:crypto';
import type { CompileResult, CompileSource, ReadFile } from './compile.ts';
import type { HostName } from './formats/host-name.ts';
import { VERDICT, type Verdict } from './formats/verdict.ts';
import { parseList, type ListOptions } from './parse-list.ts';
import type { RuleSink, Terms } from './rule-sink.ts';

export interface NameChanges {
  readonly listId: number;
  /** Distinct names. */
  readonly added: number;
  readonly removed: number;
}

/** Changes of the lists whose new copy the compiler has taken, when the old one can be read. */
export function countChanges(
  sources: readonly CompileSource[],
  results: readonly CompileResult[],
  read: ReadFile,
): NameChanges[] {
  return sources.flatMap((source) => {
    const { listId, copies } = source;
    const used = results.find((result) => result.listId === listId)?.used ?? null;
    const fresh = copies.find(({ kind }) => kind === used);
    const old = copies.find(({ kind }) => kind === 'current');
    if (used === 'current' || used === 'previous' || !fresh || !old) return [];
    const before = marksOf(old.paths, source, read);
    const after = before && marksOf(fresh.paths, source, read);
    return before && after ? [{ listId, ...difference(before, after) }] : [];
  });
}

/**
 * One number a distinct name, sorted: 53 bits of hash, so that two of a million names look alike
 * once in ten thousand updates, which is near enough for a count that is only shown.
 */
export function nameMarks(bytes: Uint8Array, options: ListOptions): Float64Array {
  const sink = new MarkingSink();
  parseList(bytes, options, sink);
  const sorted = sink.marks.subarray(0, sink.count).sort();
  let kept = 0;
  for (const mark of sorted) {
    if (kept === 0 || mark !== sorted[kept - 1]) sorted[kept++] = mark;
  }
  return sorted.subarray(0, kept);
}

/** Plain names are hashed as they are; the few other rules by their text. */
class MarkingSink implements RuleSink {
  marks = new Float64Array(4_096);
  count = 0;

  addName(name: HostName, flags: number, _line: number, terms: Terms): Verdict {
    if (terms !== null) return this.#text(`${name.text} ${JSON.stringify(terms)}`, flags);
    let second = 0x1b873593 ^ flags;
    for (let at = 0; at < name.length; at++) {
      second = Math.imul(second ^ (name.bytes[at] as number), 0x01000193);
    }
    return this.#mark(name.hash, second ^ (second >>> 15));
  }

  addWildcard(pattern: string, flags: number, _line: number, terms: Terms): Verdict {
    return this.#text(`${pattern} ${JSON.stringify(terms)}`, flags);
  }

  addRegex(source: string, flags: number, _line: number, terms: Terms): Verdict {
    return this.#text(`/${source}/ ${JSON.stringify(terms)}`, flags);
  }

  addNetwork(
    address: Uint8Array,
    bits: number,
    flags: number,
    _line: number,
    terms: Terms,
  ): Verdict {
    return this.#text(`${address.join('.')}/${String(bits)} ${JSON.stringify(terms)}`, flags);
  }

  #text(text: string, flags: number): Verdict {
    const hash = createHash('sha256')
      .update(`${String(flags)} ${text}`)
      .digest();
    return this.#mark(hash.readInt32LE(0), hash.readInt32LE(4));
  }

  #mark(first: number, second: number): Verdict {
    if (this.count === this.marks.length) {
      const grown = new Float64Array(this.count * 2);
      grown.set(this.marks);
      this.marks = grown;
    }
    this.marks[this.count++] = (first >>> 0) * 2 ** 21 + (second & 0x1fffff);
    return VERDICT.rule;
  }
}

/** Null when no file of these can be read. */
function marksOf(
  paths: readonly string[],
  options: ListOptions,
  read: ReadFile,
): Float64Array | null {
  for (const path of paths) {
    try {
      return nameMarks(read(path), options);
    } catch {
      continue; // The count is left out; whether the copies are good, the compiler has found out.
    }
  }
  return null;
}

/** Walks two sorted rows of distinct numbers. */
export function difference(before: Float64Array, after: Float64Array): Omit<NameChanges, 'listId'> {
  let common = 0;
  for (let left = 0, right = 0; left < before.length && right < after.length;) {
    const [a, b] = [before[left] as number, after[right] as number];
    if (a === b) common++;
    if (a <= b) left++;
    if (b <= a) right++;
  }
  return { added: after.length - common, removed: before.length - common };
}
