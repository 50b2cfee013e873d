/**
 * Response policy zones, as zone files. draft-vixie-dnsop-dns-rpz §4, §5; RFC 1035 §5.
 *
 *   ads.example       CNAME .               blocks this very name
 *   *.ads.example     CNAME .               blocks what is below it
 *                     CNAME *.              answers no data
 *                     CNAME rpz-passthru.   allows (also a CNAME to the name itself)
 *                     CNAME rpz-drop.       gives no answer
 *                     CNAME other.name.     answers with another name
 *                     A, AAAA, TXT ...      answers with the record; with 0.0.0.0 or ::, blocks
 *   24.0.2.0.192.rpz-ip   CNAME .           blocks answers with addresses in 192.0.2.0/24
 *
 * SOA, NS and `$` lines are the zone's own. Triggers on clients and name servers are left out.
 */
import { FLAG_BELOW, FLAG_EXACT } from '../../engine/domain-table.ts';
import type { RewriteText } from '../../engine/rule-terms.ts';
import { cnameRewrite, NULL_ADDRESSES, recordRewrite } from './dns-rewrite.ts';
import { groupsOf } from './groups.ts';
import type { Line } from './line.ts';
import { recordType } from './record-data.ts';
import { VERDICT, type Verdict } from './verdict.ts';

const LINE_BYTES_MAX = 4_096;
const RECORD = /^(?:(\d+)\s+)?(?:IN\s+)?(?:(\d+)\s+)?([A-Za-z]+)\s+(.*)$/i;
const ZONE_TYPES = new Set(['SOA', 'NS']);

/** What a rule does: the flags of its action, and its answer. */
interface Action {
  readonly isAllow: boolean;
  readonly rewrite: RewriteText | null;
}

export function parseRpzLine(line: Line): Verdict {
  if (line.end - line.start > LINE_BYTES_MAX) return VERDICT.lineLength;
  const text = withoutComment(line.text);
  const { state } = line;
  if (state.isInside) {
    state.isInside = !text.includes(')');
    return VERDICT.comment;
  }
  if (text.startsWith('$')) return parseDirective(line, text);
  const [first, rest] = line.isIndented ? [state.owner, text] : groupsOf(OWNER, text);
  return parseRecord(line, first, rest);
}

const OWNER = /^(\S+)\s+(.*)$/;

function parseRecord(line: Line, owner: string, text: string): Verdict {
  const { state } = line;
  const [before, behind, typeText, value] = groupsOf(RECORD, text);
  if (owner === '' || typeText === '') return VERDICT.words;
  state.owner = owner;
  const type = typeText.toUpperCase();
  if (ZONE_TYPES.has(type)) return parseZoneRecord(line, owner, type, value);
  const trigger = triggerOf(owner, state.zone, state.origin);
  if (trigger === null) return VERDICT.zone;
  const ttl = before + behind === '' ? state.ttlSeconds : Number(before === '' ? behind : before);
  const action = readAction(line, trigger, type, value, ttl);
  return typeof action === 'number' ? action : takeTrigger(line, trigger, action);
}

function withoutComment(text: string): string {
  return text.replace(/\s*;(?=(?:[^"]*"[^"]*")*[^"]*$).*$/, '');
}

function parseDirective(line: Line, text: string): Verdict {
  const ttl = /^\$TTL\s+(\d{1,10})\b/i.exec(text)?.[1];
  if (ttl !== undefined) line.state.ttlSeconds = Number(ttl);
  const origin = /^\$ORIGIN\s+(\S+)/i.exec(text)?.[1];
  if (origin === undefined) return VERDICT.comment;
  line.state.origin = absolute(origin, line.state.origin);
  if (line.state.zone === '') line.state.zone = line.state.origin;
  return VERDICT.comment;
}

/** The SOA tells the name of the zone. */
function parseZoneRecord(line: Line, owner: string, type: string, value: string): Verdict {
  const { state } = line;
  if (type === 'SOA') {
    if (owner !== '@' && owner.endsWith('.')) state.zone = absolute(owner, '');
    state.isInside = value.includes('(') && !value.includes(')');
  }
  return VERDICT.comment;
}

/** A name without trailing dot and in lower case, put below the origin when it is relative. */
function absolute(name: string, origin: string): string {
  const lower = name.toLowerCase();
  if (lower.endsWith('.')) return lower.slice(0, -1);
  if (lower === '@') return origin;
  return origin === '' ? lower : `${lower}.${origin}`;
}

/** The owner without the name of the zone; null when it is the zone's own, or of no use. */
function triggerOf(owner: string, zone: string, origin: string): string | null {
  const name = absolute(owner, origin);
  if (zone === '' || origin === '') {
    return owner.endsWith('.') && zone !== '' ? below(name, zone) : name;
  }
  return below(name, zone);
}

function below(name: string, zone: string): string | null {
  return name.endsWith(`.${zone}`) ? name.slice(0, -zone.length - 1) : null;
}

function readAction(
  line: Line,
  trigger: string,
  type: string,
  value: string,
  ttl: number,
): Action | Verdict {
  if (NULL_ADDRESSES.has(value) && (type === 'A' || type === 'AAAA'))
    return { isAllow: false, rewrite: null };
  if (type !== 'CNAME') {
    const rewrite = recordRewrite(recordType(type), value, Math.min(ttl, 86_400));
    return rewrite === null ? VERDICT.record : { isAllow: false, rewrite };
  }
  const target = value.trim().toLowerCase();
  switch (target.replace(/(?<=.)\.$/, '')) {
    case '.':
      return { isAllow: false, rewrite: null };
    case '*':
      return { isAllow: false, rewrite: { rcode: 0 } };
    case 'rpz-passthru':
    case trigger:
      return { isAllow: true, rewrite: null };
    case 'rpz-drop':
      return { isAllow: false, rewrite: { drop: true } };
    default:
      return readAlias(line, target);
  }
}

function readAlias(line: Line, target: string): Action | Verdict {
  if (/^rpz-|^\*\./.test(target)) return VERDICT.action;
  const rewrite = cnameRewrite(absolute(target, line.state.origin));
  return rewrite === null ? VERDICT.record : { isAllow: false, rewrite };
}

function takeTrigger(line: Line, trigger: string, { isAllow, rewrite }: Action): Verdict {
  const flags = line.flagsOf(isAllow);
  const terms = rewrite === null ? null : { rewrite };
  const address = /^(.*)\.rpz-ip$/.exec(trigger)?.[1];
  if (address !== undefined) {
    const network = networkOf(address);
    return network === null ? VERDICT.address : line.takeNetwork(network, flags, terms);
  }
  if (/(?:^|\.)rpz-[a-z-]+$/.test(trigger)) return VERDICT.trigger;
  if (trigger === '*') return line.takeWildcard('*', flags, terms);
  return trigger.startsWith('*.')
    ? line.takeText(trigger.slice(2), flags | FLAG_BELOW, terms)
    : line.takeText(trigger, flags | FLAG_EXACT, terms);
}

/** `24.0.2.0.192` and `48.zz.2.2001.db8` as networks; null when it is none. */
function networkOf(text: string): string | null {
  const [length = '', ...parts] = text.split('.');
  if (!/^\d{1,3}$/.test(length)) return null;
  parts.reverse();
  if (parts.length === 4 && parts.every((part) => /^\d{1,3}$/.test(part))) {
    return `${parts.join('.')}/${length}`;
  }
  const words = parts.map((part) => (part === 'zz' ? '' : part)).join(':');
  const whole = words.startsWith(':') ? `:${words}` : words;
  return `${whole.endsWith(':') ? `${whole}:` : whole}/${length}`;
}
