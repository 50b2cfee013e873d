/**
 * What was found in the file of another program, in this program's terms, with what cannot be taken
 * and why. Filled by the readers beside this file, one for each program; plan.ts merges it into the
 * settings. Every entry is checked as it comes in, so that one bad line costs itself alone.
 */
import type { z } from 'zod';
import { configSchema, type Config, type ListSource } from '../../contract/config.ts';
import { toWire } from '../../contract/errors.ts';
import type { ImportSection } from '../../contract/import-methods.ts';
import { LIMITS } from '../../contract/limits.ts';
import { findings } from '../../contract/schema-text.ts';
import { parseRule } from '../../lists/rules.ts';
import { parseUpstream } from '../../net/upstream-address.ts';
import { sourceConflict } from '../settings-conflicts.ts';
import { serviceCatalogue } from '../services.ts';

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

const listSchema = configSchema.shape.lists.unwrap().element;
const clientSchema = configSchema.shape.clients.unwrap().element;
const groupSchema = configSchema.shape.groups.unwrap().element;
const recordSchema = configSchema.shape.records.unwrap().element;
const upstreamSchema = configSchema.shape.dns.unwrap().shape.upstreams.unwrap().element;
const bootstrapSchema = configSchema.shape.dns.unwrap().shape.bootstrap.unwrap().element;
const EXAMPLE_CHARS_MAX = 120;

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
    const key = `${section} ${why}`;
    const found = this.#found.get(key) ?? { section, why, count: 0, examples: [] };
    this.#found.set(key, found);
    found.count++;
    if (text !== '' && found.examples.length < LIMITS.importExamplesMax) {
      found.examples.push(shown(text));
    }
  }
}

export class ImportDraft {
  /** What the file is, for people. */
  readonly program: string;
  readonly lists: ListSource[] = [];
  readonly rules: string[] = [];
  readonly groups: Group[] = [];
  readonly clients: Client[] = [];
  readonly records: LocalRecord[] = [];
  readonly services: string[] = [];
  safeSearch: Config['safeSearch'] | null = null;
  readonly upstreams: string[] = [];
  readonly suffixes: Record<string, string[]> = {};
  readonly bootstrap: string[] = [];
  readonly notes = new SkipNotes();
  readonly #seen = new Map<readonly unknown[], Set<string>>();

  constructor(program: string) {
    this.program = program;
  }

  /** Notes something that is left out. */
  skip(section: NotTaken['section'], text: string, why: string): void {
    this.notes.add(section, text, why);
  }

