/**
 * Takes over the tables of Pi-hole: lists, domains, groups and clients, whether they come from
 * gravity.db (version 5 and 6) or from the JSON files of a version 5 Teleporter archive.
 *
 * Pi-hole's group 0 applies to all clients that it does not know; a client that it knows gets what
 * its groups have and nothing else. Here a client has one group, so one of several groups gets a
 * group of their sum.
 */
import { LIMITS } from '../../../contract/limits.ts';
import type { ImportDraft } from '../draft/draft.ts';
import { piHoleRule } from './pi-hole-rules.ts';
import { NO_SHARE, type Member, type Share } from '../draft/share.ts';
import { cleanTitle } from '../draft/titles.ts';
import { clientIdOf, isOn, text, type Fields } from '../draft/values.ts';

/** Columns that are read, by table. */
export const COLUMNS = {
  group: ['id', 'enabled', 'name'],
  adlist: ['id', 'address', 'enabled', 'comment', 'type'],
  domainlist: ['id', 'type', 'domain', 'enabled'],
  client: ['id', 'ip', 'comment'],
  adlist_by_group: ['adlist_id', 'group_id'],
  domainlist_by_group: ['domainlist_id', 'group_id'],
  client_by_group: ['client_id', 'group_id'],
} as const satisfies Record<string, readonly string[]>;

export type TableName = keyof typeof COLUMNS;
/** Rows by table. */
export type PiHoleTables = Readonly<Record<TableName, readonly Fields[]>>;
/** Names of those tables, as in the database. */
export const PI_HOLE_TABLES = Object.keys(COLUMNS) as TableName[];

const DEFAULT_GROUP = 0;
const ADLIST_ALLOW = 1;
const REGEX_DENY = 3;
const NOT_KNOWN = 'clients are known by address, network or MAC only';

interface GroupContent {
  readonly title: string;
  readonly isEnabled: boolean;
  readonly lists: Set<string>;
  readonly rules: Set<string>;
}

type Groups = ReadonlyMap<number, GroupContent>;

export function takePiHoleTables(tables: PiHoleTables, draft: ImportDraft): void {
  const groups = groupsOf(tables.group, draft);
  for (const [name, rows] of Object.entries(tables)) {
    if (rows.length > LIMITS.importRowsMax) {
      draft.skip('other', name, `only ${String(LIMITS.importRowsMax)} rows of a table are read`);
    }
  }
  takeLists(tables, groups, draft);
  takeDomains(tables, groups, draft);
  takeClients(tables, groups, draft);
}

function groupsOf(rows: readonly Fields[], draft: ImportDraft): Groups {
  const groups = new Map<number, GroupContent>();
  for (const row of rows) {
    const title = cleanTitle(text(row['name'])) || `Group ${text(row['id'])}`;
    const isEnabled = isOn(row['enabled']);
    groups.set(Number(row['id']), { title, isEnabled, lists: new Set(), rules: new Set() });
    if (!isEnabled) draft.skip('groups', title, 'it is switched off in Pi-hole');
  }
  if (!groups.has(DEFAULT_GROUP)) {
    const content = { title: 'Default', isEnabled: true, lists: new Set<string>() };
    groups.set(DEFAULT_GROUP, { ...content, rules: new Set() });
  }
  return groups;
}

/** The groups of each row of a table. Without any link, as older files have none, all are in group 0. */
function linksOf(links: readonly Fields[], key: string): (id: number) => readonly number[] {
  const found = new Map<number, number[]>();
  for (const link of links) {
    const id = Number(link[key]);
    const known = found.get(id);
    if (known) known.push(Number(link['group_id']));
    else found.set(id, [Number(link['group_id'])]);
  }
  const others = links.length === 0 ? [DEFAULT_GROUP] : [];
  return (id) => found.get(id) ?? others;
}

