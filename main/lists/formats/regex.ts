/**
 * Lists of regular expressions as Pi-hole has them: one a line, not tied to the ends of the name,
 * with extensions behind `;`. docs.pi-hole.net/regex/pi-hole.
 *
 *   ;querytype=A,AAAA  ;querytype=!A    only for these types, or for all others
 *   ;invert                             matches the names that the expression does not
 *   ;reply=nxdomain                     the answer: nodata, nxdomain, refused, none (no answer), ip
 *                                       (as the settings say), or addresses; in either case
 *   (?#text)                            a comment
 *
 * Pi-hole's expressions are POSIX extended ones with TRE's additions. What differs from RE2 in names
 * is the backslash, which is no escape inside of brackets there, and back-references, which are
 * refused: they cannot run in linear time.
 */
import { PATTERN_INVERTED } from '../../engine/filter/rule-program.ts';
import { typeNumber } from '../../dns/record-type.ts';
import type { RewriteText, RuleTermsText } from '../../engine/filter/rule-terms.ts';
import { addressType, recordRewrite } from './dns-rewrite.ts';
import type { Line } from './line.ts';
import { LINE_RESULT, type Verdict } from './line-result.ts';

type Terms = { -readonly [Key in keyof RuleTermsText]: RuleTermsText[Key] };

const LINE_BYTES_MAX = 4_096;
const EXTENSION = /;(querytype|reply)=([^;]*)$|;(invert)$/;
const REPLIES: Readonly<Record<string, RewriteText>> = {
  NODATA: { rcode: 0 },
  NXDOMAIN: { rcode: 3 },
  REFUSED: { rcode: 5 },
  NONE: { drop: true },
};

export function parseRegexLine(line: Line): Verdict {
  if (line.end - line.start > LINE_BYTES_MAX) return LINE_RESULT.lineLength;
  let source = line.text;
  let flags = line.flagsOf(false);
  const terms: Terms = {};
  for (let found = EXTENSION.exec(source); found; found = EXTENSION.exec(source)) {
    source = source.slice(0, found.index);
    const [, key, value = '', invert] = found;
    if (invert !== undefined) flags |= PATTERN_INVERTED;
    else if (!readExtension(key as string, value, terms)) return LINE_RESULT.modifierValue;
  }
  // No name has a blank: it is prose, or a page in place of a list.
  const expression = toRe2(source);
  if (expression === '' || /\s/.test(expression)) return LINE_RESULT.never;
  return line.takeRegex(expression, flags, Object.keys(terms).length > 0 ? terms : null);
}

function readExtension(key: string, value: string, terms: Terms): boolean {
  return key === 'querytype' ? readTypes(value, terms) : readReply(value, terms);
}

function readTypes(value: string, terms: Terms): boolean {
  const isNot = value.startsWith('!');
  const types = (isNot ? value.slice(1) : value).split(',').map((type) => typeNumber(type.trim()));
  if (types.some((type) => type < 0)) return false;
  if (isNot) terms.notTypes = types;
  else terms.types = types;
  return true;
}

/** Several addresses are written as several replies. */
function readReply(value: string, terms: Terms): boolean {
  const word = value.trim().toUpperCase();
  if (word === 'IP') return true;
  const rewrite = REPLIES[word] ?? recordRewrite(addressType(value), value);
  if (rewrite === null) return false;
  const records = [...(rewrite.records ?? []), ...(terms.rewrite?.records ?? [])];
  terms.rewrite = records.length > 0 ? { records } : rewrite;
  return true;
}

/** Doubles the backslashes inside of brackets, and leaves out comments. */
export function toRe2(source: string): string {
  let text = '';
  let at = 0;
  while (at < source.length) {
    const comment = /^\(\?#[^)]*\)/.exec(source.slice(at, at + LINE_BYTES_MAX));
    if (source[at] === '(' && comment !== null) {
      at += comment[0].length;
      continue;
    }
    const class_ =
      source[at] === '[' ? /^\[\^?\]?(?:\[[:.=].*?[:.=]\]|[^\]])*\]/.exec(source.slice(at)) : null;
    const piece = class_?.[0] ?? source.slice(at, at + (source[at] === '\\' ? 2 : 1));
    text += class_ === null ? piece : piece.replaceAll('\\', '\\\\');
    at += piece.length;
  }
  return text;
}
