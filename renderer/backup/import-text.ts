/** What is said about an import: its parts in words, and what it would do. */
import type { MethodOutput } from '../../main/contract/methods.ts';
import { formatCount } from '../format/number.ts';

export type ImportReport = MethodOutput<'import.preview'>;
export type ImportSection = ImportReport['taken'][number]['section'];

export const sectionLabels: Record<ImportSection | 'other', string> = {
  lists: 'Lists',
  rules: 'Rules',
  groups: 'Groups',
  clients: 'Clients',
  records: 'Local names',
  services: 'Blocked services',
  safeSearch: 'Safe search',
  upstreams: 'Upstream servers',
  other: 'Other settings',
};

/** "12 new, 3 already here". */
export function describeTaken({ count, known }: ImportReport['taken'][number]): string {
  return [
    count > 0 ? `${formatCount(count)} new` : '',
    known > 0 ? `${formatCount(known)} already here` : '',
  ]
    .filter((text) => text !== '')
    .join(', ');
}

/** Sections that have something new; what is chosen to begin with. */
export function newSections(report: ImportReport): ImportSection[] {
  return report.taken.filter(({ count }) => count > 0).map(({ section }) => section);
}
