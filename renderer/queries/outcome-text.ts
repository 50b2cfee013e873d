/** What is said about why a query was answered as it was. */
import type { QueryEvent } from '../../main/contract/query-event.ts';
import { t } from '../text.ts';

/** In a few words; '' when there is nothing to say. */
export function describeWhy(event: QueryEvent): string {
  const { reason, list, matchedName, name } = event;
  const { allowedBy, allowedByRule, reasons } = t().queries;
  const matched = matchedName === '' || matchedName === name ? '' : matchedName;
  if (reason === 'none') return describeAnswer(event);
  if (reason === 'list' && list !== '') return join(list, matched);
  if (reason === 'allow-rule') {
    return join(list === '' || list === 'rules' ? allowedByRule : allowedBy(list), matched);
  }
  return join(reasons[reason], matched);
}

function describeAnswer(event: QueryEvent): string {
  const source = event.upstream === '' ? '' : t().queries.answeredBy(event.upstream);
  const answer = event.outcome === 'failed' ? '' : rcodeText(event.rcode);
  return [source, answer].filter((text) => text !== '').join(', ');
}

/** Answers worth a word of their own; RFC 1035 §4.1.1. */
function rcodeText(rcode: number): string {
  const { servfail, nxdomain, refused } = t().queries.rcodes;
  return { 2: servfail, 3: nxdomain, 5: refused }[rcode] ?? '';
}

function join(text: string, matched: string): string {
  return matched === '' ? text : t().queries.matched(text, matched);
}
