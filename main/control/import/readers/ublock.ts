/**
 * Reads a backup of uBlock Origin (JSON): filter lists with a URL and the user's own filters, as far
 * as they say something about names. Called by import-file.ts.
 */
import { listCatalogue } from '../../settings/list-catalogue.ts';
import { ImportDraft } from '../draft/draft.ts';
import { fields, text, texts, type Fields } from '../draft/values.ts';

/** Whether a JSON document is one of uBlock Origin. */
export function isUblock(root: Fields): boolean {
  return 'userFilters' in root || 'selectedFilterLists' in root;
}

export function readUblock(root: Fields): ImportDraft {
  const draft = new ImportDraft('uBlock Origin backup');
  const selected = texts(root['selectedFilterLists']);
  const external = texts(fields(root['userSettings'])['importedLists']);
  for (const list of new Set([...selected, ...external])) takeList(list, draft);
  for (const line of text(root['userFilters']).split('\n')) {
    const rule = line.trim();
    if (rule !== '' && !rule.startsWith('!')) draft.addRule(rule);
  }
  for (const site of texts(root['whitelist'])) {
    draft.skip('other', site, 'trusted sites are pages, and DNS knows no pages');
  }
  for (const key of ['dynamicFilteringString', 'urlFilteringString', 'hostnameSwitchesString']) {
    if (text(root[key]) !== '') draft.skip('other', key, 'rules about pages are for browsers only');
  }
  return draft;
}

function takeList(list: string, draft: ImportDraft): void {
  if (list === 'user-filters') return;
  if (/^https?:\/\//.test(list)) {
    draft.addList('', list);
    return;
  }
  const known = listCatalogue().find(({ id, alias }) => id === list || alias.includes(list));
  if (known) draft.addList(known.name, known.url);
  else draft.skip('lists', list, 'it comes with uBlock Origin and is made for browsers');
}
