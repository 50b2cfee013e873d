/**
 * Lists in the form of unbound settings: `local-zone: "ads.example" always_null` and
 * `local-data: "ads.example A 192.0.2.1"`. unbound.conf(5).
 *
 *   static, always_null, always_nxdomain   block the name and everything below it
 *   refuse, always_refuse                  answer REFUSED        always_nodata   answer no data
 *   deny, always_deny                      give no answer
 *   redirect                               blocks; its local-data answers for all names below
 *   transparent, always_transparent        allow the name and everything below it
 *   other types                            not a rule
 *
 * In unbound the closest zone decides; here an exception holds whatever zone is below it, but for
 * the local-data of a transparent zone, which stands after it.
 *
 * local-data answers for its very name, or with a redirect zone before it for all below. One with
 * 0.0.0.0 or :: blocks.
 */
import { FLAG_EXACT, FLAG_IMPORTANT } from '../../engine/domain-table.ts';
import type { RewriteText } from '../../engine/rule-terms.ts';
import { cnameRewrite, NULL_ADDRESSES, recordRewrite } from './dns-rewrite.ts';
import { groupsOf } from './groups.ts';
import type { Line } from './line.ts';
import { recordType } from './record-data.ts';
import { VERDICT, type Verdict } from './verdict.ts';

/** What the zone types answer; null: as the settings say. */
const ZONE_ANSWERS: Readonly<Record<string, RewriteText | null>> = {
  static: null,
  redirect: null,
  always_null: null,
  always_nxdomain: null,
  always_nodata: { rcode: 0 },
  refuse: { rcode: 5 },
  always_refuse: { rcode: 5 },
  deny: { drop: true },
  always_deny: { drop: true },
  inform_deny: { drop: true },
};
const OPEN_ZONES = new Set(['transparent', 'always_transparent']);
/** Zones whose local-data is read in another way, of each kind. */
const ZONES_MAX = 65_536;
/** Of a record that names none, and the longest. */
const TTL_SECONDS = 3_600;
const TTL_SECONDS_MAX = 86_400;
const QUOTE = 0x22;

export function parseUnboundLine(line: Line): Verdict {
  const quick = parseQuickly(line);
  if (quick !== null) return quick;
  const text = line.text;
  if (/^server:\s*(?:#.*)?$/.test(text)) return VERDICT.comment;
  const [key, rest] = groupsOf(/^(local-zone|local-data):\s*(.*)$/, text);
  if (key === 'local-zone') return parseZone(line, rest);
  return key === 'local-data' ? parseData(line, rest) : VERDICT.unbound;
}

/** The form that nearly all lines have, without making strings. */
function parseQuickly(line: Line): Verdict | null {
  if (!line.has('local-zone: "', line.start)) return null;
  const start = line.start + 13;
  const end = line.find(QUOTE, start);
  const rest = line.end - end;
  const isNull = rest === 13 && line.has('" always_null', end);
  const isAbsent = rest === 17 && line.has('" always_nxdomain', end);
  return isNull || isAbsent ? line.take(start, end, line.flagsOf(false)) : null;
}

const ZONE = /^"?([^"\s]+)"?\s+"?(\w+)"?\s*(?:#.*)?$/;

function parseZone(line: Line, rest: string): Verdict {
  const [name, type] = groupsOf(ZONE, rest.replaceAll("'", '"'));
  if (OPEN_ZONES.has(type)) return parseOpenZone(line, name, type);
  if (!Object.hasOwn(ZONE_ANSWERS, type)) return VERDICT.unbound;
  const rewrite = ZONE_ANSWERS[type] ?? null;
  if (type === 'redirect' && line.state.redirects.size < ZONES_MAX) {
    line.state.redirects.add(bareName(name));
  }
  return line.takeText(name, line.flagsOf(false), rewrite === null ? null : { rewrite });
}

/** unbound does not look at the local-data of an always_transparent one. */
function parseOpenZone(line: Line, name: string, type: string): Verdict {
  const { openZones } = line.state;
  if (type === 'transparent' && openZones.size < ZONES_MAX) openZones.add(bareName(name));
  return line.takeText(name, line.flagsOf(true), null);
}

const DATA = /^(["'])(\S+)\s+(.*)\1\s*(?:#.*)?$/;
const RECORD = /^(?:(\d+)\s+)?(?:IN\s+)?([A-Za-z]+)\s+(.*)$/i;

function parseData(line: Line, rest: string): Verdict {
  const [, name, record] = groupsOf(DATA, rest);
  const [ttl, typeText, value] = groupsOf(RECORD, record);
  if (name === '' || typeText === '') return VERDICT.unbound;
  const isExact = !line.state.redirects.has(bareName(name));
  const flags =
    line.flagsOf(false) |
    (isExact ? FLAG_EXACT : 0) |
    (isInside(name, line.state.openZones) ? FLAG_IMPORTANT : 0);
  if (/^(?:A|AAAA)$/i.test(typeText) && NULL_ADDRESSES.has(value)) {
    return line.takeText(name, flags, null);
  }
  const rewrite = answerOf(typeText.toUpperCase(), value, ttl);
  return rewrite === null ? VERDICT.record : line.takeText(name, flags, { rewrite });
}

function answerOf(type: string, value: string, ttl: string): RewriteText | null {
  if (type === 'CNAME') return cnameRewrite(value);
  const seconds = ttl === '' ? TTL_SECONDS : Math.min(Number(ttl), TTL_SECONDS_MAX);
  return recordRewrite(recordType(type), value, seconds);
}

function isInside(name: string, zones: ReadonlySet<string>): boolean {
  if (zones.size === 0) return false;
  let rest = bareName(name);
  for (;;) {
    if (zones.has(rest)) return true;
    const dot = rest.indexOf('.');
    if (dot < 0) return false;
    rest = rest.slice(dot + 1);
  }
}

function bareName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}
