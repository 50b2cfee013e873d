/** What is said about an import. */
import type { MethodOutput } from '../../main/contract/methods/methods.ts';
import { t } from '../text.ts';

export type ImportReport = MethodOutput<'import.preview'>;
export type ImportSection = ImportReport['taken'][number]['section'];

/** "12 new, 3 already here"; servers are replaced. */
export function describeTaken({ count, known, replaced }: ImportReport['taken'][number]): string {
  const { isNew, isKnown, replaces } = t().backup;
  return [
    count > 0 ? isNew(count) : '',
    known > 0 ? isKnown(known) : '',
    replaced > 0 ? replaces(replaced) : '',
  ]
    .filter((text) => text !== '')
    .join(', ');
}

/** Sections that have something new; what is chosen to begin with. */
export function newSections(report: ImportReport): ImportSection[] {
  return report.taken.filter(({ count }) => count > 0).map(({ section }) => section);
}
