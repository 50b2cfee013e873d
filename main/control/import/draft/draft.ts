/**
 * What was found in the file of another program, in this program's terms, with what cannot be taken
 * and why. Filled by the readers beside this file, one for each program; `settle` then makes groups
 * of who gets what, and import-plan.ts merges it into the settings. Every entry is checked as it
 * comes in, so that one bad line costs itself alone.
 */
import type { z } from 'zod';
import { configSchema, type Config, type ListSource } from '../../../contract/config.ts';
import { toWire } from '../../../contract/errors.ts';
import type { ImportSection } from '../../../contract/methods/import.ts';
import { LIMITS } from '../../../contract/limits.ts';
import { findings } from '../../../contract/schema-text.ts';
import { parseRule } from '../../../lists/compile/rules.ts';
import { parseUpstream } from '../../../net/upstream-address.ts';
import { sourceConflict } from '../../settings/settings-conflicts.ts';
import { serviceCatalogue } from '../../policy/services.ts';
import { recordsBelow } from './below.ts';
import { settleShares, type EverybodyShare, type Member, type Share } from './share.ts';
import { freeName, shown, titleOf } from './titles.ts';

export interface NotTaken {
  readonly section: ImportSection | 'other';
  readonly why: string;
  count: number;
  /** At most LIMITS.importExamplesMax. */
  readonly examples: string[];
}

type Client = Config['clients'][number];
type Group = Config['groups'][number];
type LocalRecord = Config['records'][number];
type Policy = Config['policies'][number];

const { lists, clients, groups, records, policies } = configSchema.shape;
const listSchema = lists.unwrap().element;
const clientSchema = clients.unwrap().element;
const groupSchema = groups.unwrap().element;
const recordSchema = records.unwrap().element;
const policySchema = policies.unwrap().element;
const upstreamSchema = configSchema.shape.dns.unwrap().shape.upstreams.unwrap().element;
const bootstrapSchema = configSchema.shape.dns.unwrap().shape.bootstrap.unwrap().element;
const RULE_CHARS_MAX = 512;

/** Collects what is left out, by reason. */
export class SkipNotes {
  readonly #found = new Map<string, NotTaken>();

  constructor(start: readonly NotTaken[] = []) {
    for (const one of start) {
      const { section, why } = one;
      this.#found.set(`${section} ${why}`, { ...one, examples: [...one.examples] });
    }
  }

  /** The most frequent first. */
  get all(): NotTaken[] {
    return [...this.#found.values()].sort((a, b) => b.count - a.count);
  }

  /** @param text  shown as an example; '' for none */
  add(section: NotTaken['section'], text: string, why: string): void {
    const reason = this.#reason(section, why);
    const key = `${section} ${reason}`;
    const found = this.#found.get(key) ?? { section, why: reason, count: 0, examples: [] };
    this.#found.set(key, found);
    found.count++;
    if (text !== '' && found.examples.length < LIMITS.importExamplesMax) {
      found.examples.push(shown(text));
    }
  }

  /** Reasons may have parts of the file in them, so that there could be any number of them. */
  #reason(section: NotTaken['section'], why: string): string {
    const isKnown = this.#found.has(`${section} ${why}`);
    return isKnown || this.#found.size < LIMITS.importReasonsMax ? shown(why) : 'other reasons';
  }
}

export interface ListOptions {
  readonly enabled?: boolean;
  /** allow: what it names is allowed. */
  readonly action?: 'block' | 'allow';
  /** exact: a plain name means itself only, as in the program that it comes from. */
  readonly match?: 'exact';
}

export class ImportDraft {
  /** What the file is, for people. */
  readonly program: string;
  readonly lists: ListSource[] = [];
  /** Filled by `settle`, as are groups, clients, services and policies. */
  readonly rules: string[] = [];
  readonly groups: Group[] = [];
  readonly clients: Client[] = [];
  readonly services: string[] = [];
  readonly policies: Policy[] = [];
  readonly records: LocalRecord[] = [];
  safeSearch: Config['safeSearch'] | null = null;
  blocking: Partial<Config['blocking']> | null = null;
  strategy: Config['dns']['strategy'] | null = null;
  readonly upstreams: string[] = [];
  /** Names below a suffix that go to the servers of all others. */
  readonly defaultSuffixes: string[] = [];
  readonly bootstrap: string[] = [];
  readonly notes = new SkipNotes();

