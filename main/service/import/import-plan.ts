/**
 * Merges what was found in another program's file into the settings: adds what is new, leaves out
 * what is there, and replaces the upstreams. Pure; run for a preview, and inside the edit.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../../contract/config.ts';
import { IMPORT_SECTIONS, type ImportSection } from '../../contract/import-methods.ts';
import { LIMITS } from '../../contract/limits.ts';
import { settingsConflict } from '../settings-conflicts.ts';
import { freeName, SkipNotes, type ImportDraft, type NotTaken } from './draft.ts';

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

/** Times an entry that does not go with the others is left out, before giving up. */
const CONFLICTS_MAX = 1_000;

/** Changes neither argument. */
export function planImport(
  config: Config,
  draft: ImportDraft,
  only: readonly ImportSection[] = IMPORT_SECTIONS,
): ImportPlan {
  const merger = new Merger(structuredClone(config), draft);
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
  /** Names of the draft's lists → names in the settings. */
  readonly #listNames = new Map<string, string>();
  /** What was added, and how the report shows it. */
  readonly #added = new Map<unknown, string>();

  constructor(config: Config, draft: ImportDraft) {
    this.#config = config;
    this.#draft = draft;
    this.#notes = new SkipNotes(draft.notes.all);
    for (const list of draft.lists) {
      const known = config.lists.find(({ url }) => url === list.url);
      if (known) this.#listNames.set(list.name, known.name);
    }
  }

  merge(section: ImportSection): void {
    const taken: Taken = { section, count: 0, known: 0, replaced: 0, examples: [] };
    switch (section) {
      case 'lists':
        this.#mergeLists(taken);
        break;
      case 'rules':
        this.#mergeTexts(taken, this.#config.rules, this.#draft.rules, LIMITS.rulesMax);
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
        this.#mergeTexts(taken, this.#config.services, this.#draft.services, LIMITS.servicesMax);
        break;
      case 'safeSearch':
        this.#mergeSafeSearch(taken);
        break;
      case 'upstreams':
        this.#mergeServers(taken);
    }
    if (taken.count + taken.known > 0) this.#taken.push(taken);
  }

  /** Notes what was not asked for, so that the report has everything of the file. */
  leaveOut(section: ImportSection): void {
    const found = this.#draft[section];
    const count = Array.isArray(found) ? found.length : Number(found !== null);
    for (let done = 0; done < count; done++) this.#notes.add(section, '', 'it was not asked for');
  }

  /** Leaves out entries that do not go with the others, one by one. */
  finish(): ImportPlan {
    for (let round = 0; round < CONFLICTS_MAX; round++) {
      const conflict = settingsConflict(this.#config);
      if (!conflict) break;
      if (!this.#dropEntry(conflict.path, conflict.text)) break;
    }
    const taken = this.#taken.filter((one) => one.count + one.known > 0);
    return { wanted: this.#config, taken, notTaken: this.#notes.all };
  }

  #mergeLists(taken: Taken): void {
    for (const list of this.#draft.lists) {
      const { lists } = this.#config;
      if (this.#listNames.has(list.name)) {
        taken.known++;
        continue;
      }
      if (lists.length >= LIMITS.listsMax) {
        this.#notes.add(
          'lists',
          list.url,
          `only ${String(LIMITS.listsMax)} can be in the settings`,
        );
        continue;
      }
      const name = freeName(list.name, (other) => lists.some((one) => one.name === other));
      this.#listNames.set(list.name, name);
      this.#add(taken, lists, { ...list, name }, `${name} ${list.url}`);
    }
  }

  #mergeTexts(taken: Taken, there: string[], found: readonly string[], max: number): void {
    const known = new Set(there);
    for (const text of found) {
      if (known.has(text)) taken.known++;
      else if (there.length >= max) {
        this.#notes.add(taken.section, text, `only ${String(max)} can be in the settings`);
      } else this.#add(taken, there, text, text);
    }
  }

  #mergeGroups(taken: Taken): void {
    for (const group of this.#draft.groups) {
      const { groups, clients } = this.#config;
      if (groups.some(({ name }) => name === group.name)) {
        taken.known++;
        continue;
      }
      if (clients.some(({ name }) => name === group.name)) {
        this.#notes.add('groups', group.name, 'a client has the name');
        continue;
      }
      const lists = group.lists?.flatMap((name) => this.#listNames.get(name) ?? []);
      this.#add(taken, groups, { ...group, ...(lists && { lists }) }, group.name);
    }
  }

  #mergeClients(taken: Taken): void {
    const { clients, groups } = this.#config;
    for (const client of this.#draft.clients) {
      if (
        clients.some(({ name, ids }) => name === client.name || ids.join() === client.ids.join())
      ) {
        taken.known++;
        continue;
      }
      const isGroupThere = groups.some(({ name }) => name === client.group);
      const group = isGroupThere ? client.group : '';
      this.#add(taken, clients, { ...client, group }, `${client.name} ${client.ids.join(' ')}`);
    }
  }

  #mergeRecords(taken: Taken): void {
    const { records } = this.#config;
    const keyOf = (one: (typeof records)[number]): string =>
      `${one.name.toLowerCase()} ${one.type} ${one.value}`;
    const known = new Set(records.map(keyOf));
    for (const record of this.#draft.records) {
      if (known.has(keyOf(record))) taken.known++;
      else this.#add(taken, records, record, keyOf(record));
    }
  }

  #mergeSafeSearch(taken: Taken): void {
    const { safeSearch } = this.#draft;
    if (!safeSearch) return;
    if (this.#config.safeSearch.enabled) taken.known++;
    else {
      this.#config.safeSearch = safeSearch;
      taken.count++;
      taken.examples.push(...safeSearch.engines.slice(0, LIMITS.importExamplesMax));
    }
  }

  #mergeServers(taken: Taken): void {
    const { dns } = this.#config;
    const { upstreams, bootstrap, suffixes } = this.#draft;
    const replace = (there: string[], found: readonly string[]): void => {
      if (found.length === 0 || isDeepStrictEqual(there, found)) {
        taken.known += found.length;
        return;
      }
      taken.replaced += there.length;
      const before = new Set(there.splice(0));
      for (const server of found) {
        if (before.has(server)) taken.known++;
        else this.#note(taken, server);
        there.push(server);
      }
    };
    replace(dns.upstreams, upstreams);
    replace(dns.bootstrap, bootstrap);
    for (const [suffix, servers] of Object.entries(suffixes)) {
      if (servers.length === 0) continue;
      if (!(suffix in dns.suffixes) && Object.keys(dns.suffixes).length >= MAX_SUFFIXES) {
        this.#notes.add('upstreams', suffix, `only ${String(MAX_SUFFIXES)} suffixes can be set`);
        continue;
      }
      if (isDeepStrictEqual(dns.suffixes[suffix], servers)) {
        taken.known++;
        continue;
      }
      taken.replaced += dns.suffixes[suffix]?.length ?? 0;
      dns.suffixes[suffix] = servers;
      this.#note(taken, `${suffix}: ${servers.join(', ')}`);
    }
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
}

const MAX_SUFFIXES = LIMITS.upstreamSuffixesMax;
const MERGED = ['lists', 'rules', 'groups', 'clients', 'records', 'services'] as const;

function isMergedSection(section: unknown): section is (typeof MERGED)[number] {
  return MERGED.includes(section as (typeof MERGED)[number]);
}
