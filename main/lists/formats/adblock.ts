/**
 * Lists in adblock syntax, as AdGuard Home reads it for DNS: `||ads.example^` blocks the name and
 * everything below it, `@@` allows, `|` ties a pattern to the start or the end of the name, `*` stands
 * for anything, `/.../` is a regular expression, `$` begins modifiers (modifiers.ts). `||ads.exam`
 * without an end speaks of every name in which a label begins so, `||*.ads.example^` of what is below
 * ads.example. Plain names and hosts lines are taken, too.
 *
 * What speaks of parts of pages, of paths or of requests is ignored with its reason. It is never cut
 * down to a name: that would block more than the author wrote.
 */
import { FLAG_BELOW, FLAG_EXACT } from '../../engine/filter/domain-table.ts';
import { LABEL_START, TEXT_END, TEXT_START } from '../../engine/filter/wildcard.ts';
import type { Terms } from './rule-sink.ts';
import { readAddress } from './address-bytes.ts';
import { isCosmeticAt, parseName } from './domains.ts';
import { groupsOf } from './groups.ts';
import { parseHostsLine } from './hosts.ts';
import type { Line } from './line.ts';
import { readModifiers } from './modifiers.ts';
import { LINE_RESULT, type Verdict } from './line-result.ts';

const HASH_SIGN = 0x23;
const DOLLAR = 0x24;
const CARET = 0x5e;
const PIPE = 0x7c;
/** A rule above this is no rule; room for long lists of exceptions. */
const RULE_BYTES_MAX = 16_384;

export function parseAdblockLine(line: Line): Verdict {
  const isAllow = line.has('@@', line.start);
  const start = isAllow ? line.start + 2 : line.start;
  if (line.has('||', start)) {
    const isBelow = line.has('*.', start + 2);
    const nameStart = isBelow ? start + 4 : start + 2;
    const end = endOfName(line, nameStart);
    const flags = line.flagsOf(isAllow) | (isBelow ? FLAG_BELOW : 0);
    if (isWholeRule(line, end)) return takeAnchored(line, nameStart, end, flags);
  }
  return parseUnanchored(line, start, isAllow);
}

function parseUnanchored(line: Line, start: number, isAllow: boolean): Verdict {
  const hash = line.find(HASH_SIGN, start);
  if (isCosmetic(line, start, hash)) return LINE_RESULT.cosmetic;
  if (isPlain(line, start, hash) && !isPiece(line, start)) {
    return isAllow ? parseName(line, start, line.flagsOf(true)) : parsePlain(line);
  }
  if (line.end - line.start > RULE_BYTES_MAX) return LINE_RESULT.lineLength;
  return parseRule(line, line.text.slice(isAllow ? 2 : 0), isAllow);
}

/** The part behind `||`: a name, or an address that answers may not have. */
function takeAnchored(line: Line, start: number, end: number, flags: number): Verdict {
  const verdict = line.take(start, end, flags);
  if (verdict !== LINE_RESULT.address) return verdict;
  return line.takeNetwork(textOf(line, start, end), flags & ~FLAG_BELOW, null);
}

/** A hosts line, a plain name, or an address. */
function parsePlain(line: Line): Verdict {
  const verdict = parseHostsLine(line);
  if (verdict !== LINE_RESULT.address || line.findBlank(line.start) < line.end) return verdict;
  return line.takeNetwork(textOf(line, line.start, line.end), line.flagsOf(false), null);
}

function textOf(line: Line, start: number, end: number): string {
  return Buffer.from(line.bytes.slice(start, end)).toString('latin1');
}

function endOfName(line: Line, start: number): number {
  let end = start;
  while (end < line.end && SEPARATORS[line.bytes[end] as number] === 0) end++;
  return end;
}

/** Whether nothing but the mark of a name's end follows. */
function isWholeRule(line: Line, end: number): boolean {
  const rest = line.end - end;
  const isCaret = line.bytes[end] === CARET;
  if (rest === 1) return isCaret || line.bytes[end] === PIPE;
  return rest === 2 && isCaret && line.bytes[end + 1] === PIPE;
}

/** Whether nothing of the syntax stands before a comment, but for a star or dot in front. */
function isPlain(line: Line, start: number, comment: number): boolean {
  const from = line.has('*.', start) ? start + 2 : start;
  for (let at = from; at < comment; at++) {
    if (PLAIN_ENDS[line.bytes[at] as number] === 1) return false;
  }
  return true;
}

/** `x##...` and its kin, and `x$$...`, which filters the source of pages. */
function isCosmetic(line: Line, start: number, hash: number): boolean {
  if (line.bytes[start] === SLASH) return false;
  if (hash < line.end && (hash === start || isCosmeticAt(line, hash))) return true;
  return line.has('$$', line.find(DOLLAR, start));
}

/** `-ads.`, `.ads-`: what begins and ends in the middle of names is a pattern. */
function isPiece(line: Line, start: number): boolean {
  const text = textOf(line, start, Math.min(line.end, start + 255));
  return /^(?:[-.][\w.-]*[-.]|-[\w.-]+|[\w.-]+-)$/.test(text);
}

/** A rule that is more than a plain name. @param text  without `@@` */
function parseRule(line: Line, text: string, isAllow: boolean): Verdict {
  const { pattern, modifiers } = splitRule(text);
  let flags = line.flagsOf(isAllow);
  let terms: Terms = null;
  if (modifiers !== null) {
    const read = readModifiers(modifiers, isAllow);
    if (typeof read === 'number') return read;
    flags |= read.flags;
    if (Object.keys(read.terms).length > 0) terms = read.terms;
  }
  if (isRegex(pattern)) return line.takeRegex(pattern.slice(1, -1), flags, terms);
  return takePattern(line, pattern, flags, terms);
}

