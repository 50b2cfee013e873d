/**
 * Lists of one name a line: `ads.example`, and its wildcard spellings `*.ads.example` and
 * `.ads.example` (formats "domains" and "wildcard").
 *
 * All of them mean the name and everything below it; with `match: exact` a plain name means itself
 * alone. A `#` begins a comment. A line with `##` and its kin directly behind a name is a browser's
 * cosmetic rule, never a domain.
 */
import { FLAG_EXACT } from '../../engine/filter/domain-table.ts';
import { LABEL_START, TEXT_END, TEXT_START } from '../../engine/filter/wildcard.ts';
import type { Line } from './line.ts';
import { LINE_RESULT, type Verdict } from './line-result.ts';

const HASH_SIGN = 0x23;
const STAR = 0x2a;
const DOT = 0x2e;

export function parseDomainLine(line: Line): Verdict {
  const isWildcard = afterWildcard(line, line.start) > line.start;
  return parseName(line, line.start, isWildcard ? line.flagsOf(false) : line.plainFlags);
}

/** As `parseDomainLine`; a star inside the name stands for any characters of it. */
export function parseWildcardLine(line: Line): Verdict {
  const verdict = parseDomainLine(line);
  return verdict === LINE_RESULT.pattern ? parseStars(line) : verdict;
}

/** `ads*.example`: a whole name with any start of labels before it, but for exact lists. */
function parseStars(line: Line): Verdict {
  const text = /^[^\s#]+/.exec(line.text)?.[0].toLowerCase() ?? '';
  if (!/^[a-z0-9._*-]+$/.test(text)) return LINE_RESULT.pattern;
  const isExact = (line.plainFlags & FLAG_EXACT) !== 0;
  const front = String.fromCharCode(isExact ? TEXT_START : LABEL_START);
  const flags = line.plainFlags & ~FLAG_EXACT;
  return line.takeWildcard(front + text + String.fromCharCode(TEXT_END), flags, null);
}

/** Reads the rest of the line from `start` as one name with an optional wildcard and comment. */
export function parseName(line: Line, start: number, flags: number): Verdict {
  const comment = line.find(HASH_SIGN, start);
  if (comment < line.end && isCosmeticAt(line, comment)) return LINE_RESULT.cosmetic;
  const blank = line.findBlank(start);
  const end = Math.min(blank, comment);
  if (blank < comment && !isCommentAfter(line, blank)) return foreign(line) ?? LINE_RESULT.words;
  const verdict = line.take(afterWildcard(line, start), end, flags);
  return verdict === LINE_RESULT.rule ? verdict : (foreign(line) ?? verdict);
}

function afterWildcard(line: Line, start: number): number {
  if (line.bytes[start] === STAR && line.bytes[start + 1] === DOT) return start + 2;
  return line.bytes[start] === DOT ? start + 1 : start;
}

/** Whether a `#` at this position begins a cosmetic rule: `x##`, `x#@#`, `x#?#`, `x#$#`, `x#%#`. */
export function isCosmeticAt(line: Line, at: number): boolean {
  const before = at > line.start ? (line.bytes[at - 1] as number) : 0x20;
  if (before === 0x20 || before === 0x09) return false;
  if (line.has('##', at)) return true;
  return line.has('#@', at) || line.has('#?#', at) || line.has('#$', at) || line.has('#%#', at);
}

/** Formats of other programs, which are told apart so that the reason can name them. */
export function foreign(line: Line): Verdict | null {
  for (const word of DNSMASQ_WORDS) if (line.has(word, line.start)) return LINE_RESULT.dnsmasq;
  for (const word of UNBOUND_WORDS) if (line.has(word, line.start)) return LINE_RESULT.unbound;
  return null;
}

const DNSMASQ_WORDS = ['address=/', 'server=/', 'local=/'];
const UNBOUND_WORDS = ['local-zone:', 'local-data:', 'server:'];

/** Whether nothing but a comment follows the blanks at this position. */
function isCommentAfter(line: Line, blank: number): boolean {
  let at = blank;
  while (at < line.end && (line.bytes[at] === 0x20 || line.bytes[at] === 0x09)) at++;
  return line.bytes[at] === HASH_SIGN;
}
