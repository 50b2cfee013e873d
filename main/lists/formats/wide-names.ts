/**
 * Names and patterns that no list may use: too much hangs below them, or they are the machine
 * itself. A list with `allowWide` may use the former.
 *
 * Too wide are top-level domains, public suffixes (public-suffix.ts), names of hosting companies
 * whose every customer would vanish, and patterns that match a quarter of the well-known names or
 * any name under some top-level domain. It is a guard against slips.
 */
import { hashName, writeName } from '../../dns/name.ts';
import { matchesWildcard, TEXT_END, TEXT_START } from '../../engine/filter/wildcard.ts';
import { isRare, rateStrings, wildcardStrings } from './grams.ts';
import { isPublicSuffix } from './public-suffix.ts';
import { requiredStrings } from './regex-literals.ts';
import { MADE_UP_PAIRS, WELL_KNOWN_NAMES } from './well-known-names.ts';
import type { HostName } from './host-name.ts';
import { LINE_RESULT, type Verdict } from './line-result.ts';

/** Share of the well-known names above which a pattern is too wide. */
const SHARE_MAX = 0.25;
/** No public suffix has more labels. */
const SUFFIX_LABELS_MAX = 6;

/** Beside the public suffixes. */
const HOSTING_NAMES =
  'amazonaws.com gstatic.com googleusercontent.com akamai.net edgekey.net edgesuite.net ' +
  'fastly.net cloudapp.net windows.net wordpress.com cloudflare.net';

/** Single labels that hosts files give the machine itself; told apart for the reason only. */
const LOCAL_LABELS = new Set(['localhost', 'local', 'broadcasthost', 'localhost4', 'localhost6']);
const LOCAL_NAMES = ['localhost.localdomain', 'localhost4.localdomain4', 'localhost6.localdomain6'];

interface GuardedName {
  readonly bytes: Uint8Array;
  readonly verdict: Verdict;
}
const GUARDED_NAMES: ReadonlyMap<number, GuardedName> = new Map([
  ...HOSTING_NAMES.split(' ').map((name) => guarded(name, LINE_RESULT.wide)),
  ...LOCAL_NAMES.map((name) => guarded(name, LINE_RESULT.local)),
]);

/** Why a list may not block a name; null when it may. */
export function guardOfName(name: HostName, allowWide: boolean): Verdict | null {
  const { labelCount } = name;
  if (labelCount < 2) {
    const verdict = guardOfLabel(name.text);
    return allowWide && verdict === LINE_RESULT.wide ? null : verdict;
  }
  const found = labelCount === 2 ? guardOfPair(name.bytes, name.length, name.hash) : null;
  if (found === LINE_RESULT.local) return found;
  if (allowWide) return null;
  if (found !== null) return found;
  return labelCount <= SUFFIX_LABELS_MAX && isPublicSuffix(name.text) ? LINE_RESULT.wide : null;
}

/** As `guardOfName`, for the rules of a person: only a top-level domain asks for a second look. */
export function guardOfOwnName(name: HostName, allowWide: boolean): Verdict | null {
  return name.labelCount < 2 && !allowWide ? LINE_RESULT.wide : null;
}

/** Whether a wildcard, as engine/filter/wildcard.ts has it, is too wide. */
export function isWideWildcard(pattern: string): boolean {
  if (isRare(wildcardStrings(pattern))) return false;
  const bytes = Buffer.from(pattern, 'latin1');
  return isWide((name) => {
    const text = Buffer.from(TEXT_MARKS[0] + name + TEXT_MARKS[1], 'latin1');
    return matchesWildcard(bytes, 0, bytes.length, text, text.length);
  });
}

/** Whether an expression for which `matches` answers is too wide. */
export function isWideRegex(
  source: string,
  isInverted: boolean,
  matches: (name: string) => boolean,
): boolean {
  if (!isInverted && isRare(requiredStrings(source, rateStrings))) return false;
  return isWide(matches);
}

function isWide(matches: (name: string) => boolean): boolean {
  if (MADE_UP_PAIRS.some(([one, other]) => matches(one) && matches(other))) return true;
  let count = 0;
  for (const name of WELL_KNOWN_NAMES) if (matches(name)) count++;
  return count > WELL_KNOWN_NAMES.length * SHARE_MAX;
}

const TEXT_MARKS = [String.fromCharCode(TEXT_START), String.fromCharCode(TEXT_END)] as const;

/**
 * Why a list may not block a name of two labels, given as wire labels bytes[0, length) with their
 * hash; null when it may.
 */
function guardOfPair(bytes: Uint8Array, length: number, hash: number): Verdict | null {
  const found = GUARDED_NAMES.get(hash);
  if (found?.bytes.length !== length) return null;
  return found.bytes.every((byte, at) => byte === bytes[at]) ? found.verdict : null;
}

/** Why a list may not block a single label, in lower case. */
function guardOfLabel(label: string): Verdict {
  return LOCAL_LABELS.has(label) || label.startsWith('ip6-') ? LINE_RESULT.local : LINE_RESULT.wide;
}

function guarded(name: string, verdict: Verdict): [number, GuardedName] {
  const bytes = new Uint8Array(256);
  const length = writeName(name, bytes, 0);
  return [hashName(bytes, 0, length), { bytes: bytes.slice(0, length), verdict }];
}
