/**
 * Tells the dialect of a list from its first lines. Used by parse-list.ts when the settings say
 * `format: auto`. A new dialect needs a line parser, a name in FORMATS and a vote here.
 */
import { parseAdblockLine } from './adblock.ts';
import { parseDnsmasqLine } from './dnsmasq.ts';
import { foreign, isCosmeticAt, parseDomainLine, parseWildcardLine } from './domains.ts';
import { isAddress } from './host-name.ts';
import { parseHostsLine } from './hosts.ts';
import type { Line, LineParser } from './line.ts';
import { parseRegexLine } from './regex.ts';
import { parseRpzLine } from './rpz.ts';
import { TTL_PATTERN } from './ttl.ts';
import { learnUnboundZone, parseUnboundLine } from './unbound.ts';
import { LINE_RESULT } from './line-result.ts';

/** Line parser of each dialect. */
export const FORMATS = {
  adblock: parseAdblockLine,
  hosts: parseHostsLine,
  wildcard: parseWildcardLine,
  domains: parseDomainLine,
  dnsmasq: parseDnsmasqLine,
  unbound: parseUnboundLine,
  rpz: parseRpzLine,
  regex: parseRegexLine,
} as const satisfies Record<string, LineParser>;
export type ListFormat = keyof typeof FORMATS;

/** Dialects in which a line may depend on one behind it: what a walk before the rules looks at. */
export const LEARNERS: Readonly<Partial<Record<ListFormat, (line: Line) => void>>> = {
  unbound: learnUnboundZone,
};

/** Lines that vote. */
export const DETECT_LINES = 1_000;
/** Longest line that is looked at by an expression. */
const VOTE_BYTES_MAX = 512;

/** What one line that is not a comment looks like; null when it could be anything. */
export function formatOfLine(line: Line): ListFormat | null {
  const other = foreign(line);
  if (other !== null) return other === LINE_RESULT.dnsmasq ? 'dnsmasq' : 'unbound';
  return ofItsText(line) ?? (isAdblock(line) ? 'adblock' : ofItsWords(line));
}

function ofItsWords(line: Line): ListFormat | null {
  const wordEnd = line.findBlank(line.start);
  const isAlone = wordEnd === line.end;
  if (isAddress(line.bytes, line.start, wordEnd)) return isAlone ? null : 'hosts';
  if (!isAlone && line.find(0x23, wordEnd) === line.end) return null;
  if (line.find(0x2a, line.start) < wordEnd) return 'wildcard';
  return line.has('.', line.start) ? 'wildcard' : 'domains';
}

/** Zone files by their records and directives, expressions by signs that names do not have. */
function ofItsText(line: Line): ListFormat | null {
  if (line.end - line.start > VOTE_BYTES_MAX) return null;
  const first = line.byteAt(0);
  if (ADBLOCK_FIRST.has(first)) return null;
  const text = line.text;
  if (ZONE_LINE.test(text)) return 'rpz';
  return EXPRESSION.test(text) && !text.includes('##') ? 'regex' : null;
}

const ZONE_LINE = new RegExp(
  `^\\$(?:TTL|ORIGIN)\\s|^(?:\\S+\\s+)?(?:${TTL_PATTERN}\\s+)?(?:IN\\s+)?(?:${TTL_PATTERN}\\s+)?` +
    '(?:CNAME|SOA|NS|A\\s+[\\d.]+$|AAAA\\s+[\\da-f:.]+$|TXT\\s+")',
  'i',
);
const EXPRESSION = /^[\^(]|\\[.wd]|[)\]][*+?{]|;(?:querytype|reply|invert)\b|\.[*+]|[^^$]\$$/;

/** Whether a line begins with `|`, `@` or `/`, or has a caret or a cosmetic separator. */
function isAdblock(line: Line): boolean {
  if (ADBLOCK_FIRST.has(line.byteAt(0))) return true;
  const hash = line.find(0x23, line.start);
  if (hash < line.end && isCosmeticAt(line, hash)) return true;
  return line.find(0x5e, line.start) < hash;
}

const ADBLOCK_FIRST = new Set([0x7c, 0x40, 0x2f]);

/** The dialect with most votes; on a tie the one named first in FORMATS; 'domains' without votes. */
export function mostVoted(votes: ReadonlyMap<ListFormat, number>): ListFormat {
  let best: ListFormat | null = null;
  for (const format of Object.keys(FORMATS) as ListFormat[]) {
    const count = votes.get(format) ?? 0;
    if (count > (best ? (votes.get(best) ?? 0) : 0)) best = format;
  }
  return best ?? 'domains';
}
