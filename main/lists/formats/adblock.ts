/**
 * Lists in adblock syntax, as far as it means whole names: `||ads.example^` blocks the name and
 * everything below it, `@@||good.example^` allows it; `||ads.example` without the caret and
 * `||*.ads.example^` are read alike. Plain names and hosts lines are taken as AdGuard does.
 *
 * Everything that speaks of parts of pages, of paths, or under conditions (cosmetic rules, URLs,
 * regular expressions, `$modifiers`, patterns) is ignored with its reason. It is never cut down to
 * a name: that would block more than the author wrote.
 */
import { isCosmeticAt, parseName } from './domains.ts';
import { parseHostsLine } from './hosts.ts';
import type { Line } from './line.ts';
import { VERDICT, type Verdict } from './verdict.ts';

const HASH_SIGN = 0x23;
const DOLLAR = 0x24;
const STAR = 0x2a;
const SLASH = 0x2f;
const COLON = 0x3a;
const CARET = 0x5e;
const PIPE = 0x7c;

export function parseAdblockLine(line: Line): Verdict {
  const isAllow = line.has('@@', line.start);
  const start = isAllow ? line.start + 2 : line.start;
  if (line.has('||', start)) return parseAnchored(line, start + 2, isAllow);
  const verdict = notAName(line, start);
  if (verdict !== null) return verdict;
  return isAllow ? parseName(line, start, true) : parseHostsLine(line);
}

/** The part behind `||`: a name that ends the line, or ends in `^`, `|` or `^|`. */
function parseAnchored(line: Line, start: number, isAllow: boolean): Verdict {
  const nameStart = line.has('*.', start) ? start + 2 : start;
  let end = nameStart;
  while (end < line.end && SEPARATORS[line.bytes[end] as number] === 0) end++;
  if (!isWholeRule(line, end)) {
    if (line.bytes[end] === COLON) return VERDICT.path;
    return notAName(line, start) ?? VERDICT.characters;
  }
  return line.take(nameStart, end, isAllow);
}

function isWholeRule(line: Line, end: number): boolean {
  const rest = line.end - end;
  if (rest === 0) return true;
  const isCaret = line.bytes[end] === CARET;
  if (rest === 1) return isCaret || line.bytes[end] === PIPE;
  return rest === 2 && isCaret && line.bytes[end + 1] === PIPE;
}

/** Names the syntax of a rule that is more than a name; null when nothing speaks against one. */
function notAName(line: Line, start: number): Verdict | null {
  const comment = line.find(HASH_SIGN, start);
  if (isCosmetic(line, start, comment)) return VERDICT.cosmetic;
  if (line.bytes[start] === SLASH && isRegex(line, start)) return VERDICT.regex;
  for (const [sign, verdict] of SIGNS) {
    const at = line.find(sign, start);
    const isWildcard = sign === STAR && at === start && line.has('*.', at);
    if (at < comment && !isWildcard) return verdict;
  }
  return null;
}

/** `x##...` and its kin, and `x$$...`, which filters the source of pages. */
function isCosmetic(line: Line, start: number, hash: number): boolean {
  if (hash < line.end && (hash === start || isCosmeticAt(line, hash))) return true;
  return line.has('$$', line.find(DOLLAR, start));
}

/** What the first of these signs in a rule says about it. */
const SIGNS: readonly (readonly [sign: number, verdict: Verdict])[] = [
  [DOLLAR, VERDICT.modifier],
  [SLASH, VERDICT.path],
  [CARET, VERDICT.pattern],
  [PIPE, VERDICT.pattern],
  [STAR, VERDICT.pattern],
];

/** Whether a rule that begins with a slash has another one at its end or before its modifiers. */
function isRegex(line: Line, start: number): boolean {
  if (line.end - start < 2) return true;
  for (let at = line.end - 1; at > start; at--) {
    if (line.bytes[at] !== SLASH) continue;
    return at === line.end - 1 || line.bytes[at + 1] === DOLLAR;
  }
  return false;
}

/** 1 for each byte that ends the name of an anchored rule. */
const SEPARATORS = new Uint8Array(256);
for (const sign of [CARET, PIPE, SLASH, DOLLAR, STAR, COLON, HASH_SIGN]) SEPARATORS[sign] = 1;
