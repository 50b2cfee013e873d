/**
 * Puts names and texts to the matches of an explanation: whose rule it is, how it is written, under
 * which condition it holds. Used by check.ts.
 */
import type { Config } from '../../contract/config.ts';
import type {
  GroupSettings,
  PolicySettings,
  ScheduleSettings,
} from '../../contract/filter-config.ts';
import type { MethodOutput } from '../../contract/methods/methods.ts';
import { REASON } from '../../contract/outcome.ts';
import type { ExplainedMatch } from '../../engine/explain/explain-matches.ts';
import { LIST_ID_POLICIES } from '../../engine/filter/engine-config.ts';
import type { PriorityRule } from '../policy/priority-rules.ts';
import { isForClients } from '../policy/priority-rules.ts';
import type { ListsPart } from '../process/parts.ts';
import { policiesInOrder } from '../policy/policies-table.ts';
import { conditionText } from '../policy/rule-text.ts';
import { isInForce } from '../policy/schedule.ts';

export type CheckMatch = MethodOutput<'check'>['matches'][number];

/** A match for people, with what sentences about it need. */
export interface NamedMatch {
  readonly shown: CheckMatch;
  readonly layer: ExplainedMatch['layer'];
  /** When its rule ends, milliseconds since 1970; null for lasting ones. */
  readonly endsAtMs: number | null;
  /** REASON of a service. */
  readonly reason: number;
}

/** Where names and texts come from. */
export interface Naming {
  readonly config: Config;
  readonly lists: Pick<ListsPart, 'listNames' | 'ruleText'>;
  /** What the log calls policies and services. */
  readonly names: ReadonlyMap<number, string>;
  readonly priorityRules: readonly PriorityRule[];
  /** Of the client. */
  readonly group: GroupSettings | undefined;
  readonly nowMs: number;
}

/** Rules of the settings that name clients are told once, as first rules. */
export function nameMatches(matches: readonly ExplainedMatch[], naming: Naming): NamedMatch[] {
  const { rules } = naming.config;
  return matches
    .filter(({ layer, line }) => layer !== 'user' || !isForClients(rules[line - 1] ?? ''))
    .map((match) => nameMatch(match, naming));
}

function nameMatch(match: ExplainedMatch, naming: Naming): NamedMatch {
  const { layer, action, matchedName, isImportant, applies, obstacle, won } = match;
  const place = placeOf(match, naming);
  const policy = layer === 'policy' ? policyOf(match, naming.config) : undefined;
  const condition = policy ? policyCondition(policy) : conditionText(place.rule);
  const whyNot = policy && !applies ? policyObstacle(policy, naming.nowMs) : OBSTACLES[obstacle];
  return {
    shown: {
      ...{ source: place.source, action, list: place.list, line: place.line, rule: place.rule },
      ...{ matchedName, important: isImportant && place.source !== 'temporary' },
      ...{ condition, applies, whyNot, won },
    },
    ...{ layer, endsAtMs: place.endsAtMs, reason: match.reason },
  };
}

const OBSTACLES: Readonly<Record<ExplainedMatch['obstacle'], string>> = {
  '': '',
  list: 'this client does not use the list',
  condition: 'its condition does not hold',
  undone: 'another rule takes its answer back',
  closer: 'the list has a rule for a closer name',
  mask: 'it is not for this client',
};

interface Place {
  readonly source: CheckMatch['source'];
  readonly list: string;
  readonly line: number;
  readonly rule: string;
  readonly endsAtMs: number | null;
}

function placeOf({ layer, listId, line }: ExplainedMatch, naming: Naming): Place {
  const { config, lists, names, group } = naming;
  const lasting = { endsAtMs: null };
  switch (layer) {
    case 'first':
      return firstPlace(naming.priorityRules[line - 1]);
    case 'client': {
      const { name = '', rules = [] } = group ?? {};
      return { ...lasting, source: 'group', list: name, line, rule: rules[line - 1] ?? '' };
    }
    case 'user': {
      const rule = config.rules[line - 1] ?? '';
      return { ...lasting, source: 'rule', list: 'rules', line, rule };
    }
    case 'policy':
    case 'service':
      return { ...lasting, source: layer, list: names.get(listId) ?? '', line: 0, rule: '' };
    case 'list': {
      const list = lists.listNames.get(listId) ?? '';
      return { ...lasting, source: 'list', list, line, rule: lists.ruleText(listId, line) };
    }
  }
}

/** A rule that ended meanwhile is no more to be found. */
function firstPlace(found: PriorityRule = { rule: '', line: 0, endsAtMs: null }): Place {
  const source = found.endsAtMs === null ? 'rule' : 'temporary';
  return { ...found, source, list: 'rules' };
}

function policyOf({ listId }: ExplainedMatch, { policies }: Config): PolicySettings | undefined {
  return policiesInOrder(policies)[listId - LIST_ID_POLICIES];
}

function policyCondition({ clients, schedule, priority }: PolicySettings): string {
  const parts = [`priority ${String(priority)}`];
  if (clients.length > 0) parts.push(`only for ${clients.join(', ')}`);
  if (schedule) parts.push(scheduleText(schedule));
  return parts.join('; ');
}

function policyObstacle({ schedule }: PolicySettings, nowMs: number): string {
  const isOff = schedule !== undefined && !isInForce(schedule, nowMs);
  return isOff ? 'it is not in force now' : 'it is not for this client';
}

const WEEK_DAYS = 7;

/** "mon, tue 22:00 to 06:30 (Europe/Berlin)". */
function scheduleText({ days, from, to, timeZone }: ScheduleSettings): string {
  const when = days.length === WEEK_DAYS ? 'every day' : days.join(', ');
  const hours = from === to ? '' : ` ${from} to ${to}`;
  return `${when}${hours}${timeZone === '' ? '' : ` (${timeZone})`}`;
}

/** Who it is, as the subject of a sentence: 'the list "Ads"'. */
export function subjectOf({ shown, reason, endsAtMs }: NamedMatch, nowMs: number): string {
  switch (shown.source) {
    case 'temporary':
      return `a temporary rule of yours, ${leftText(endsAtMs ?? nowMs, nowMs)},`;
    case 'rule':
      return 'one of your rules';
    case 'group':
      return `a rule of the group "${shown.list}"`;
    case 'policy':
      return `the policy "${shown.list}"`;
    case 'list':
      return shown.list === '' ? 'a list' : `the list "${shown.list}"`;
    case 'service':
      return SERVICES[reason] ?? `the blocked service "${shown.list}"`;
  }
}

const SERVICES: Readonly<Record<number, string>> = {
  [REASON.safeSearch]: 'safe search',
  [REASON.bypass]: 'the prevention of ways past the filter',
};

const MINUTE_MS = 60_000;

/** "9 minutes left". */
export function leftText(endsAtMs: number, nowMs: number): string {
  const minutes = Math.max(0, Math.ceil((endsAtMs - nowMs) / MINUTE_MS));
  return minutes === 1 ? '1 minute left' : `${String(minutes)} minutes left`;
}
