/**
 * One line of a list, as the line parsers get it: a window on the list's bytes, moved from line to
 * line by parse-list.ts. Parsers never make strings of it.
 */
import { HostName } from './host-name.ts';
import { VERDICT, type Verdict } from './verdict.ts';

/** Reads one line and gives its names to `line.take`. */
export type LineParser = (line: Line) => Verdict;

/** Called with each name found; `name` is overwritten afterwards. */
export type NameSink = (name: HostName, isAllow: boolean, lineNumber: number) => void;

export class Line {
  /** The whole list. */
  readonly bytes: Uint8Array;
  /** The line without blanks around it is bytes[start, end). */
  start = 0;
  end = 0;
  /** 1-based. */
  number = 0;
  readonly #name = new HostName();
  readonly #sink: NameSink;

  constructor(bytes: Uint8Array, sink: NameSink) {
    this.bytes = bytes;
    this.#sink = sink;
  }

  /** Moves to bytes[start, end) and drops blanks at both ends. */
  moveTo(start: number, end: number): void {
    while (start < end && isBlank(this.bytes[start] as number)) start++;
    while (end > start && isBlank(this.bytes[end - 1] as number)) end--;
    this.start = start;
    this.end = end;
    this.number++;
  }

  /** Reads bytes[start, end) as one name and hands it on if a list may have it. */
  take(start: number, end: number, isAllow: boolean): Verdict {
    const verdict = this.#name.read(this.bytes, start, end);
    if (verdict === VERDICT.rule) this.#sink(this.#name, isAllow, this.number);
    return verdict;
  }

  /** The byte at an offset from the line's start; 0 beyond its end. */
  byteAt(offset: number): number {
    const at = this.start + offset;
    return at < this.end ? (this.bytes[at] as number) : 0;
  }

  /** Whether the line has this ASCII text at an absolute position. */
  has(text: string, at: number): boolean {
    if (at + text.length > this.end) return false;
    for (let index = 0; index < text.length; index++) {
      if (this.bytes[at + index] !== text.charCodeAt(index)) return false;
    }
    return true;
  }

  /** Absolute position of the first such byte at or after `from`; the line's end when none. */
  find(byte: number, from: number): number {
    let at = from;
    while (at < this.end && this.bytes[at] !== byte) at++;
    return at;
  }

  /** Absolute position of the first blank at or after `from`; the line's end when none. */
  findBlank(from: number): number {
    let at = from;
    while (at < this.end && !isBlank(this.bytes[at] as number)) at++;
    return at;
  }
}

/** Space, tab, carriage return and the other control characters that editors leave; not NUL. */
export function isBlank(byte: number): boolean {
  return byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);
}
