/**
 * Response policy zones, as zone files. draft-vixie-dnsop-dns-rpz §4, §5; RFC 1035 §5; RFC 4592.
 *
 *   ads.example       CNAME .               blocks this very name
 *   *.ads.example     CNAME .               blocks what is below it
 *                     CNAME *.              answers no data
 *                     CNAME rpz-passthru.   allows (also a CNAME to the name itself)
 *                     CNAME rpz-drop.       gives no answer
 *                     CNAME rpz-tcp-only.   over UDP a truncated answer, over TCP no rule
 *                     CNAME other.name.     answers with another name
 *                     A, AAAA, TXT ...      answers with the record; with an address that leads
 *                                           nowhere (0.0.0.0, 127.x.x.x, ::, ::1), blocks
 *   24.0.2.0.192.rpz-ip   CNAME .           blocks answers with addresses in 192.0.2.0/24
 *
 * Within a zone the closest owner decides, whatever its action, and a wildcard does not reach past a
 * name that exists; of addresses the longest prefix decides. SOA, NS and `$` lines are the zone's
 * own. Triggers on clients and name servers are left out. A record may go over several lines in
 * parentheses; the last of them counts as the rule, the others as comments.
 */
import { FLAG_BELOW, FLAG_CLOSEST, FLAG_EXACT } from '../../engine/filter/domain-table.ts';
import type { RewriteText } from '../../engine/filter/rule-terms.ts';
import { ZONE_OWNER } from './rule-sink.ts';
import { cnameRewrite, isSinkhole, recordRewrite } from './dns-rewrite.ts';
import { groupsOf } from './groups.ts';
import type { Line } from './line.ts';
import { recordType } from './record-data.ts';
import { readTtl, TTL_PATTERN } from './ttl.ts';
import { LINE_RESULT, type Verdict } from './line-result.ts';

/** Of one record, all its lines together. */
const RECORD_CHARS_MAX = 4_096;
const RECORD = new RegExp(
  `^(?:(${TTL_PATTERN})\\s+)?(?:IN\\s+)?(?:(${TTL_PATTERN})\\s+)?([A-Za-z][A-Za-z0-9-]*)\\s+(.*)$`,
  'i',
);
const ZONE_TYPES = new Set(['SOA', 'NS']);

/** What a rule does: the flags of its action, and its answer. */
interface Action {
  readonly isAllow: boolean;
  readonly rewrite: RewriteText | null;
}

const BLOCK: Action = { isAllow: false, rewrite: null };

export function parseRpzLine(line: Line): Verdict {
  const { state } = line;
  if (line.end - line.start + state.begun.length > RECORD_CHARS_MAX) {
    state.begun = '';
    return LINE_RESULT.lineLength;
  }
  const [open, text] = unfold(line);
  if (open) return LINE_RESULT.comment;
  if (text.startsWith('$')) return parseDirective(line, text);
  const isIndented = /^\s/.test(text);
  const [first, rest] = isIndented ? [state.owner, text.trim()] : groupsOf(OWNER, text);
  return parseRecord(line, first, rest);
}

/** What no record goes on with: an owner, and what it has. */
const NEW_RECORD = new RegExp(
  `^\\S+\\s+(?:${TTL_PATTERN}\\s+)?(?:IN\\s+)?(?:${TTL_PATTERN}\\s+)?(?:CNAME|A|AAAA|TXT|SOA|NS)\\s+\\S`,
  'i',
);
const OWNER = /^(\S+)\s+(.*)$/;
/** Owner or blank, then TTL, class and type in any order, before a parenthesis. */
const BEGINNING = /^(?:\S+\s+|\s+)(?:\w+\s+){0,2}[A-Za-z][A-Za-z0-9-]*\s/;

/** Joins the lines of a record in parentheses, which go; a blank in front stands for no owner. */
function unfold(line: Line): readonly [isOpen: boolean, text: string] {
  const { state } = line;
  const own = withoutComment(line.text);
  // A parenthesis that nothing closes spoils its own record only.
  if (!line.isIndented && NEW_RECORD.test(own)) state.begun = '';
  const text = state.begun === '' ? (line.isIndented ? ` ${own}` : own) : `${state.begun} ${own}`;
  state.begun = '';
  if (!/[()]/.test(text)) return [false, text];
  const bare = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '');
  // Anything else with a parenthesis must not swallow the records behind it.
  const isRecord = BEGINNING.test(bare.slice(0, bare.indexOf('(')));
  if (isRecord && bare.split('(').length > bare.split(')').length) {
    state.begun = text;
    return [true, ''];
  }
  return [false, text.replaceAll(/("(?:[^"\\]|\\.)*")|[()]/g, '$1')];
}

