/**
 * Takes over the tables of Pi-hole: lists, domains, groups and clients, whether they come from
 * gravity.db (version 5 and 6) or from the JSON files of a version 5 Teleporter archive.
 *
 * Pi-hole's group 0 applies to all clients without groups of their own; a client of several groups
 * gets what all of them have. Here a client has one group, so such clients get a group of their own.
 */
import { LIMITS } from '../../contract/limits.ts';
import { cleanTitle, type ImportDraft } from './draft.ts';
import { piHoleRule } from './pi-hole-rules.ts';
import { clientIdOf, isOn, text, type Fields } from './values.ts';

/** Rows by table. */
export interface PiHoleTables {
  readonly group: readonly Fields[];
  readonly adlist: readonly Fields[];
  readonly domainlist: readonly Fields[];
  readonly client: readonly Fields[];
  readonly adlist_by_group: readonly Fields[];
  readonly domainlist_by_group: readonly Fields[];
  readonly client_by_group: readonly Fields[];
}

/** Names of those tables, as in the database. */
export const PI_HOLE_TABLES = [
  ...['group', 'adlist', 'domainlist', 'client'],
  ...['adlist_by_group', 'domainlist_by_group', 'client_by_group'],
] as (keyof PiHoleTables)[];

const DEFAULT_GROUP = 0;
const ADLIST_ALLOW = 1;
const EVERYBODY = ['0.0.0.0/0', '::/0'];

interface GroupContent {
  readonly title: string;
  readonly isEnabled: boolean;
  readonly lists: string[];
  readonly rules: string[];
}

export function takePiHoleTables(tables: PiHoleTables, draft: ImportDraft): void {
  const groups = new Map<number, GroupContent>();
  for (const row of tables.group) {
    const title = cleanTitle(text(row['name'])) || `Group ${text(row['id'])}`;
    const content = { title, isEnabled: isOn(row['enabled']), lists: [], rules: [] };
    groups.set(Number(row['id']), content);
    if (!content.isEnabled) draft.skip('groups', title, 'it is switched off in Pi-hole');
  }
  takeLists(tables, groups, draft);
  takeDomains(tables, groups, draft);
  takeClients(tables, groups, draft);
}

/** The groups of each row of a table; those that a table says nothing about are in group 0. */
function groupsOf(links: readonly Fields[], key: string): (id: number) => number[] {
  const found = new Map<number, number[]>();
  for (const link of links) {
    const id = Number(link[key]);
    found.set(id, [...(found.get(id) ?? []), Number(link['group_id'])]);
  }
  return (id) => found.get(id) ?? (links.length === 0 ? [DEFAULT_GROUP] : []);
}

type Groups = ReadonlyMap<number, GroupContent>;

function takeLists(
  { adlist, adlist_by_group: links }: PiHoleTables,
  groups: Groups,
  draft: ImportDraft,
) {
  const groupIds = groupsOf(links, 'adlist_id');
  for (const row of adlist) {
    const url = text(row['address']);
    const action = Number(row['type'] ?? 0) === ADLIST_ALLOW ? 'allow' : 'block';
    const name = draft.addList(text(row['comment']), url, isOn(row['enabled']), action);
    if (name === '') continue;
    for (const id of groupIds(Number(row['id']))) groups.get(id)?.lists.push(name);
  }
}

function takeDomains(tables: PiHoleTables, groups: Groups, draft: ImportDraft): void {
  const groupIds = groupsOf(tables.domainlist_by_group, 'domainlist_id');
  for (const row of tables.domainlist) {
    const domain = text(row['domain']);
    if (!isOn(row['enabled'])) {
      draft.skip('rules', domain, 'it is switched off in Pi-hole');
      continue;
    }
    const rule = piHoleRule(Number(row['type']), domain);
    if ('why' in rule) {
      draft.skip('rules', domain, rule.why);
      continue;
    }
    const ids = groupIds(Number(row['id']));
    if (ids.length === 0) draft.skip('rules', domain, 'it belongs to no group');
    for (const id of ids) {
      const group = groups.get(id);
      if (id === DEFAULT_GROUP || !group) draft.addRule(rule.text);
      else if (group.isEnabled) draft.addRule(rule.text, group.rules);
    }
  }
}

function takeClients(tables: PiHoleTables, groups: Groups, draft: ImportDraft): void {
  const groupIds = groupsOf(tables.client_by_group, 'client_id');
  const made = new Map<string, string>();
  for (const row of tables.client) {
    const written = text(row['ip']);
    const id = clientIdOf(written);
    if (id === '') {
      draft.skip('clients', written, 'clients are known by address, network or MAC only');
      continue;
    }
    const own = groupIds(Number(row['id'])).filter((one) => groups.get(one)?.isEnabled === true);
    const group = groupNamed(own, groups, made, draft);
    if (group === null) continue;
    const name = cleanTitle(text(row['comment'])) || written;
    draft.addClient({ name, ids: [id], group });
  }
  takeUnusedGroups(groups, made, draft);
  keepListsFromOthers(groups, draft);
}

/** The name of the group that is all of these; '' for group 0 alone, null when it cannot be. */
function groupNamed(
  ids: readonly number[],
  groups: Groups,
  made: Map<string, string>,
  draft: ImportDraft,
): string | null {
  const sorted = [...new Set(ids)].sort((a, b) => a - b);
  if (sorted.length === 1 && sorted[0] === DEFAULT_GROUP) return '';
  const key = sorted.join(' ');
  const known = made.get(key);
  if (known !== undefined) return known;
  const parts = sorted.flatMap((id) => groups.get(id) ?? []);
  const name = cleanTitle(parts.map((part) => part.title).join(' + ')) || 'Unfiltered';
  const group = draft.addGroup({
    name,
    lists: [...new Set(parts.flatMap((part) => part.lists))].slice(0, LIMITS.listsMax),
    rules: [...new Set(parts.flatMap((part) => part.rules))].slice(0, LIMITS.groupRulesMax),
  });
  if (!group) return null;
  made.set(key, name);
  if (!sorted.includes(DEFAULT_GROUP) && draft.rules.length > 0) {
    draft.skip(
      'groups',
      name,
      "rules of everybody apply to its clients, too; in Pi-hole they don't",
    );
  }
  return name;
}

function takeUnusedGroups(groups: Groups, made: Map<string, string>, draft: ImportDraft): void {
  for (const [id, { isEnabled, title, lists, rules }] of groups) {
    if (id === DEFAULT_GROUP || !isEnabled || made.has(String(id))) continue;
    if (lists.length + rules.length === 0) draft.skip('groups', title, 'it has nothing in it');
    else groupNamed([id], groups, made, draft);
  }
}

/** A list that is not in group 0 must not apply to everybody: then group 0 becomes a real group. */
function keepListsFromOthers(groups: Groups, draft: ImportDraft): void {
  const { lists = [], title = 'Default' } = groups.get(DEFAULT_GROUP) ?? {};
  if (draft.lists.every(({ name, enabled }) => !enabled || lists.includes(name))) return;
  if (draft.addGroup({ name: title, lists })) {
    draft.addClient({ name: 'All others', ids: EVERYBODY, group: title });
  }
}
