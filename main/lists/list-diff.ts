/**
 * Counts how many names came and went between two copies of a list. Run by the compile thread for
 * each new copy; reads one copy at a time.
 */
import type { CompileResult, CompileSource, ReadFile } from './compile.ts';
import type { ListFormat } from './formats/detect.ts';
import { parseList } from './parse-list.ts';

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
  return sources.flatMap(({ listId, format, copies }) => {
    const used = results.find((result) => result.listId === listId)?.used ?? null;
    const fresh = copies.find(({ kind }) => kind === used);
    const old = copies.find(({ kind }) => kind === 'current');
    if (used === 'current' || used === 'previous' || !fresh || !old) return [];
    const before = marksOf(old.paths, format, read);
    const after = before && marksOf(fresh.paths, format, read);
    return before && after ? [{ listId, ...difference(before, after) }] : [];
  });
}

/**
 * One number a distinct name, sorted: 53 bits of hash, so that two of a million names look alike
 * once in ten thousand updates, which is near enough for a count that is only shown.
 */
export function nameMarks(bytes: Uint8Array, format: ListFormat | 'auto'): Float64Array {
  let marks = new Float64Array(4_096);
  let count = 0;
  parseList(bytes, format, (name, isAllow) => {
    if (count === marks.length) {
      const grown = new Float64Array(count * 2);
      grown.set(marks);
      marks = grown;
    }
    let second = isAllow ? 0x2545f491 : 0x1b873593;
    for (let at = 0; at < name.length; at++) {
      second = Math.imul(second ^ (name.bytes[at] as number), 0x01000193);
    }
    marks[count++] = (name.hash >>> 0) * 2 ** 21 + ((second ^ (second >>> 15)) & 0x1fffff);
  });
  const sorted = marks.subarray(0, count).sort();
  let kept = 0;
  for (const mark of sorted) {
    if (kept === 0 || mark !== sorted[kept - 1]) sorted[kept++] = mark;
  }
  return sorted.subarray(0, kept);
}

/** Null when no file of these can be read. */
function marksOf(
  paths: readonly string[],
  format: ListFormat | 'auto',
  read: ReadFile,
): Float64Array | null {
  for (const path of paths) {
    try {
      return nameMarks(read(path), format);
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
