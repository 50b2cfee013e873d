/** What is said about an import: its parts in words, and what it would do. */
import type { MethodOutput } from '../../main/contract/methods/methods.ts';
import { formatCount, formatNoun } from '../format/number.ts';

export type ImportReport = MethodOutput<'import.preview'>;
export type ImportSection = ImportReport['taken'][number]['section'];

export const sectionLabels: Record<ImportSection | 'other', string> = {
  lists: 'Lists',
  rules: 'Rules',
  groups: 'Groups',
  clients: 'Clients',
  records: 'Local names',
  services: 'Blocked services',
  policies: 'Policies',
  safeSearch: 'Safe search',
  upstreams: 'Upstream servers',
  blocking: 'Answer for blocked names',
  other: 'Other settings',
};

/** "12 new, 3 already here"; servers are replaced. */
export function describeTaken({ count, known, replaced }: ImportReport['taken'][number]): string {
  return [
    count > 0 ? `${formatCount(count)} new` : '',
    known > 0 ? `${formatCount(known)} already here` : '',
    replaced > 0
      ? `replaces the ${formatNoun(replaced, 'server', 'servers')} there ${replaced === 1 ? 'is' : 'are'}`
      : '',
  ]
    .filter((text) => text !== '')
    .join(', ');
}

/** Sections that have something new; what is chosen to begin with. */
export function newSections(report: ImportReport): ImportSection[] {
  return report.taken.filter(({ count }) => count > 0).map(({ section }) => section);
}
