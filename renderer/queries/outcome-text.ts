/** What is said about a query's outcome and its reason. */
import type { OutcomeName, ReasonName } from '../../main/contract/outcome.ts';
import type { QueryEvent } from '../../main/contract/query-event.ts';

/** The word on the badge. */
export const outcomeLabels: Record<OutcomeName, string> = {
  forwarded: 'Forwarded',
  cached: 'From cache',
  blocked: 'Blocked',
  local: 'Local',
  failed: 'Failed',
  rejected: 'Rejected',
  stale: 'Old answer',
};

/** The sentence behind the word. */
export const outcomeHints: Record<OutcomeName, string> = {
  forwarded: 'An upstream server answered.',
  cached: 'The answer was still known from an earlier query.',
  blocked: 'A list or one of your rules names it.',
  local: 'Sluice itself knows the answer; nobody was asked.',
  failed: 'No upstream server gave an answer.',
  rejected: 'Not a question that Sluice serves.',
  stale: 'No upstream server answered in time, so the last known answer was used.',
};

const reasonTexts: Record<ReasonName, string> = {
  none: '',
  list: 'On a list',
  rule: 'Your rule',
  'allow-rule': 'Allowed by a rule',
  paused: 'Not filtered at that time',
  'special-name': 'Reserved name',
  malformed: 'Unreadable message',
  'not-implemented': 'Kind of question not served',
  'upstream-timeout': 'No answer in time',
  'upstream-refused': 'Upstreams gave errors',
  'upstream-full': 'Too many queries waiting',
  rebinding: 'Public name with a private address',
  cname: 'Leads to a blocked name',
  'rate-limited': 'Too many queries from this client',
  policy: 'A policy of yours',
  service: 'A blocked service',
  'safe-search': 'Safe search',
  bypass: 'A way past the filter',
  'local-record': 'Your local record',
};

/** Answers worth a word of their own; RFC 1035 §4.1.1. */
const rcodeTexts: Readonly<Record<number, string>> = {
  2: 'server failure',
  3: 'no such name',
  5: 'refused',
};

/** Why a query was answered as it was, in a few words; '' when there is nothing to say. */
export function describeWhy(event: QueryEvent): string {
  const { reason, list, matchedName, name } = event;
  const matched = matchedName === '' || matchedName === name ? '' : matchedName;
  if (reason === 'none') return describeAnswer(event);
  if (reason === 'list' && list !== '') return join(list, matched);
  if (reason === 'allow-rule') {
    return join(
      list === '' || list === 'rules' ? 'Allowed by your rule' : `Allowed by ${list}`,
      matched,
    );
  }
  return join(reasonTexts[reason], matched);
}

function describeAnswer(event: QueryEvent): string {
  const source = event.upstream === '' ? '' : `by ${event.upstream}`;
  const answer = event.outcome === 'failed' ? '' : (rcodeTexts[event.rcode] ?? '');
  return [source, answer].filter((text) => text !== '').join(', ');
}

function join(text: string, matched: string): string {
  return matched === '' ? text : `${text}: ${matched}`;
}
