/**
 * The text of a list, in memory or in a file, and the walk over its lines. Of a file only a window
 * is in memory, which grows only for a line that is longer than it. Used by parse-list.ts and
 * compile.ts, in the compile thread.
 */
import { createHash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { LIMITS } from '../../contract/limits.ts';
import type { Line } from '../formats/line.ts';

const LINE_FEED = 0x0a;
/** Bytes of a file that are in memory at a time. */
const WINDOW_BYTES = 262_144;

export interface ListText {
  /** Bytes in all. */
  readonly size: number;
  /** Fills `into` from a position on. Returns the bytes read, 0 only at the end. */
  read(into: Uint8Array, position: number): number;
  close(): void;
}

/** Opens the text at a path; throws the system's error, or one that says it is too large. */
export type OpenText = (path: string) => ListText;

export function openTextFile(path: string): ListText {
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    if (size > LIMITS.listBytesMax) {
      const mebibytes = String(Math.round(LIMITS.listBytesMax / 1024 / 1024));
      throw new Error(`its file is larger than ${mebibytes} MiB`);
    }
    return {
      size,
      read: (into, position) => readSync(file, into, 0, into.length, position),
      close: () => {
        closeSync(file);
      },
    };
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

/** The SHA-256 of a text, hex. */
export function hashOf(text: ListText): string {
  const hash = createHash('sha256');
  const window = new Uint8Array(Math.min(WINDOW_BYTES, text.size + 1));
  for (let position = 0, count = -1; count !== 0; position += count) {
    count = fill(text, window, position);
    hash.update(window.subarray(0, count));
  }
  return hash.digest('hex');
}

/** The first bytes of a text, at most `length`. */
export function headOf(text: ListText, length: number): Uint8Array {
  const head = new Uint8Array(Math.min(length, text.size));
  return head.subarray(0, fill(text, head, 0));
}

/** Moves `line` over all lines until `visit` returns false. A last line feed ends a line. */
export function forEachLine(text: Uint8Array | ListText, line: Line, visit: () => boolean): void {
  if (text instanceof Uint8Array) {
    line.bytes = text;
    visitLines(line, afterByteOrderMark(text), true, visit);
    return;
  }
  let window = new Uint8Array(Math.min(WINDOW_BYTES, text.size + 1));
  let kept = 0;
  for (let position = 0; ;) {
    if (kept === window.length) window = grown(window);
    const filled = kept + fill(text, window.subarray(kept), position);
    line.bytes = window.subarray(0, filled);
    const start = position === 0 ? afterByteOrderMark(line.bytes) : 0;
    position += filled - kept;
    const isLast = filled < window.length;
    const done = visitLines(line, start, isLast, visit);
    if (done < 0 || isLast) return;
    window.copyWithin(0, done, filled);
    kept = filled - done;
  }
}

/** Reads until `into` is full or the text at its end. Returns the bytes read. */
function fill(text: ListText, into: Uint8Array, position: number): number {
  let filled = 0;
  while (filled < into.length) {
    const count = text.read(into.subarray(filled), position + filled);
    if (count === 0) break;
    filled += count;
  }
  return filled;
}

/** A window of twice the size with the same beginning, for a line that does not fit. */
function grown(window: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(window.length * 2);
  larger.set(window);
  return larger;
}

/**
 * Visits the lines of line.bytes from `start` on, with `isLast` also one without a line feed.
 *
 * @returns  where the line begins that is not complete; -1 when `visit` has had enough
 */
function visitLines(line: Line, start: number, isLast: boolean, visit: () => boolean): number {
  const { bytes } = line;
  let at = start;
  while (at < bytes.length) {
    let end = at;
    while (end < bytes.length && bytes[end] !== LINE_FEED) end++;
    if (end === bytes.length && !isLast) return at;
    line.moveTo(at, end);
    if (!visit()) return -1;
    at = end + 1;
  }
  return Math.min(at, bytes.length);
}

function afterByteOrderMark(bytes: Uint8Array): number {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
}
