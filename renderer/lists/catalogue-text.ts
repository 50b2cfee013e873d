/** Finding in the catalogue of well-known lists. */
import { en } from '../../main/texts/en/index.ts';
import type { CatalogueEntry } from '../client/answers.ts';

export type ListCategory = CatalogueEntry['category'];

/** In the order in which they are shown. */
export const categories = Object.keys(en.lists.catalogue.categories) as ListCategory[];

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
