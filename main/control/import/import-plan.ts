/**
 * Merges what was found in another program's file into the settings: adds what is new, leaves out
 * what is there, and replaces the upstreams. Pure; run in the process that read the file.
 *
 * When the file has lists or rules that only some clients get, its group of all others stands for
 * everybody that the settings know, too: else those would get what is not theirs.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Config, ListSource } from '../../contract/config.ts';
import { IMPORT_SECTIONS, type ImportSection } from '../../contract/methods/import.ts';
import { LIMITS } from '../../contract/limits.ts';
import { settingsConflict } from '../settings/settings-conflicts.ts';
import { SkipNotes, type ImportDraft, type NotTaken } from './draft/draft.ts';
import { dropServer, mergeServers } from './merge-servers.ts';
import { freeName } from './draft/titles.ts';

export interface ImportPlan {
  /** The settings afterwards. */
  readonly wanted: Config;
  readonly taken: Taken[];
  /** What the file has and the settings will not have. */
  readonly notTaken: NotTaken[];
}

export interface Taken {
  readonly section: ImportSection;
  count: number;
  known: number;
  replaced: number;
  readonly examples: string[];
}

type Group = Config['groups'][number];
type Client = Config['clients'][number];

/** Times an entry that does not go with the others is left out, before giving up. */
const CONFLICTS_MAX = 1_000;
const ONLY_SOME = 'it is for some clients only; take groups and clients as well';

/** Changes neither argument. */
export function planImport(
  config: Config,
  draft: ImportDraft,
  only: readonly ImportSection[] = IMPORT_SECTIONS,
): ImportPlan {
  const merger = new Merger(structuredClone(config), draft, only);
  for (const section of IMPORT_SECTIONS) {
    if (only.includes(section)) merger.merge(section);
    else merger.leaveOut(section);
  }
  return merger.finish();
}

class Merger {
  readonly #config: Config;
  readonly #draft: ImportDraft;
  readonly #notes: SkipNotes;
  readonly #taken: Taken[] = [];
  /** Whether who gets what is taken, too. */
  readonly #withClients: boolean;
  /** Names of the draft's lists and groups → names in the settings. */
  readonly #listNames = new Map<string, string>();
  readonly #groupNames = new Map<string, string>();
  /** Lists that everybody had before. */
  readonly #listsBefore: readonly string[];
  readonly #dnsBefore: Config['dns'];
  /** What was added, and how the report shows it. */
  readonly #added = new Map<unknown, string>();

  constructor(config: Config, draft: ImportDraft, only: readonly ImportSection[]) {
    this.#config = config;
    this.#draft = draft;
    this.#dnsBefore = structuredClone(config.dns);
    this.#notes = new SkipNotes(draft.notes.all);
    this.#withClients = only.includes('groups') && only.includes('clients');
    this.#listsBefore = config.lists.filter(({ enabled }) => enabled).map(({ name }) => name);
    for (const list of draft.lists) {
      const known = config.lists.find(
        ({ url, action = 'block' }) => url === list.url && action === (list.action ?? 'block'),
      );
      if (known) this.#listNames.set(list.name, known.name);
    }
  }

  merge(section: ImportSection): void {
    const taken: Taken = { section, count: 0, known: 0, replaced: 0, examples: [] };
    this.#mergeInto(taken);
    if (taken.count + taken.known > 0) this.#taken.push(taken);
  }