  /** What holds for clients without a share of their own. */
  readonly everybody: EverybodyShare = {
    lists: null,
    rules: new Set(),
    services: new Set(),
    policies: new Set(),
  };
  /** What the group of those is called, if there must be one. */
  everybodyTitle = 'Default';
  readonly members: Member[] = [];
  /** Groups of nobody, in case somebody joins them. */
  readonly spareGroups: { readonly title: string; readonly share: Share }[] = [];
  /** Name of the group of all clients that the file does not name; '' when there is none. */
  othersGroup = '';

  readonly #suffixes = new Map<string, string[]>();
  readonly #names = new Set<string>();
  readonly #listNames = new Set<string>();
  readonly #listUrls = new Map<string, string>();
  readonly #records = new Set<string>();
  /** Rules that came, and whether they can be used. */
  readonly #rules = new Map<string, boolean>();

  constructor(program: string) {
    this.program = program;
  }

  /** Servers of some names and all below them. */
  get suffixes(): Record<string, string[]> {
    return Object.fromEntries(this.#suffixes);
  }

  /** Notes something that is left out. */
  skip(section: NotTaken['section'], text: string, why: string): void {
    this.notes.add(section, text, why);
  }

  /** Lists in files of this machine are noted, not taken. Before `settle`. */
  leaveOutFiles(): void {
    for (const list of this.lists.splice(0)) {
      if (!list.url.startsWith('file:')) this.lists.push(list);
      else
        this.skip('lists', list.url, 'a file: "sluice import" on the machine itself can take it');
    }
  }

  /** Works out groups and clients, and what holds below names. Once, at the end. */
  settle(): void {
    for (const suffix of this.defaultSuffixes) this.#settleDefault(suffix);
    for (const { name, type, value, ttlSeconds } of recordsBelow(this.records)) {
      this.addRecord(name, type, value, ttlSeconds);
    }
    settleShares(this);
  }

  /** Without a suffix around it, it goes to the servers of all others anyway. */
  #settleDefault(suffix: string): void {
    const isInside = [...this.#suffixes.keys()].some((other) => suffix.endsWith(`.${other}`));
    if (!isInside) return;
    if (this.upstreams.length === 0) {
      this.skip('upstreams', suffix, 'it goes to the usual servers, of which the file has none');
    }
    const servers = this.suffixServers(suffix);
    for (const server of this.upstreams.slice(0, LIMITS.suffixServersMax)) {
      this.addUpstream(server, servers);
    }
  }

  /**
   * Adds a list; one with the same URL is added once.
   *
   * @returns its name, made different from the others; '' when it is not taken
   */
  addList(name: string, url: string, { enabled = true, action, match }: ListOptions = {}): string {
    const key = `${action ?? 'block'} ${url}`;
    const known = this.#listUrls.get(key);
    if (known !== undefined) return known;
    if (this.#isFull('lists', url, this.lists.length, LIMITS.listsMax)) return '';
    const wanted = freeName(titleOf(name, url), (other) => this.#listNames.has(other));
    const list = this.#checked('lists', url, listSchema, {
      ...{ name: wanted, url, enabled },
      ...(match !== undefined && { match }),
      ...(action === 'allow' && { action }),
    });
    if (!list) return '';
    const conflict = sourceConflict(list);
    if (conflict) {
      this.skip('lists', url, `it cannot be used as a list: ${conflict.text}`);
      return '';
    }
    this.lists.push(list);
    this.#listNames.add(list.name);
    this.#listUrls.set(key, list.name);
    return list.name;
  }

  /** Adds a rule of everybody, or to the rules of a share. */
  addRule(text: string, target: Set<string> = this.everybody.rules): void {
    const rule = text.trim();
    if (!this.#isRule(rule) || target.has(rule)) return;
    if (!this.#isFull('rules', rule, target.size, LIMITS.rulesMax)) target.add(rule);
  }

  /** Notes one that is none, once. */
  #isRule(rule: string): boolean {
    if (rule.length > RULE_CHARS_MAX) {
      this.skip('rules', rule, `it is longer than ${String(RULE_CHARS_MAX)} characters`);
      return false;
    }
    const known = this.#rules.get(rule);
    if (known !== undefined) return known;
    const why = ruleTrouble(rule);
    if (why !== '') this.skip('rules', rule, why);
    this.#rules.set(rule, why === '');
    return why === '';
  }

  /** Adds a client with what it gets. */
  addMember(member: Member): void {
    const { length } = this.members;
    if (!this.#isFull('clients', member.name, length, LIMITS.clientsMax)) this.members.push(member);
  }

  /** Whether a group or client has the name. */
  hasName(name: string): boolean {
    return this.#names.has(name);
  }

  addGroup(group: z.input<typeof groupSchema>): Group | null {
    if (this.#isFull('groups', group.name, this.groups.length, LIMITS.groupsMax)) return null;
    const checked = this.#checked('groups', group.name, groupSchema, group);
    if (!checked) return null;
    this.groups.push(checked);
    this.#names.add(checked.name);
    return checked;
  }

  addClient(client: z.input<typeof clientSchema>): void {
    if (this.#isFull('clients', client.name, this.clients.length, LIMITS.clientsMax)) return;
    const name = freeName(client.name, (other) => this.#names.has(other));
    const checked = this.#checked('clients', client.name, clientSchema, { ...client, name });
    if (!checked) return;
    this.clients.push(checked);
    this.#names.add(name);
  }

  addPolicy(policy: z.input<typeof policySchema>): void {
    if (this.#isFull('policies', policy.name, this.policies.length, LIMITS.policiesMax)) return;
    const name = freeName(policy.name, (other) => this.policies.some((one) => one.name === other));
    const checked = this.#checked('policies', policy.name, policySchema, { ...policy, name });
    if (checked) this.policies.push(checked);
  }

  /** @param name  may have "*." in front: all names below */
  addRecord(name: string, type: LocalRecord['type'], value: string, ttlSeconds?: number): void {
    const text = `${name} ${type} ${value}`;
    if (this.#records.has(text)) return;
    if (this.#isFull('records', text, this.records.length, LIMITS.recordsMax)) return;
    this.#records.add(text);
    const record = { name, type, value, ...(ttlSeconds !== undefined && { ttlSeconds }) };
    const checked = this.#checked('records', text, recordSchema, record);
    if (checked) this.records.push(checked);
  }

  /** Adds a record for a name and all names below it. */
  addSubtree(name: string, type: LocalRecord['type'], value: string, ttlSeconds?: number): void {
    this.addRecord(name, type, value, ttlSeconds);
    this.addRecord(`*.${name}`, type, value, ttlSeconds);
  }

  /** @param target  where it goes: all questions, those of a suffix, or host names of servers */
  addUpstream(text: string, target = this.upstreams): void {
    const schema = target === this.bootstrap ? bootstrapSchema : upstreamSchema;
    if (target.includes(text)) return;
    const max = this.#serversMax(target);
    if (this.#isFull('upstreams', text, target.length, max)) return;
    const why = schema.safeParse(text).success ? upstreamTrouble(text) : 'no such kind of server';
    if (why !== '') this.skip('upstreams', text, why);
    else target.push(text);
  }

  /** As the schema of the settings has it. */
  #serversMax(target: readonly string[]): number {
    if (target === this.upstreams) return 16;
    return target === this.bootstrap ? 8 : LIMITS.suffixServersMax;
  }

  /** The servers of a suffix, made when missing. */
  suffixServers(suffix: string): string[] {
    const key = suffix.toLowerCase().replace(/\.$/, '');
    const servers = this.#suffixes.get(key) ?? [];
    this.#suffixes.set(key, servers);
    return servers;
  }

  /** Adds services that are blocked, for all or to those of a share. */
  addService(id: string, target: Set<string> = this.everybody.services): void {
    const known = serviceIdOf(id);
    if (known === '') this.skip('services', id, 'it is not in the catalogue of services');
    else target.add(known);
  }

  #checked<Schema extends z.ZodType>(
    section: ImportSection,
    text: string,
    schema: Schema,
    value: unknown,
  ): z.output<Schema> | null {
    const result = schema.safeParse(value);
    if (result.success) return result.data;
    const [first] = findings(schema, value, result.error.issues);
    this.skip(section, text, first?.text ?? 'not allowed here');
    return null;
  }

  #isFull(section: ImportSection, text: string, count: number, max: number): boolean {
    if (count < max) return false;
    const advice = section === 'rules' ? '; add a long file as a list instead' : '';
    this.skip(section, text, `only ${String(max)} can be in the settings${advice}`);
    return true;
  }
}

/** The program's own id of a service that another program calls `id`; '' when it knows none. */
function serviceIdOf(id: string): string {
  const plain = id.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  const found = serviceCatalogue().find((one) => one.id.replaceAll('-', '') === plain);
  return found?.id ?? '';
}

/** Why a rule cannot be used; '' when it can. */
function ruleTrouble(rule: string): string {
  try {
    parseRule(rule);
    return '';
  } catch (error) {
    // How to write a rule instead is for those who write one.
    const why = toWire(error).message.replace(/^rule ".*?" cannot be used: /s, '');
    return why.replace(/; (?:a rule needs|write) .*$/s, '');
  }
}

function upstreamTrouble(text: string): string {
  if (text === 'system') return '';
  try {
    parseUpstream(text);
    return '';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
