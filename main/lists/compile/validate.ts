/**
 * Decides whether what a URL served is a list worth taking. Runs in the compile thread on each new
 * copy before it replaces the one in use; pure.
 *
 * Source of the checks: lists that answered with a login page, an empty body or half a file have
 * emptied many a filter (pi-hole/pi-hole#5168, AdguardTeam/AdGuardHome#5258).
 */
import { LIMITS } from '../../contract/limits.ts';
import { LINE_RESULT, isKnownSyntax } from '../formats/line-result.ts';
import { parseList, type ListOptions, type ListReport } from './parse-list.ts';
import { NO_SINK } from '../formats/rule-sink.ts';

/** Bytes looked at for HTML and binary data. */
export const SNIFF_BYTES = 65_536;
/** Share of control bytes above which bytes are not text. */
const CONTROL_SHARE_MAX = 0.01;
/** Share of lines that must be rules. */
const PARSE_RATE_MIN = 0.5;
/** Share of the last accepted names that must still be there. */
const COLLAPSE_SHARE_MIN = 0.5;
/** Below so many names before, shrinking says nothing. */
const COLLAPSE_NAMES_MIN = 10;

/**
 * Why a text is no list at all, before any parsing; null when it may be one.
 *
 * @param bytes  the first SNIFF_BYTES of it, or all
 * @param size   bytes of all of it
 */
export function refuseBytes(bytes: Uint8Array, size: number): string | null {
  if (size === 0) return 'it is empty';
  if (size > LIMITS.listBytesMax) return `it is larger than ${inMiB(LIMITS.listBytesMax)}`;
  if (isUtf16(bytes)) return 'it is UTF-16 text; a list must be UTF-8';
  const head = Buffer.from(bytes.slice(0, SNIFF_BYTES));
  if (/^[\s\ufeff]*<(!doctype|html|head|body|\?xml|script|!--)/i.test(head.toString('utf8'))) {
    return 'it is an HTML or XML page, not a list';
  }
  return isBinary(head) ? 'it is binary data, not text' : null;
}

/** By its byte order mark; without one its many zero bytes make it binary data. */
function isUtf16(bytes: Uint8Array): boolean {
  const mark = ((bytes[0] ?? 0) << 8) | (bytes[1] ?? 0);
  return mark === 0xfffe || mark === 0xfeff;
}

function isBinary(head: Uint8Array): boolean {
  let controls = 0;
  for (const byte of head) {
    if (byte < 0x09 || (byte > 0x0d && byte < 0x20 && byte !== 0x1b)) controls++;
  }
  return controls > head.length * CONTROL_SHARE_MAX;
}

/**
 * Why a parsed list is not taken; null when it is.
 *
 * @param namesBefore  `names` of the last accepted copy from the same URL; 0 for none
 */
export function refuseReport(report: ListReport, namesBefore: number): string | null {
  if (report.rules === 0 && report.ignored.length === 0) return 'it has no rules, only comments';
  const { rules, judged } = parseRate(report);
  const names = report.names + noRoomFor(report);
  if (report.rules + noRoomFor(report) === 0 || rules < judged * PARSE_RATE_MIN) {
    const main = report.ignored[0];
    const why = main ? `; most others: ${main.reason}, e.g. "${main.examples[0] ?? ''}"` : '';
    return `only ${String(report.rules)} of ${String(judged)} lines are rules${why}`;
  }
  if (namesBefore >= COLLAPSE_NAMES_MIN && names < namesBefore * COLLAPSE_SHARE_MIN) {
    return `it fell from ${String(namesBefore)} to ${String(names)} names`;
  }
  return null;
}

/** Both checks on a text that is not to be compiled. */
export function refuseList(
  bytes: Uint8Array,
  options: ListOptions,
  namesBefore: number,
): string | null {
  const reason = refuseBytes(bytes, bytes.length);
  return reason ?? refuseReport(parseList(bytes, options, NO_SINK), namesBefore);
}

/**
 * Lines that count as understood, and lines that count. Names of the machine itself, which every
 * hosts file begins with, speak neither for nor against a list. In adblock syntax the rules that
 * only a browser can apply are understood, too: such lists are often subscribed to for the rest.
 */
function parseRate(report: ListReport): { rules: number; judged: number } {
  const judged = report.lines - report.comments - (report.verdicts[LINE_RESULT.local] ?? 0);
  if (report.format !== 'adblock') return { rules: report.rules + noRoomFor(report), judged };
  const known = report.verdicts.reduce((sum, n, verdict) => sum + (isKnownSyntax(verdict) ? n : 0));
  return { rules: report.rules + known, judged };
}

/** Lines that are rules, for which the table had no room: that depends on the other lists, too. */
function noRoomFor({ verdicts }: ListReport): number {
  const { patternCost, patternsFull, rulesFull } = LINE_RESULT;
  return [patternCost, patternsFull, rulesFull].reduce((sum, at) => sum + (verdicts[at] ?? 0), 0);
}

/** A bound for people, e.g. "64 MiB". */
export function inMiB(bytes: number): string {
  return `${String(Math.round(bytes / 1024 / 1024))} MiB`;
}
