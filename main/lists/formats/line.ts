/**
 * One line of a list, as the line parsers get it: a window on the list's bytes, moved from line to
 * line by list-text.ts, and the way by which rules go on to the sink, past the guards. Parsers of
 * plain names never make strings of it.
 */
import { LIMITS } from '../../contract/limits.ts';
import { FLAG_ALLOW, FLAG_BLOCK, FLAG_EXACT } from '../../engine/filter/domain-table.ts';
import { PATTERN_INVERTED } from '../../engine/filter/rule-program.ts';
import { compileRegex, type NameRegex } from '../../engine/filter/regex-engine.ts';
import type { RuleSink, Terms } from './rule-sink.ts';
import { readNetwork } from './address-bytes.ts';
import { HostName } from './host-name.ts';
import { LINE_RESULT, type Verdict } from './line-result.ts';
import { guardOfName, guardOfOwnName, isWideRegex, isWideWildcard } from './wide-names.ts';

/** Reads one line and gives its rules to the `take...` methods. */
export type LineParser = (line: Line) => Verdict;

/** How a list is read, beside its format. */
export interface ReadOptions {
  /** Whether a plain name means also what is below it; for hosts, domains and wildcard lists. */
  readonly match?: 'subdomains' | 'exact' | undefined;
  /** With 'allow', what would block allows. */
  readonly action?: 'block' | 'allow' | undefined;
  /** Takes what is too wide, too. */
  readonly allowWide?: boolean | undefined;
  /** The rules are a person's own: public suffixes and names of the machine may be meant. */
  readonly isOwn?: boolean | undefined;
}

/** What a dialect remembers from line to line. */
export interface LineState {
  /** RPZ: names of the zone and of the present origin, without trailing dot; '' if unknown. */
  zone: string;
  origin: string;
  /** RPZ: owner of the record before. */
  owner: string;
  /** RPZ: a record that goes on in the next line, in parentheses; '' without one. */
  begun: string;
  /** unbound: types of zones by name, for the data in them. */
  readonly zones: Map<string, string>;
  /** RPZ: of records that name none. */
  ttlSeconds: number;
}

export class Line {
  /** The list, or a part of it with the whole line. */
  bytes: Uint8Array;
  /** The line without blanks around it is bytes[start, end). */
  start = 0;
  end = 0;
  /** Whether blanks stood before it. */
  isIndented = false;
  /** 1-based. */
  number = 0;
  /** Takes what is too wide, too. */
  allowWide: boolean;
  /** Flags of a rule that is a plain name. */
  readonly plainFlags: number;
  readonly state: LineState = {
    zone: '',
    origin: '',
    owner: '',
    begun: '',
    zones: new Map(),
    ttlSeconds: 3_600,
  };
  readonly #isOwn: boolean;
  readonly #allows: boolean;
  readonly #name = new HostName();
  readonly #sink: RuleSink;

  constructor(bytes: Uint8Array, sink: RuleSink, options: ReadOptions = {}) {
    this.bytes = bytes;
    this.#sink = sink;
    this.#isOwn = options.isOwn ?? false;
    this.#allows = options.action === 'allow';
    this.allowWide = options.allowWide ?? false;
    this.plainFlags = this.flagsOf(false) | (options.match === 'exact' ? FLAG_EXACT : 0);
  }

  /** Back to before the first line, for another walk over them. */
  rewind(): void {
    this.number = 0;
  }

  /** Moves to bytes[start, end) and drops blanks at both ends. */
  moveTo(start: number, end: number): void {
    const from = start;
    while (start < end && isBlank(this.bytes[start] as number)) start++;
    while (end > start && isBlank(this.bytes[end - 1] as number)) end--;
    this.isIndented = start > from;
    this.start = start;
    this.end = end;
    this.number++;
  }

  /** The flag of a rule that allows or blocks, in a list that may be one of exceptions. */
  flagsOf(isAllow: boolean): number {
    return isAllow || this.#allows ? FLAG_ALLOW : FLAG_BLOCK;
  }

  /** Reads bytes[start, end) as one name and hands it on if a list may have it. */
  take(start: number, end: number, flags: number): Verdict {
    return this.#takeName(this.bytes, start, end, flags, null);
  }

  /** As `take`, for a name that is not in the bytes of the list. */
  takeText(text: string, flags: number, terms: Terms): Verdict {
    const bytes = Buffer.from(text);
    return this.#takeName(bytes, 0, bytes.length, flags, terms);
  }

  /** @param pattern  as engine/filter/wildcard.ts has it, a character for each byte */
  takeWildcard(pattern: string, flags: number, terms: Terms): Verdict {
    if (pattern.length > LIMITS.nameBytesMax) return LINE_RESULT.regexLarge;
    if (!this.allowWide && isWideWildcard(pattern)) return LINE_RESULT.wide;
    return this.#sink.addWildcard(pattern, flags, this.number, terms);
  }

  /**
   * Why a list may not name what begins like this name of two labels or more; null when it may, and
   * for every other text.
   */
  guardOf(text: string): Verdict | null {
    const bytes = Buffer.from(text);
    const name = this.#name;
    if (name.read(bytes, 0, bytes.length) !== LINE_RESULT.rule || name.labelCount < 2) return null;
    return this.#guard(name);
  }

  /** @param source  in RE2's syntax */
  takeRegex(source: string, flags: number, terms: Terms): Verdict {
    if (source.length > LIMITS.patternBytesMax) return LINE_RESULT.regexLarge;
    let regex: NameRegex;
    try {
      regex = compileRegex(source);
    } catch {
      return LINE_RESULT.regexInvalid; // The caller counts it by this reason.
    }
    if (regex.size > LIMITS.regexProgramMax) return LINE_RESULT.regexLarge;
    const isInverted = (flags & PATTERN_INVERTED) !== 0;
    const matches = (name: string): boolean => regex.test(Buffer.from(name)) !== isInverted;
    if (!this.allowWide && isWideRegex(source, isInverted, matches)) return LINE_RESULT.wide;
    return this.#sink.addRegex(source, flags, this.number, terms);
  }

  /** @param text  an address, or one with a prefix length behind a slash */
  takeNetwork(text: string, flags: number, terms: Terms): Verdict {
    const network = readNetwork(text);
    if (network === null) return LINE_RESULT.address;
    const { bytes, bits, isV4 } = network;
    const width = isV4 ? bits - 96 : bits;
    const isNothing = bytes.every((byte, at) => byte === 0 || (isV4 && at < 12));
    if (!this.allowWide && (width < 8 || isNothing)) return LINE_RESULT.wide;
    return this.#sink.addNetwork(bytes, bits, flags, this.number, terms);
  }

  #takeName(source: Uint8Array, start: number, end: number, flags: number, terms: Terms): Verdict {
    const name = this.#name;
    const verdict = name.read(source, start, end);
    if (verdict !== LINE_RESULT.rule) return verdict;
    return this.#guard(name) ?? this.#sink.addName(name, flags, this.number, terms);
  }

  #guard(name: HostName): Verdict | null {
    return this.#isOwn ? guardOfOwnName(name, this.allowWide) : guardOfName(name, this.allowWide);
  }

  /** The line as text; damaged UTF-8 becomes U+FFFD. */
  get text(): string {
    return Buffer.from(this.bytes.slice(this.start, this.end)).toString('utf8');
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