  /**
   * Adds a list; one with the same URL is added once.
   *
   * @param action   allow: what it names is allowed
   * @returns its name, made different from the others; '' when it is not taken
   */
  addList(name: string, url: string, enabled = true, action: 'block' | 'allow' = 'block'): string {
    const known = this.lists.find((list) => list.url === url);
    if (known) return known.name;
    const wanted = freeName(titleOf(name, url), (other) =>
      this.lists.some((list) => list.name === other),
    );
    const list = this.#checked('lists', url, listSchema, {
      ...{ name: wanted, url, enabled },
      ...(action === 'allow' && { action }),
    });
    const conflict = list && sourceConflict(list);
    if (!list || this.#isFull('lists', url, this.lists.length, LIMITS.listsMax)) return '';
    if (conflict) {
      this.skip('lists', url, `it cannot be used as a list: ${conflict.text}`);
      return '';
    }
    this.lists.push(list);
    return list.name;
  }

  /** Adds a rule of everybody, or into the rules of a group. */
  addRule(text: string, target = this.rules): void {
    const rule = text.trim();
    const seen = this.#seenIn(target);
    if (seen.has(rule)) return;
    seen.add(rule);
    const max = target === this.rules ? LIMITS.rulesMax : LIMITS.groupRulesMax;
    const why = ruleTrouble(rule);
    if (why !== '') this.skip('rules', rule, why);
    else if (!this.#isFull('rules', rule, target.length, max)) target.push(rule);
  }

  addGroup(group: z.input<typeof groupSchema>): Group | null {
    if (this.groups.some(({ name }) => name === group.name)) {
      this.skip('groups', group.name, 'another group has the name');
      return null;
    }
    const checked = this.#checked('groups', group.name, groupSchema, group);
    if (!checked || this.#isFull('groups', group.name, this.groups.length, LIMITS.groupsMax)) {
      return null;
    }
    this.groups.push(checked);
    return checked;
  }

  addClient(client: z.input<typeof clientSchema>): void {
    const taken = (name: string): boolean =>
      [...this.clients, ...this.groups].some((other) => other.name === name);
    const name = freeName(client.name, taken);
    const checked = this.#checked('clients', client.name, clientSchema, { ...client, name });
    if (!checked || this.#isFull('clients', name, this.clients.length, LIMITS.clientsMax)) return;
    this.clients.push(checked);
  }

  addRecord(name: string, type: LocalRecord['type'], value: string, ttlSeconds?: number): void {
    const text = `${name} ${type} ${value}`;
    const seen = this.#seenIn(this.records);
    if (seen.has(text)) return;
    seen.add(text);
    const record = { name, type, value, ...(ttlSeconds !== undefined && { ttlSeconds }) };
    const checked = this.#checked('records', text, recordSchema, record);
    if (!checked || this.#isFull('records', text, this.records.length, LIMITS.recordsMax)) return;
    this.records.push(checked);
  }

  /** @param target  where it goes: all questions, those of a suffix, or host names of servers */
  addUpstream(text: string, target = this.upstreams): void {
    const schema = target === this.bootstrap ? bootstrapSchema : upstreamSchema;
    if (target.includes(text)) return;
    const why = schema.safeParse(text).success ? upstreamTrouble(text) : 'no such kind of server';
    const max = this.#serversMax(target);
    if (why !== '') this.skip('upstreams', text, why);
    else if (!this.#isFull('upstreams', text, target.length, max)) target.push(text);
  }

  /** As the schema of the settings has it. */
  #serversMax(target: readonly string[]): number {
    if (target === this.upstreams) return 16;
    return target === this.bootstrap ? 8 : LIMITS.suffixServersMax;
  }

  /** The servers of a suffix, made when missing. */
  suffixServers(suffix: string): string[] {
    const key = suffix.toLowerCase().replace(/\.$/, '');
    return (this.suffixes[key] ??= []);
  }

  /** Adds services that are blocked, for all or into `target`. */
  addService(id: string, target = this.services): void {
    const known = serviceIdOf(id);
    if (known === '') this.skip('services', id, 'it is not in the catalogue of services');
    else if (!target.includes(known)) target.push(known);
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
    this.skip(section, text, `only ${String(max)} can be in the settings`);
    return true;
  }

  /** Texts that came for a target, taken or not. */
  #seenIn(target: readonly unknown[]): Set<string> {
    const seen = this.#seen.get(target) ?? new Set<string>();
    this.#seen.set(target, seen);
    return seen;
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
  if (rule.length > 512) return 'it is longer than 512 characters';
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

/** A name that nobody has: the wanted one, or with a number. */
export function freeName(wanted: string, isTaken: (name: string) => boolean): string {
  for (let number = 1; ; number++) {
    const end = number === 1 ? '' : ` ${String(number)}`;
    const name = wanted.slice(0, 64 - end.length).trimEnd() + end;
    if (!isTaken(name)) return name;
  }
}

/** A name for a list: what a person called it, or host and last part of its URL. */
function titleOf(name: string, url: string): string {
  const given = cleanTitle(name);
  if (given !== '' && given.toLowerCase() !== 'rules') return given;
  if (!URL.canParse(url)) return 'List';
  const { hostname, pathname } = new URL(url);
  return cleanTitle(`${hostname} ${pathname.split('/').filter(Boolean).at(-1) ?? ''}`) || 'List';
}

/** Without control characters, at most 64 characters. */
export function cleanTitle(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, 64)
    .trim();
}

function shown(text: string): string {
  const line = text.replaceAll(/[\p{Cc}\s]+/gu, ' ').trim();
  return line.length > EXAMPLE_CHARS_MAX ? `${line.slice(0, EXAMPLE_CHARS_MAX)}…` : line;
}
