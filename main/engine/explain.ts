/**
 * Says what a name would get, and why: every rule and list entry that matches, and which one won.
 *
 * Called by service/check.ts in the main thread; it adds list names and rule texts. Asks nobody,
 * changes nothing. It reads names with the same Query, zones and tables as the packet path, so that
 * the two cannot disagree.
 */
import { AppError } from '../contract/errors.ts';
import { LIMITS } from '../contract/limits.ts';
import { MATCH_ALLOW, MATCH_BLOCK, type DomainTable } from './domain-table.ts';
import { readName, writeName } from './name.ts';
import type { Policy } from './policy.ts';
import { Query } from './query.ts';
import { typeNumber } from './record-type.ts';
import {
  findSpecialZone,
  ZONE_CANARY,
  ZONE_LOOPBACK,
  zoneKind,
  zoneLabels,
} from './special-zones.ts';
import { CLASS, HEADER_BYTES, TYPE, writeUint16 } from './wire.ts';

/** An entry that names this name or one above it. */
export interface ExplainedMatch {
  readonly action: 'block' | 'allow';
  /** As in policy.ts: 0 for the user's own rules. */
  readonly listId: number;
  /** Presentation form. */
  readonly matchedName: string;
  /** 1-based. */
  readonly line: number;
  /** Whether this entry decided. */
  readonly won: boolean;
}

export interface Explanation {
  readonly decision: 'blocked' | 'allowed' | 'local';
  /** What each stage found, in the order of pipeline.ts. */
  readonly steps: { step: string; result: string }[];
  /** The user's rules first, then lists; most specific first. */
  readonly matches: ExplainedMatch[];
  /** One plain sentence. */
  readonly why: string;
}

/**
 * @param name  presentation form, any letter case, trailing dot or not
 * @param type  mnemonic, TYPE123 or number
 * @throws      AppError ARGUMENT_INVALID when either cannot be read
 */
export function explain(policy: Policy, name: string, type: string): Explanation {
  const query = parse(name, type);
  const steps: Explanation['steps'] = [];
  const shown = suffix(query, query.labelCount);
  const special = explainSpecial(policy, query);
  steps.push({ step: 'special names', result: special === '' ? 'not special' : special });
  if (special !== '') {
    const why = `${shown} is answered by Sluice itself: ${special}.`;
    return { decision: 'local', steps, matches: [], why };
  }
  if (!policy.filtering) {
    steps.push({ step: 'filter', result: 'filtering is off or paused' });
    const why = `${shown} is allowed because filtering is off or paused.`;
    return { decision: 'allowed', steps, matches: [], why };
  }
  return explainFilter(policy, query, shown, steps);
}

function explainFilter(
  policy: Policy,
  query: Query,
  shown: string,
  steps: Explanation['steps'],
): Explanation {
  const { rules, lists } = policy;
  const byRules = rules.match(query);
  const byLists = lists.match(query);
  const isBlocked = ((byRules | byLists) & MATCH_BLOCK) !== 0;
  const isAllowed = ((byRules | byLists) & MATCH_ALLOW) !== 0;
  const winning = isAllowed ? MATCH_ALLOW : MATCH_BLOCK;
  const rulesDecide = (byRules & winning) !== 0;
  const matches = [
    ...collect(rules, query, rulesDecide ? winner(rules, winning) : -1),
    ...collect(lists, query, rulesDecide ? -1 : winner(lists, winning)),
  ];
  steps.push({ step: 'rules', result: describe(byRules) });
  steps.push({ step: 'lists', result: describe(byLists) });
  const won = matches.find((match) => match.won);
  const source = rulesDecide ? 'one of your rules' : 'a list';
  if (won === undefined) {
    steps.push({ step: 'answer', result: 'cache or upstream' });
    const why = `${shown} is allowed because no rule and no list names it.`;
    return { decision: 'allowed', steps, matches, why };
  }
  if (isAllowed) {
    steps.push({ step: 'answer', result: 'cache or upstream' });
    const although = isBlocked ? ', which beats every block' : '';
    const why = `${shown} is allowed because ${source} allows ${won.matchedName}${although}.`;
    return { decision: 'allowed', steps, matches, why };
  }
  steps.push({ step: 'answer', result: blockedAnswer(policy, query.type) });
  const why = `${shown} is blocked because ${source} blocks ${won.matchedName}.`;
  return { decision: 'blocked', steps, matches, why };
}

function winner(table: DomainTable, action: number): number {
  return action === MATCH_ALLOW ? table.allowEntry : table.blockEntry;
}

function describe(found: number): string {
  if (found === 0) return 'nothing matches';
  if ((found & MATCH_ALLOW) === 0) return 'blocks';
  return (found & MATCH_BLOCK) === 0 ? 'allows' : 'blocks and allows; allow wins';
}

function collect(table: DomainTable, query: Query, wonEntry: number): ExplainedMatch[] {
  const matches: ExplainedMatch[] = [];
  table.forEachMatch(query, (entry, listId, action, labels, line) => {
    const won = entry === wonEntry;
    matches.push({ action, listId, matchedName: suffix(query, labels), line, won });
  });
  return matches;
}

/** What the special-names step would do; '' when it lets the name pass. */
function explainSpecial(policy: Policy, query: Query): string {
  const found = findSpecialZone(query);
  const kind = zoneKind(found);
  if (found === 0 || (kind === ZONE_CANARY && !policy.filtering)) return '';
  if (policy.suffixes !== undefined && policy.suffixes.match(query) > 0) return '';
  const zone = suffix(query, zoneLabels(found));
  if (kind === ZONE_LOOPBACK) return `${zone} is this machine`;
  if (kind === ZONE_CANARY) return `${zone} tells browsers to leave DNS to the system`;
  return `${zone} is a local name that is never asked upstream`;
}

function blockedAnswer(policy: Policy, type: number): string {
  switch (policy.blockingAnswer) {
    case 'refused':
      return 'REFUSED';
    case 'nxdomain':
      return 'NXDOMAIN';
    case 'nodata':
      return 'no data';
    case 'null-address':
      if (type === TYPE.a) return '0.0.0.0';
      return type === TYPE.aaaa ? '::' : 'no data';
  }
}

/** The last `labels` labels of the name in presentation form. */
function suffix(query: Query, labels: number): string {
  if (labels === 0) return '.';
  const start = query.labelStarts[query.labelCount - labels] as number;
  return readName(query.name, start, query.nameLength);
}

/** Reads name and type through a packet, as the pipeline would. */
function parse(name: string, type: string): Query {
  const packet = new Uint8Array(HEADER_BYTES + LIMITS.nameBytesMax + 4);
  const length = writeName(name.trim(), packet, HEADER_BYTES);
  if (length < 0) throw new AppError('ARGUMENT_INVALID', `not a domain name: "${name}"`);
  const number = typeNumber(type);
  if (number < 0) throw new AppError('ARGUMENT_INVALID', `not a record type: "${type}"`);
  packet[5] = 1;
  const at = HEADER_BYTES + length;
  packet[at] = 0;
  writeUint16(packet, at + 1, number);
  writeUint16(packet, at + 3, CLASS.internet);
  const query = new Query();
  query.read(packet, 0, at + 5);
  return query;
}