function takeLists(
  { adlist, adlist_by_group: links }: PiHoleTables,
  groups: Groups,
  draft: ImportDraft,
): void {
  const groupIds = linksOf(links, 'adlist_id');
  for (const row of adlist) {
    const name = draft.addList(text(row['comment']), text(row['address']), {
      enabled: isOn(row['enabled']),
      action: Number(row['type'] ?? 0) === ADLIST_ALLOW ? 'allow' : 'block',
      // A name of a list is that name alone; "||name^" in it is more, here as there.
      match: 'exact',
    });
    if (name === '') continue;
    for (const id of groupIds(Number(row['id']))) groups.get(id)?.lists.add(name);
  }
}

function takeDomains(tables: PiHoleTables, groups: Groups, draft: ImportDraft): void {
  const groupIds = linksOf(tables.domainlist_by_group, 'domainlist_id');
  const hasAllowList = draft.lists.some(({ action, enabled }) => action === 'allow' && enabled);
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
    const targets = groupIds(Number(row['id'])).flatMap((id) => groups.get(id) ?? []);
    if (targets.length === 0) draft.skip('rules', domain, 'it belongs to no group');
    for (const { isEnabled, rules } of targets) if (isEnabled) draft.addRule(rule.text, rules);
    if (hasAllowList && Number(row['type']) === REGEX_DENY) {
      draft.skip('other', domain, 'taken, but an allow list does not undo it here');
    }
  }
}

type TitledShare = Pick<Member, 'title' | 'share'>;

function takeClients(tables: PiHoleTables, groups: Groups, draft: ImportDraft): void {
  takeDefault(groups.get(DEFAULT_GROUP), draft);
  const shares = new Map<string, { title: string; share: Share }>();
  const groupIds = linksOf(tables.client_by_group, 'client_id');
  for (const row of tables.client) {
    const written = text(row['ip']);
    const id = clientIdOf(written);
    if (id === '') {
      draft.skip('clients', written, NOT_KNOWN);
      continue;
    }
    const own = sharedBy(groupIds(Number(row['id'])), groups, shares);
    const name = cleanTitle(text(row['comment'])) || written;
    draft.addMember({ name, ids: [id], tags: [], ...own });
  }
  takeUnusedGroups(groups, shares, draft);
}

/** Switched off, it has nothing. */
function takeDefault(common: GroupContent | undefined, draft: ImportDraft): void {
  draft.everybodyTitle = common?.title ?? 'Default';
  draft.everybody.lists = new Set(common?.isEnabled ? common.lists : []);
  for (const rule of common?.isEnabled ? common.rules : []) draft.everybody.rules.add(rule);
}

function takeUnusedGroups(
  groups: Groups,
  shares: ReadonlyMap<string, unknown>,
  draft: ImportDraft,
): void {
  for (const [id, content] of groups) {
    const { isEnabled, title, lists, rules } = content;
    if (id === DEFAULT_GROUP || !isEnabled || shares.has(String(id))) continue;
    if (lists.size + rules.size === 0) draft.skip('groups', title, 'it has nothing in it');
    else draft.spareGroups.push(shareOf([content]));
  }
}

/** What the groups have together; null for group 0 alone. */
function sharedBy(
  ids: readonly number[],
  groups: Groups,
  shares: Map<string, { title: string; share: Share }>,
): TitledShare {
  const known = [...new Set(ids)].filter((id) => groups.get(id)?.isEnabled === true);
  const sorted = known.sort((left, right) => left - right).slice(0, LIMITS.groupsMax);
  if (sorted.length === 1 && sorted[0] === DEFAULT_GROUP) return { title: '', share: null };
  const key = sorted.join(' ');
  const made = shares.get(key) ?? shareOf(sorted.flatMap((id) => groups.get(id) ?? []));
  shares.set(key, made);
  return made;
}

function shareOf(parts: readonly GroupContent[]): { title: string; share: Share } {
  const lists = new Set(parts.flatMap((part) => [...part.lists]));
  const rules = new Set(parts.flatMap((part) => [...part.rules]));
  const title = parts.map((part) => part.title).join(' + ') || 'Unfiltered';
  const filtering = lists.size + rules.size > 0;
  const share = { ...NO_SHARE, lists, rules, services: null, policies: null, filtering };
  return { title, share };
}