  #mergeInto(taken: Taken): void {
    const { everybody, rules, services } = this.#draft;
    const all = this.#withClients;
    switch (taken.section) {
      case 'lists':
        this.#mergeLists(taken);
        break;
      case 'rules':
        this.#mergeTexts(taken, 'rules', all ? rules : [...everybody.rules], LIMITS.rulesMax);
        break;
      case 'groups':
        this.#mergeGroups(taken);
        break;
      case 'clients':
        this.#mergeClients(taken);
        break;
      case 'records':
        this.#mergeRecords(taken);
        break;
      case 'services':
        this.#mergeTexts(
          taken,
          'services',
          all ? services : [...everybody.services],
          LIMITS.servicesMax,
        );
        break;
      case 'policies':
        this.#mergePolicies(taken);
        break;
      case 'safeSearch':
        this.#mergeSafeSearch(taken);
        break;
      case 'upstreams':
        mergeServers(this.#config, this.#draft, taken, this.#notes);
        break;
      case 'blocking':
        this.#mergeBlocking(taken);
    }
  }

  /** Notes what was not asked for, so that the report has everything of the file. */
  leaveOut(section: ImportSection): void {
    const found = this.#draft[section];
    const count = Array.isArray(found) ? found.length : Number(found !== null);
    for (let done = 0; done < count; done++) this.#notes.add(section, '', 'it was not asked for');
  }

  /** Leaves out entries that do not go with the others, one by one. */
  finish(): ImportPlan {
    if (this.#withClients) this.#keepFromOthers();
    for (let round = 0; round < CONFLICTS_MAX; round++) {
      const conflict = settingsConflict(this.#config);
      if (!conflict) break;
      if (!this.#dropEntry(conflict.path, conflict.text)) break;
    }
    const taken = this.#taken.filter((one) => one.count + one.known > 0);
    return { wanted: this.#config, taken, notTaken: this.#notes.all };
  }

  #mergeLists(taken: Taken): void {
    const { everybody } = this.#draft;
    const { lists } = this.#config;
    for (const list of this.#draft.lists) {
      const known = lists.find(({ name }) => name === this.#listNames.get(list.name));
      if (known) this.#mergeKnownList(taken, known, list);
      else if (!this.#withClients && everybody.lists?.has(list.name) === false) {
        this.#notes.add('lists', list.url, ONLY_SOME);
      } else if (!this.#isFull('lists', list.url, lists, LIMITS.listsMax)) {
        const name = freeName(list.name, (other) => lists.some((one) => one.name === other));
        this.#listNames.set(list.name, name);
        this.#add(taken, lists, { ...list, name }, `${name} ${list.url}`);
      }
    }
  }

  /** The settings have a list with this URL, and keep how they use it. */
  #mergeKnownList(taken: Taken, known: ListSource, found: ListSource): void {
    taken.known++;
    if (known.enabled !== found.enabled || known.match !== found.match) {
      const why = 'in the settings already, and used there as before (enabled, match)';
      this.#notes.add('lists', found.url, why);
    }
  }

  #mergeTexts(
    taken: Taken,
    section: 'rules' | 'services',
    found: readonly string[],
    max: number,
  ): void {
    const there = this.#config[section];
    const known = new Set(there);
    for (const text of found) {
      if (known.has(text)) taken.known++;
      else if (!this.#isFull(section, text, there, max)) this.#add(taken, there, text, text);
    }
  }

  #mergeGroups(taken: Taken): void {
    const { groups, clients } = this.#config;
    const isName = (name: string): boolean =>
      groups.some((one) => one.name === name) || clients.some((one) => one.name === name);
    for (const found of this.#draft.groups) {
      const lists = found.lists?.flatMap((name) => this.#listNames.get(name) ?? []);
      const group = { ...found, ...(lists && { lists }) };
      const same = groups.find((other) => this.#isSameGroup(group, other));
      if (same) {
        taken.known++;
        this.#groupNames.set(found.name, same.name);
      } else if (!this.#isFull('groups', group.name, groups, LIMITS.groupsMax)) {
        const name = freeName(group.name, isName);
        this.#groupNames.set(found.name, name);
        this.#add(taken, groups, { ...group, name }, name);
      }
    }
  }

  /** Taken over before. That of all others may have lists of the settings beside its own. */
  #isSameGroup(group: Group, other: Group): boolean {
    const sameName = other.name === group.name || other.name.startsWith(`${group.name} `);
    if (!sameName) return false;
    const isOthers = group.name === this.#draft.othersGroup;
    const lists = isOthers
      ? other.lists?.filter((name) => group.lists?.includes(name) ?? false)
      : other.lists;
    const renamed = { ...other, name: group.name, ...(lists && { lists }) };
    return isDeepStrictEqual(renamed, group);
  }

  #mergeClients(taken: Taken): void {
    const { clients, groups } = this.#config;
    const isName = (name: string): boolean =>
      clients.some((one) => one.name === name) || groups.some((one) => one.name === name);
    for (const client of this.#draft.clients) {
      const group = client.group === '' ? '' : this.#groupNames.get(client.group);
      const same = clients.find(({ ids }) => ids.join() === client.ids.join());
      if (group === undefined) this.#notes.add('clients', client.name, 'its group is not taken');
      else if (same) this.#mergeKnownClient(taken, same, group);
      else if (!this.#isFull('clients', client.name, clients, LIMITS.clientsMax)) {
        const name = freeName(client.name, isName);
        this.#add(taken, clients, { ...client, name, group }, `${name} ${client.ids.join(' ')}`);
      }
    }
  }

  /** The settings have a client with these ids. Without a group it joins that of the file. */
  #mergeKnownClient(taken: Taken, client: Client, group: string): void {
    if (client.group === group || group === '') taken.known++;
    else if (client.group === '') {
      client.group = group;
      this.#note(taken, `${client.name} joins ${group}`);
    } else {
      this.#notes.add('clients', client.name, 'the settings have it in a group of their own');
    }
  }

  /**
   * Clients and groups of the settings that have all lists would get those of some clients, too: the
   * clients without a group join that of all others, the groups keep what they have.
   */
  #keepFromOthers(): void {
    const { othersGroup } = this.#draft;
    const { groups } = this.#config;
    const others = groups.find(({ name }) => name === this.#groupNames.get(othersGroup));
    if (othersGroup === '' || !others) return;
    if (others.lists) this.#keepLists(others, others.lists);
    const taken = this.#taken.find(({ section }) => section === 'clients');
    for (const client of this.#config.clients) {
      if (client.group !== '' || this.#added.has(client)) continue;
      client.group = others.name;
      if (taken) this.#note(taken, `${client.name} joins ${others.name}`);
    }
  }

  #keepLists(others: Group, lists: readonly string[]): void {
    const isNew = this.#added.has(others);
    if (isNew) others.lists = [...new Set([...lists, ...this.#listsBefore])];
    for (const group of this.#config.groups) {
      if (this.#added.has(group) || group.lists) continue;
      group.lists = this.#listsOfAll(isNew);
    }
  }

  /** What everybody has. @param isNew  the group of all others was not there before */
  #listsOfAll(isNew: boolean): string[] {
    const { everybody, lists } = this.#draft;
    const some = lists.filter(({ name }) => everybody.lists?.has(name) === false);
    const notOurs = new Set(isNew ? [] : some.map(({ name }) => this.#listNames.get(name)));
    const before = this.#listsBefore.filter((name) => !notOurs.has(name));
    const found = [...(everybody.lists ?? [])].flatMap((name) => this.#listNames.get(name) ?? []);
    return [...new Set([...before, ...found])];
  }

  #mergeRecords(taken: Taken): void {
    const { records } = this.#config;
    const keyOf = (one: (typeof records)[number]): string =>
      `${one.name.toLowerCase()} ${one.type} ${one.value}`;
    const known = new Set(records.map(keyOf));
    for (const record of this.#draft.records) {
      const key = keyOf(record);
      if (known.has(key)) taken.known++;
      else if (!this.#isFull('records', key, records, LIMITS.recordsMax)) {
        this.#add(taken, records, record, key);
      }
    }
  }

  #mergePolicies(taken: Taken): void {
    const { policies } = this.#config;
    for (const found of this.#draft.policies) {
      const clients = found.clients.flatMap((name) => this.#groupNames.get(name) ?? []);
      const policy = { ...found, clients };
      const same = policies.some((other) =>
        isDeepStrictEqual({ ...other, name: policy.name }, policy),
      );
      if (same) taken.known++;
      else if (clients.length < found.clients.length) {
        this.#notes.add('policies', policy.name, 'its groups are not taken');
      } else if (!this.#isFull('policies', policy.name, policies, LIMITS.policiesMax)) {
        const isName = (name: string): boolean => policies.some((other) => other.name === name);
        const name = freeName(policy.name, isName);
        this.#add(taken, policies, { ...policy, name }, name);
      }
    }
  }

  #mergeSafeSearch(taken: Taken): void {
    const { safeSearch } = this.#draft;
    if (!safeSearch) return;
    if (isDeepStrictEqual(this.#config.safeSearch, safeSearch)) taken.known++;
    else if (this.#config.safeSearch.enabled) {
      const engines = safeSearch.engines.join(', ');
      this.#notes.add('safeSearch', engines, 'the settings have theirs switched on');
    } else {
      this.#config.safeSearch = safeSearch;
      taken.count++;
      taken.examples.push(...safeSearch.engines.slice(0, LIMITS.importExamplesMax));
    }
  }

  #mergeBlocking(taken: Taken): void {
    const { blocking } = this.#draft;
    if (!blocking) return;
    const wanted = { ...this.#config.blocking, ...blocking };
    if (isDeepStrictEqual(wanted, this.#config.blocking)) taken.known++;
    else this.#note(taken, `${wanted.answer} for ${String(wanted.ttlSeconds)} s`);
    this.#config.blocking = wanted;
  }

  #isFull(section: ImportSection, text: string, there: readonly unknown[], max: number): boolean {
    if (there.length < max) return false;
    this.#notes.add(section, text, `only ${String(max)} can be in the settings`);
    return true;
  }

  #add<Entry>(taken: Taken, there: Entry[], entry: Entry, text: string): void {
    there.push(entry);
    this.#added.set(entry, text);
    this.#note(taken, text);
  }

  #note(taken: Taken, text: string): void {
    taken.count++;
    if (taken.examples.length < LIMITS.importExamplesMax) taken.examples.push(text);
  }

  /** Takes out the entry that a conflict is about, if it is one of the imported ones. */
  #dropEntry(path: readonly (string | number)[], why: string): boolean {
    const [section, index] = path;
    if (section === 'dns') return this.#dropServer(path, why);
    if (!isMergedSection(section) || typeof index !== 'number') return false;
    const entries: unknown[] = this.#config[section];
    // What was there before is never taken away.
    if (!this.#added.has(entries[index])) return false;
    const [dropped] = entries.splice(index, 1);
    const taken = this.#taken.find((one) => one.section === section);
    if (taken) {
      taken.count--;
      const shown = taken.examples.indexOf(this.#added.get(dropped) ?? '');
      if (shown >= 0) taken.examples.splice(shown, 1);
    }
    const text = typeof dropped === 'string' ? dropped : JSON.stringify(dropped);
    this.#notes.add(section, text, why);
    return true;
  }

  #dropServer(path: readonly (string | number)[], why: string): boolean {
    const server = dropServer(this.#config.dns, this.#dnsBefore, path);
    if (server === '') return false;
    const taken = this.#taken.find((one) => one.section === 'upstreams');
    if (taken) taken.count = Math.max(0, taken.count - 1);
    this.#notes.add('upstreams', server, why);
    return true;
  }
}

const MERGED = [
  ...(['lists', 'rules', 'groups', 'clients', 'records', 'services', 'policies'] as const),
];

function isMergedSection(section: unknown): section is (typeof MERGED)[number] {
  return MERGED.includes(section as (typeof MERGED)[number]);
}
