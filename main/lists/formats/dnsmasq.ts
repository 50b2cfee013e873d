/**
 * Lists in the form of dnsmasq settings: `address=/ads.example/#`, `server=/ads.example/`,
 * `local=/ads.example/`, each with one name or several. dnsmasq(8).
 *
 *   no address, `#`                 blocks the names and everything below them
 *   0.0.0.0, ::, 127.x.x.x, ::1     the same: addresses that lead nowhere
 *   another address                 answers with it (for the other address family: no data)
 *   server=/name/#                  asks the usual servers: allows the names and everything below
 *   server=/name/address            sends names elsewhere: not a rule
 *
 * `.name` is `name`, `*.name` is what is below it, `*name` is every name that ends so. The closest
 * name of a list decides. Two lines that give a name an IPv4 and an IPv6 address are joined.
 */
import { FLAG_BELOW, FLAG_CLOSEST } from '../../engine/filter/domain-table.ts';
import { TEXT_END } from '../../engine/filter/wildcard.ts';
import type { Terms } from './rule-sink.ts';
import { addressType, isSinkhole, recordRewrite } from './dns-rewrite.ts';
import { parseDomainLine } from './domains.ts';
import { groupsOf } from './groups.ts';
import type { Line } from './line.ts';
import { LINE_RESULT, type Verdict } from './line-result.ts';

const SETTING = /^(address|server|local)\s*=\s*\/(.*)\/([^/#\s]*|#)(?:\s+#.*)?$/;
const NAMES_MAX = 1_024;
const DOT = 0x2e;
const STAR = 0x2a;
const SLASH = 0x2f;
const HASH_SIGN = 0x23;

export function parseDnsmasqLine(line: Line): Verdict {
  const quick = parseQuickly(line);
  if (quick !== null) return quick;
  const text = line.text;
  if (!/^[a-z-]+\s*=/.test(text)) return parseDomainLine(line);
  const [key, names, value] = groupsOf(SETTING, text);
  if (names === '') return key === '' ? LINE_RESULT.dnsmasq : LINE_RESULT.wide;
  const isUsual = key === 'server' && value === '#';
  if (key !== 'address' && value !== '' && !isUsual) return LINE_RESULT.upstream;
  return takeNames(line, names.split('/'), value, isUsual);
}

/** The form that nearly all lines have, with one name, without making strings. */
function parseQuickly(line: Line): Verdict | null {
  const head = HEADS.find((one) => line.has(one, line.start))?.length;
  if (head === undefined) return null;
  const start = line.start + head;
  const first = line.bytes[start];
  if (first === DOT || first === STAR) return null;
  const end = line.find(SLASH, start);
  const rest = line.end - end - 1;
  const isHash = rest === 1 && line.bytes[end + 1] === HASH_SIGN && line.bytes[line.start] === 0x61;
  if (rest !== 0 && !isHash) return null;
  return line.take(start, end, line.flagsOf(false) | FLAG_CLOSEST);
}

const HEADS = ['address=/', 'server=/', 'local=/'];

/** The verdict is that of the first name when none can be taken. */
function takeNames(line: Line, names: readonly string[], value: string, isAllow: boolean): Verdict {
  if (names.length > NAMES_MAX) return LINE_RESULT.lineLength;
  const isBlock = value === '' || value === '#' || isSinkhole(value);
  const rewrite = isBlock ? null : recordRewrite(addressType(value), value);
  if (!isBlock && rewrite === null) return LINE_RESULT.record;
  const terms = rewrite === null ? null : { rewrite };
  const flags = line.flagsOf(isAllow);
  const verdicts = names.map((name) => takeName(line, name, flags, terms));
  return verdicts.includes(LINE_RESULT.rule)
    ? LINE_RESULT.rule
    : (verdicts[0] ?? LINE_RESULT.dnsmasq);
}

function takeName(line: Line, written: string, flags: number, terms: Terms): Verdict {
  const name = written.replace(/^\.+/, '');
  if (name === '' || name === '#' || name === '*') return LINE_RESULT.wide;
  if (name.startsWith('*.')) {
    return line.takeText(name.slice(2), flags | FLAG_BELOW | FLAG_CLOSEST, terms);
  }
  if (!name.startsWith('*')) return line.takeText(name, flags | FLAG_CLOSEST, terms);
  if (!/^\*[a-z0-9._-]+$/i.test(name)) return LINE_RESULT.pattern;
  const end = name.slice(1).toLowerCase() + String.fromCharCode(TEXT_END);
  return line.takeWildcard(end, flags, terms);
}