function parseRecord(line: Line, owner: string, text: string): Verdict {
  const { state } = line;
  const [before, behind, typeText, value] = groupsOf(RECORD, text);
  if (owner === '' || typeText === '') return LINE_RESULT.words;
  // A later $ORIGIN is not for it.
  state.owner = state.origin === '' ? owner : `${absolute(owner, state.origin)}.`;
  const type = typeText.toUpperCase();
  if (ZONE_TYPES.has(type)) return parseZoneRecord(line, owner, type);
  const trigger = triggerOf(owner, state.zone, state.origin);
  if (trigger === null) return LINE_RESULT.zone;
  const ttlText = before + behind;
  const ttl = ttlText === '' ? state.ttlSeconds : readTtl(before === '' ? behind : before);
  if (ttl === null) return LINE_RESULT.record;
  const action = readAction(line, trigger, type, value.trim(), ttl);
  return typeof action === 'number' ? action : takeTrigger(line, trigger, action);
}

function withoutComment(text: string): string {
  return text.includes(';') ? text.replace(/\s*;(?=(?:[^"]*"[^"]*")*[^"]*$).*$/, '') : text;
}

function parseDirective(line: Line, text: string): Verdict {
  const ttl = readTtl(/^\$TTL\s+(\S+)/i.exec(text)?.[1] ?? '');
  if (ttl !== null) line.state.ttlSeconds = ttl;
  const origin = /^\$ORIGIN\s+(\S+)/i.exec(text)?.[1];
  if (origin === undefined) return LINE_RESULT.comment;
  line.state.origin = absolute(origin, line.state.origin);
  if (line.state.zone === '') line.state.zone = line.state.origin;
  return LINE_RESULT.comment;
}

/** The SOA tells the name of the zone. */
function parseZoneRecord({ state }: Line, owner: string, type: string): Verdict {
  if (type === 'SOA' && owner !== '@' && owner.endsWith('.')) state.zone = absolute(owner, '');
  return LINE_RESULT.comment;
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
  if ((type === 'A' || type === 'AAAA') && isSinkhole(value)) return BLOCK;
  if (type !== 'CNAME') {
    const rewrite = recordRewrite(recordType(type), value, ttl);
    return rewrite === null ? LINE_RESULT.record : { isAllow: false, rewrite };
  }
  const target = value.toLowerCase();
  switch (target.replace(/(?<=.)\.$/, '')) {
    case '.':
      return BLOCK;
    case '*':
      return { isAllow: false, rewrite: { rcode: 0 } };
    case 'rpz-passthru':
    case trigger:
      return { isAllow: true, rewrite: null };
    case 'rpz-drop':
      return { isAllow: false, rewrite: { drop: true } };
    case 'rpz-tcp-only':
      return { isAllow: false, rewrite: { tcpOnly: true } };
    default:
      return readAlias(line, target);
  }
}

function readAlias(line: Line, target: string): Action | Verdict {
  if (/^rpz-|^\*\./.test(target)) return LINE_RESULT.action;
  const rewrite = cnameRewrite(absolute(target, line.state.origin));
  return rewrite === null ? LINE_RESULT.record : { isAllow: false, rewrite };
}

function takeTrigger(line: Line, trigger: string, { isAllow, rewrite }: Action): Verdict {
  const flags = line.flagsOf(isAllow) | FLAG_CLOSEST;
  const terms = rewrite === null ? null : { rewrite };
  const address = /^(.*)\.rpz-ip$/.exec(trigger)?.[1];
  if (address !== undefined) {
    // Another name would be a question of its own, asked when the answer is already there.
    if (rewrite?.cname !== undefined) return LINE_RESULT.action;
    const network = networkOf(address);
    return network === null ? LINE_RESULT.address : line.takeNetwork(network, flags, terms);
  }
  if (/(?:^|\.)rpz-[a-z-]+$/.test(trigger)) return LINE_RESULT.trigger;
  const owner = flags | ZONE_OWNER;
  if (trigger === '*') return line.takeWildcard('*', owner, terms);
  return trigger.startsWith('*.')
    ? line.takeText(trigger.slice(2), owner | FLAG_BELOW, terms)
    : line.takeText(trigger, owner | FLAG_EXACT, terms);
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
