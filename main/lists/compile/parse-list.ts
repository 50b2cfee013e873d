/**
 * Parses one list: finds the dialect, gives every line a verdict and every rule to a sink. Pure but
 * for the reading of the text; run by the compile thread, and by tests.
 */
import { LIMITS } from '../../contract/limits.ts';
import {
  DETECT_LINES,
  FORMATS,
  LEARNERS,
  formatOfLine,
  mostVoted,
  type ListFormat,
} from '../formats/detect.ts';
import type { HostName } from '../formats/host-name.ts';
import { Line, type ReadOptions } from '../formats/line.ts';
import { REASONS, LINE_RESULT, type Verdict } from '../formats/line-result.ts';
import { forEachLine, type ListText } from './list-text.ts';
import { NO_SINK, type RuleSink, type Terms } from '../formats/rule-sink.ts';

const NO_BYTES = new Uint8Array(0);
const EXAMPLES_MAX = 3;
const EXAMPLE_BYTES_MAX = 120;
/** Lines between two calls of `onProgress`. */
const PROGRESS_LINES = 65_536;

/** Ignored lines of one reason. */
export interface IgnoredLines {
  readonly reason: string;
  readonly lines: number;
  /** At most three, in list order, shortened to 120 bytes. */
  readonly examples: readonly string[];
}

/** What a list is made of: rules + comments + ignored = lines. */
export interface ListReport {
  readonly format: ListFormat;
  readonly lines: number;
  /** Lines that gave at least one rule. */
  readonly rules: number;
  /** Comments and blank lines. */
  readonly comments: number;
  /** Rules given to the sink; a hosts line may have many, and lists repeat themselves. */
  readonly names: number;
  /** Lines by verdict, as numbered in VERDICT. */
  readonly verdicts: readonly number[];
  /** Most frequent reason first. */
  readonly ignored: readonly IgnoredLines[];
}

/** How a list is read. */
export interface ListOptions extends ReadOptions {
  /** 'auto' looks at the first lines. */
  readonly format: ListFormat | 'auto';
}

/**
 * @param text  the list; a UTF-8 byte order mark is skipped
 */
export function parseList(
  text: Uint8Array | ListText,
  options: ListOptions,
  sink: RuleSink,
  onProgress?: (lines: number) => void,
): ListReport {
  const { format } = options;
  const found = format === 'auto' ? detectFormat(text) : format;
  const parse = FORMATS[found];
  const tally = new Tally();
  const counter = new CountingSink(sink);
  const line = new Line(NO_BYTES, counter, options);
  const learn = LEARNERS[found];
  if (learn) {
    forEachLine(text, line, () => {
      learn(line);
      return true;
    });
    line.rewind();
  }
  forEachLine(text, line, () => {
    tally.count(isComment(line, found) ? LINE_RESULT.comment : boundedParse(line, parse), line);
    if (line.number % PROGRESS_LINES === 0) onProgress?.(line.number);
    return true;
  });
  return tally.report(found, line.number, counter.taken);
}

/** Counts what goes through it. */
class CountingSink implements RuleSink {
  taken = 0;
  readonly #sink: RuleSink;

  constructor(sink: RuleSink) {
    this.#sink = sink;
  }

  addName(name: HostName, flags: number, line: number, terms: Terms): Verdict {
    return this.#count(this.#sink.addName(name, flags, line, terms));
  }

  addWildcard(pattern: string, flags: number, line: number, terms: Terms): Verdict {
    return this.#count(this.#sink.addWildcard(pattern, flags, line, terms));
  }

  addRegex(source: string, flags: number, line: number, terms: Terms): Verdict {
    return this.#count(this.#sink.addRegex(source, flags, line, terms));
  }

  addNetwork(
    address: Uint8Array,
    bits: number,
    flags: number,
    line: number,
    terms: Terms,
  ): Verdict {
    return this.#count(this.#sink.addNetwork(address, bits, flags, line, terms));
  }

  #count(verdict: Verdict): Verdict {
    if (verdict === LINE_RESULT.rule) this.taken++;
    return verdict;
  }
}

/** The dialect that most of the first lines are in. */
export function detectFormat(text: Uint8Array | ListText): ListFormat {
  const votes = new Map<ListFormat, number>();
  let seen = 0;
  const line = new Line(NO_BYTES, NO_SINK);
  forEachLine(text, line, () => {
    if (isComment(line, 'adblock')) return true;
    const format = line.end - line.start > LIMITS.listLineBytesMax ? null : formatOfLine(line);
    if (format !== null) votes.set(format, (votes.get(format) ?? 0) + 1);
    return ++seen < DETECT_LINES;
  });
  return mostVoted(votes);
}

function boundedParse(line: Line, parse: (line: Line) => Verdict): Verdict {
  return line.end - line.start > LIMITS.listLineBytesMax ? LINE_RESULT.lineLength : parse(line);
}

/**
 * Blank lines, and those that begin with `#`, `!`, `;` or (adblock header) `[`. In adblock syntax
 * `##` and its kin directly followed by a selector is a cosmetic rule for all sites.
 */
function isComment(line: Line, format: ListFormat): boolean {
  if (line.start === line.end) return true;
  const first = line.byteAt(0);
  if (first === 0x5b) return format !== 'regex';
  if (first !== 0x23) return first === 0x21 || first === 0x3b;
  return format !== 'adblock' || !isGenericCosmetic(line);
}

/** `##x`, `#@#x`, `#?#x`, `#$#x`; not `## text`, nor a row of number signs. */
function isGenericCosmetic(line: Line): boolean {
  const third = line.byteAt(2);
  if (line.byteAt(1) === 0x23) return third > 0x20 && third !== 0x23;
  return third === 0x23 && [0x40, 0x3f, 0x24].includes(line.byteAt(1));
}

/** Counts verdicts and keeps the first lines of each reason. */
class Tally {
  readonly #verdicts = new Array<number>(REASONS.length).fill(0);
  readonly #examples = new Map<Verdict, string[]>();

  count(verdict: Verdict, line: Line): void {
    this.#verdicts[verdict] = (this.#verdicts[verdict] as number) + 1;
    if (verdict <= LINE_RESULT.rule) return;
    let examples = this.#examples.get(verdict);
    if (!examples) this.#examples.set(verdict, (examples = []));
    if (examples.length < EXAMPLES_MAX) examples.push(shortText(line));
  }

  report(format: ListFormat, lines: number, names: number): ListReport {
    const ignored = [...this.#examples]
      .map(([verdict, examples]) => ({
        reason: REASONS[verdict] as string,
        lines: this.#verdicts[verdict] as number,
        examples,
      }))
      .sort((a, b) => b.lines - a.lines);
    const [comments, rules] = this.#verdicts as [number, number];
    return { format, lines, rules, comments, names, verdicts: this.#verdicts, ignored };
  }
}

/** The beginning of a line as text; control characters and damaged UTF-8 become U+FFFD. */
function shortText(line: Line): string {
  const end = Math.min(line.end, line.start + EXAMPLE_BYTES_MAX);
  const text = Buffer.from(line.bytes.slice(line.start, end)).toString('utf8');
  // eslint-disable-next-line no-control-regex -- control characters are what must not be shown
  return text.replaceAll(/[\u0000-\u001f\u007f]/g, '\ufffd') + (end < line.end ? '…' : '');
}
