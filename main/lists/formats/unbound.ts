/**
 * Lists in the form of unbound settings: `local-zone: "ads.example" always_null` and
 * `local-data: "ads.example A 192.0.2.1"`. unbound.conf(5).
 *
 *   static, always_null, always_nxdomain   block the name and everything below it
 *   refuse, always_refuse                  answer REFUSED        always_nodata   answer no data
 *   deny, always_deny, inform_deny         give no answer        block_a         no data for A alone
 *   redirect, inform_redirect              block; their local-data answers for all names below
 *   transparent, typetransparent, inform,
 *   always_transparent                     allow the name and everything below it
 *   other types                            not a rule
 *
 * The closest zone of a list decides. local-data answers for its very name, or in a redirect zone
 * for all below; zones of an always_ type (but always_null) and block_a have none. Data with an address that leads
 * nowhere (0.0.0.0, 127.x.x.x, ::, ::1) blocks. As in unbound, the order of lines does not matter:
 * the zones are read in a walk of their own before the rules are made.
 */
import { FLAG_CLOSEST, FLAG_EXACT } from '../../engine/filter/domain-table.ts';
import type { RewriteText, RuleTermsText } from '../../engine/filter/rule-terms.ts';
import { TYPE } from '../../dns/wire.ts';
import { cnameRewrite, isSinkhole, recordRewrite } from './dns-rewrite.ts';
import { groupsOf } from './groups.ts';
import type { Line } from './line.ts';
import { recordType } from './record-data.ts';
import { readTtl, TTL_PATTERN } from './ttl.ts';
import { LINE_RESULT, type Verdict } from './line-result.ts';

/** What the zone types say; null: block, as the settings say. */
const ZONE_TERMS: Readonly<Record<string, RuleTermsText | null>> = {
  static: null,
  redirect: null,
  inform_redirect: null,
  always_null: null,
  always_nxdomain: null,
  always_nodata: { rewrite: { rcode: 0 } },
  block_a: { types: [TYPE.a], rewrite: { rcode: 0 } },
  refuse: { rewrite: { rcode: 5 } },
  always_refuse: { rewrite: { rcode: 5 } },
  deny: { rewrite: { drop: true } },
  always_deny: { rewrite: { drop: true } },
  inform_deny: { rewrite: { drop: true } },
};
const OPEN_ZONES = new Set(['transparent', 'typetransparent', 'inform', 'always_transparent']);
/** unbound looks at the data of an always_null zone all the same. */
const HIDE_DATA = /^(?:always_(?!null$)|block_a$)/;
const REDIRECTS = new Set(['redirect', 'inform_redirect']);
/** Zones that are remembered for the local-data in them. */
const ZONES_MAX = 65_536;
/** Of a record that names none. */
const TTL_SECONDS = 3_600;
const QUOTE = 0x22;

export function parseUnboundLine(line: Line): Verdict {
  const quick = parseQuickly(line);
  if (quick !== null) return quick;
  const text = line.text;
  if (/^server:\s*(?:#.*)?$/.test(text)) return LINE_RESULT.comment;
  const [key, rest] = groupsOf(/^(local-zone|local-data):\s*(.*)$/, text);
  if (key === 'local-zone') return parseZone(line, rest);
  return key === 'local-data' ? parseData(line, rest) : LINE_RESULT.unbound;
}

/** Remembers the type of a zone, for the data that may stand anywhere in the list. */
export function learnUnboundZone(line: Line): void {
  const { zones } = line.state;
  if (zones.size >= ZONES_MAX || !line.has('local-zone:', line.start)) return;
  const [name, type] = readZone(line.text.slice('local-zone:'.length).trim());
  if (name !== '') zones.set(bareName(name), type);
}

/** The form that nearly all lines have, without making strings. */
function parseQuickly(line: Line): Verdict | null {
  if (!line.has('local-zone: "', line.start)) return null;
  const start = line.start + 13;
  const end = line.find(QUOTE, start);
  const rest = line.end - end;
  const isNull = rest === 13 && line.has('" always_null', end);
  const isAbsent = rest === 17 && line.has('" always_nxdomain', end);
  return isNull || isAbsent ? line.take(start, end, line.flagsOf(false) | FLAG_CLOSEST) : null;
}

const ZONE = /^"?([^"\s]+)"?\s+"?(\w+)"?\s*(?:#.*)?$/;

function readZone(rest: string): readonly [name: string, type: string] {
  const [name, type] = groupsOf(ZONE, rest.replaceAll("'", '"'));
  return [name, type];
}

function parseZone(line: Line, rest: string): Verdict {
  const [name, type] = readZone(rest);
  const isOpen = OPEN_ZONES.has(type);
  if (!isOpen && !Object.hasOwn(ZONE_TERMS, type)) return LINE_RESULT.unbound;
  return line.takeText(name, line.flagsOf(isOpen) | FLAG_CLOSEST, ZONE_TERMS[type] ?? null);
}

const DATA = /^(["'])(\S+)\s+(.*)\1\s*(?:#.*)?$/;
const RECORD = new RegExp(`^(?:(${TTL_PATTERN})\\s+)?(?:IN\\s+)?([A-Za-z]+)\\s+(.*)$`, 'i');

function parseData(line: Line, rest: string): Verdict {
  const [, name, record] = groupsOf(DATA, rest);
  const [ttl, typeText, value] = groupsOf(RECORD, record);
  if (name === '' || typeText === '') return LINE_RESULT.unbound;
  const zoneType = zoneTypeOf(line, name);
  if (zoneType === null) return LINE_RESULT.hidden;
  const exact = REDIRECTS.has(zoneType) ? 0 : FLAG_EXACT;
  const flags = line.flagsOf(false) | FLAG_CLOSEST | exact;
  const type = typeText.toUpperCase();
  if ((type === 'A' || type === 'AAAA') && isSinkhole(value)) {
    return line.takeText(name, flags, null);
  }
  const rewrite = answerOf(type, value, ttl);
  if (rewrite === null) return LINE_RESULT.record;
  const types = zoneType === 'typetransparent' ? { types: [recordType(type)] } : {};
  return line.takeText(name, flags, { ...types, rewrite });
}

function answerOf(type: string, value: string, ttl: string): RewriteText | null {
  if (type === 'CNAME') return cnameRewrite(value);
  const seconds = ttl === '' ? TTL_SECONDS : readTtl(ttl);
  return seconds === null ? null : recordRewrite(recordType(type), value, seconds);
}

/** Type of the closest zone of data; '' without a zone, null when that zone can have no such data. */
function zoneTypeOf({ state: { zones } }: Line, name: string): string | null {
  const own = bareName(name);
  let zone = own;
  while (zone !== '' && !zones.has(zone)) zone = zone.slice(zone.indexOf('.') + 1 || zone.length);
  const type = zones.get(zone) ?? '';
  // unbound does not start with data below the name of a redirect zone.
  const isMisplaced = REDIRECTS.has(type) && zone !== own;
  return HIDE_DATA.test(type) || isMisplaced ? null : type;
}

function bareName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}
