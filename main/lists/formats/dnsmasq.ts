/**
 * Lists in the form of dnsmasq settings: `address=/ads.example/#`, `server=/ads.example/`,
 * `local=/ads.example/`, each with one name or several. dnsmasq(8).
 *
 *   no address, `#`, 0.0.0.0, ::    blocks the names and everything below them
 *   another address                 answers with it (for the other address family: no data)
 *   server=/name/#                  asks the usual servers: allows the names and everything below
 *   server=/name/address            sends names elsewhere: not a rule
 *
 * Two lines that give a name an IPv4 and an IPv6 address are joined.
 */
import type { Terms } from '../rule-sink.ts';
import { addressType, NULL_ADDRESSES, recordRewrite } from './dns-rewrite.ts';
import { parseDomainLine } from './domains.ts';
import { groupsOf } from './groups.ts';
import type { Line } from './line.ts';
import { VERDICT, type Verdict } from './verdict.ts';

const SETTING = /^(address|server|local)=\/(.*)\/([^/#\s]*|#)(?:\s+#.*)?$/;
const NULL_VALUES = new Set(['', '#', ...NULL_ADDRESSES]);
const NAMES_MAX = 1_024;
const SLASH = 0x2f;
const HASH_SIGN = 0x23;

export function parseDnsmasqLine(line: Line): Verdict {
  const quick = parseQuickly(line);
  if (quick !== null) return quick;
  const text = line.text;
  if (!/^[a-z-]+=/.test(text)) return parseDomainLine(line);
  const [key, names, value] = groupsOf(SETTING, text);
  if (names === '') return key === '' ? VERDICT.dnsmasq : VERDICT.wide;
  const isUsual = key === 'server' && value === '#';
  if (key !== 'address' && value !== '' && !isUsual) return VERDICT.upstream;
  return takeNames(line, names.split('/'), value, isUsual);
}

/** The form that nearly all lines have, with one name, without making strings. */
function parseQuickly(line: Line): Verdict | null {
  const start = HEADS.find((head) => line.has(head, line.start))?.length;
  if (start === undefined) return null;
  const end = line.find(SLASH, line.start + start);
  const rest = line.end - end - 1;
  const isHash = rest === 1 && line.bytes[end + 1] === HASH_SIGN && line.bytes[line.start] === 0x61;
  return rest === 0 || isHash ? line.take(line.start + start, end, line.flagsOf(false)) : null;
}

const HEADS = ['address=/', 'server=/', 'local=/'];

/** The verdict is that of the first name when none can be taken. */
function takeNames(line: Line, names: readonly string[], value: string, isAllow: boolean): Verdict {
  if (names.length > NAMES_MAX) return VERDICT.lineLength;
  const isNull = NULL_VALUES.has(value);
  const rewrite = isNull ? null : recordRewrite(addressType(value), value);
  if (!isNull && rewrite === null) return VERDICT.record;
  const terms = rewrite === null ? null : { rewrite };
  const verdicts = names.map((name) => takeName(line, name, line.flagsOf(isAllow), terms));
  return verdicts.includes(VERDICT.rule) ? VERDICT.rule : (verdicts[0] ?? VERDICT.dnsmasq);
}

function takeName(line: Line, name: string, flags: number, terms: Terms): Verdict {
  const bare = name === '#' ? '' : name.replace(/^\*?\./, '');
  return bare === '' ? VERDICT.wide : line.takeText(bare, flags, terms);
}
