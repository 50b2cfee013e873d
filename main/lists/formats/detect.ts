/**
 * Tells the dialect of a list from its first lines. Used by parse-list.ts when the settings say
 * `format: auto`. A new dialect needs a line parser, a name in FORMATS and a vote here.
 */
import { parseAdblockLine } from './adblock.ts';
import { foreign, isCosmeticAt, parseDomainLine } from './domains.ts';
import { isAddress } from './host-name.ts';
import { parseHostsLine } from './hosts.ts';
import type { Line, LineParser } from './line.ts';
import { VERDICT } from './verdict.ts';

/**
 * Line parser of each dialect. The last two are told apart but not read: their lines are ignored
 * with a reason that names them.
 */
export const FORMATS = {
  adblock: parseAdblockLine,
  hosts: parseHostsLine,
  wildcard: parseDomainLine,
  domains: parseDomainLine,
  dnsmasq: parseDomainLine,
  unbound: parseDomainLine,
} as const satisfies Record<string, LineParser>;
export type ListFormat = keyof typeof FORMATS;

/** Lines that vote. */
export const DETECT_LINES = 1_000;

/** What one line that is not a comment looks like; null when it could be anything. */
export function formatOfLine(line: Line): ListFormat | null {
  const other = foreign(line);
  if (other !== null) return other === VERDICT.dnsmasq ? 'dnsmasq' : 'unbound';
  if (isAdblock(line)) return 'adblock';
  const wordEnd = line.findBlank(line.start);
  const isAlone = wordEnd === line.end;
  if (isAddress(line.bytes, line.start, wordEnd)) return isAlone ? null : 'hosts';
  if (!isAlone && line.find(0x23, wordEnd) === line.end) return null;
  return line.has('*.', line.start) || line.has('.', line.start) ? 'wildcard' : 'domains';
}

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