/** Cuts the modifiers off: behind the expression's last slash, or behind the last dollar sign. */
function splitRule(text: string): { pattern: string; modifiers: string | null } {
  const slash = text.startsWith('/') ? text.lastIndexOf('/$') : -1;
  const cut = slash > 0 ? slash + 1 : isRegex(text) ? -1 : text.search(/(?<!\\)\$[^$]*$/);
  if (cut < 0) return { pattern: text, modifiers: null };
  return { pattern: text.slice(0, cut).trim(), modifiers: text.slice(cut + 1) };
}

function isRegex(pattern: string): boolean {
  return pattern.length > 2 && pattern.startsWith('/') && pattern.endsWith('/');
}

const NAME_RULE = /^(\|\|(?:\*\.)?|\||\*\.|\.)?([^*^|/:\s-][^*^|/:\s]*[^*^|/:\s-])(\^\|?|\|)?$/;

const ADDRESS_RULE = /^(?:\|\|)?([0-9a-f:]*:[0-9a-f:.]+)\^?$/i;

function takePattern(line: Line, pattern: string, flags: number, terms: Terms): Verdict {
  const [front, name, end] = groupsOf(NAME_RULE, pattern);
  if (name !== '') {
    const named = takeNamed(line, front, name, end, { flags, terms });
    if (named !== null) return named;
  }
  const [address] = groupsOf(ADDRESS_RULE, pattern);
  if (readAddress(address) !== null) return line.takeNetwork(address, flags, terms);
  if (/[/:]/.test(pattern)) return LINE_RESULT.path;
  return takeWildcard(line, pattern.toLowerCase(), flags, terms);
}

/** A pattern that is a name, or the beginning of one; null for every other. */
function takeNamed(
  line: Line,
  front: string,
  name: string,
  end: string,
  { flags, terms }: { flags: number; terms: Terms },
): Verdict | null {
  if (end === '') {
    if (front === '||') return takePrefix(line, name, flags, terms);
    const isPlain = !front.startsWith('|') && !isMiddle(front, name);
    return isPlain ? takeName(line, name, flags, terms) : null;
  }
  if (front === '|') return takeName(line, name, flags | FLAG_EXACT, terms);
  if (front === '||*.') return takeName(line, name, flags | FLAG_BELOW, terms);
  return front === '||' ? takeName(line, name, flags, terms) : null;
}

/**
 * `||ads.exam`: names in which a label begins so, such as www.ads.example. Without room for one more
 * pattern it is read as the name, of which it speaks in any case.
 */
function takePrefix(line: Line, name: string, flags: number, terms: Terms): Verdict {
  const text = name.toLowerCase();
  const isAddress = readAddress(text) !== null;
  if (isAddress || !/^[a-z0-9._-]+$/.test(text)) return takeName(line, name, flags, terms);
  if (text.includes('..')) return LINE_RESULT.never;
  const guard = line.guardOf(text);
  if (guard !== null) return guard;
  const front = String.fromCharCode(LABEL_START);
  const verdict = line.takeWildcard(front + text, flags, terms);
  const isFull = verdict === LINE_RESULT.patternsFull || verdict === LINE_RESULT.patternCost;
  return isFull ? takeName(line, name, flags, terms) : verdict;
}

/** `.ads.`: what begins and ends with a dot is a piece of names. */
function isMiddle(front: string, name: string): boolean {
  return front === '.' && name.endsWith('.');
}

function takeName(line: Line, name: string, flags: number, terms: Terms): Verdict {
  const verdict = line.takeText(name, flags, terms);
  if (verdict !== LINE_RESULT.address) return verdict;
  return line.takeNetwork(name, flags & ~(FLAG_EXACT | FLAG_BELOW), terms);
}

const WILDCARD_RULE = /^(\|\||\||\^)?(.*?)(\^\|?|\|)?$/s;

/** `||ads*.example^`, `-ads.`, `|ad*`: the name's text with marks at its ends. */
function takeWildcard(line: Line, pattern: string, flags: number, terms: Terms): Verdict {
  const [front, body, end] = groupsOf(WILDCARD_RULE, pattern);
  if (body === '' || /^\*?$/.test(body + end)) return takeEverything(line, body, flags, terms);
  if (/[\^|]/.test(body)) return LINE_RESULT.pattern;
  if (!/^[a-z0-9._*-]+$/.test(body)) return LINE_RESULT.characters;
  if (body.includes('..')) return LINE_RESULT.never;
  return line.takeWildcard((FRONTS[front] ?? '') + body + (end === '' ? '' : END), flags, terms);
}

/** `*` is a rule for all names, which the guard will look at; `||^` and its kin are for none. */
function takeEverything(line: Line, body: string, flags: number, terms: Terms): Verdict {
  if (body !== '*' && terms === null) return LINE_RESULT.labelLength;
  return body === '*' || body === '' ? line.takeWildcard('*', flags, terms) : LINE_RESULT.never;
}

const END = String.fromCharCode(TEXT_END);
const FRONTS: Readonly<Record<string, string>> = {
  '||': String.fromCharCode(LABEL_START),
  '|': String.fromCharCode(TEXT_START),
  '^': String.fromCharCode(TEXT_START),
};

const SLASH = 0x2f;

/** 1 for each byte that ends the name of an anchored rule. */
const SEPARATORS = new Uint8Array(256);
for (const sign of '^|/$*:#') SEPARATORS[sign.charCodeAt(0)] = 1;

/** 1 for each byte that a plain line does not have. A colon is one of an address. */
const PLAIN_ENDS = new Uint8Array(256);
for (const sign of '^|/$*') PLAIN_ENDS[sign.charCodeAt(0)] = 1;
