/**
 * Lists in the form of /etc/hosts: an address, then one name or many, then perhaps a `#` comment.
 *
 * The address is not used: whatever it is, each name is blocked with everything below it, or alone
 * with `match: exact`. Names of
 * the machine itself (localhost, broadcasthost, ip6-...) and addresses in place of names are left
 * out. A line without address is read as a plain name. hosts(5).
 */
import { isCosmeticAt, parseDomainLine } from './domains.ts';
import { isAddress } from './host-name.ts';
import { isBlank, type Line } from './line.ts';
import { LINE_RESULT, type Verdict } from './line-result.ts';

const HASH_SIGN = 0x23;

/** The verdict is that of the first name when the line has none that a list may block. */
export function parseHostsLine(line: Line): Verdict {
  const addressEnd = line.findBlank(line.start);
  if (!isAddress(line.bytes, line.start, addressEnd)) return parseDomainLine(line);
  const end = line.find(HASH_SIGN, addressEnd);
  if (end < line.end && isCosmeticAt(line, end)) return LINE_RESULT.cosmetic;
  let result: Verdict | null = null;
  let at = skipBlanks(line, addressEnd, end);
  while (at < end) {
    const wordEnd = Math.min(line.findBlank(at), end);
    const verdict = line.take(at, wordEnd, line.plainFlags);
    if (verdict === LINE_RESULT.rule) result = verdict;
    else result ??= verdict;
    at = skipBlanks(line, wordEnd, end);
  }
  return result ?? LINE_RESULT.address;
}

function skipBlanks(line: Line, from: number, end: number): number {
  let at = from;
  while (at < end && isBlank(line.bytes[at] as number)) at++;
  return at;
}
