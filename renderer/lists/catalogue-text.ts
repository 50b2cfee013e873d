/** Words for the catalogue of well-known lists, and finding in it. */
import type { CatalogueEntry } from '../client/answers.ts';

export type ListCategory = CatalogueEntry['category'];

/** In the order in which they are shown. */
export const categoryLabels: Record<ListCategory, string> = {
  general: 'All-round',
  ads: 'Ads',
  trackers: 'Trackers',
  devices: 'Devices and vendors',
  malware: 'Malware',
  phishing: 'Phishing and fraud',
  annoyances: 'Annoyances',
  adult: 'Adult content',
  gambling: 'Gambling',
  social: 'Social media',
  bypass: 'Ways past the filter',
  regional: 'Regional',
};
export const categories = Object.keys(categoryLabels) as ListCategory[];

export const sizeLabels: Record<CatalogueEntry['size'], string> = {
  small: 'under 10,000 names',
  medium: 'under 100,000 names',
  large: 'under 500,000 names',
  huge: '500,000 names and more',
};

/** Entries of a category ('' for all) whose name, maintainer or purpose has the text, by category. */
export function findKnown(
  entries: readonly CatalogueEntry[],
  category: ListCategory | '',
  text: string,
): { category: ListCategory; entries: CatalogueEntry[] }[] {
  const wanted = text.trim().toLowerCase();
  const found = entries.filter(
    (entry) =>
      (category === '' || entry.category === category) &&
      [entry.name, entry.maintainer, entry.purpose, ...entry.alias].some((words) =>
        words.toLowerCase().includes(wanted),
      ),
  );
  return categories
    .map((one) => ({ category: one, entries: found.filter((entry) => entry.category === one) }))
    .filter((group) => group.entries.length > 0);
}
