/**
 * The methods of the fake service: enough state that what is changed can be seen to have changed.
 */
import type { UploadReceipt } from '../../main/contract/methods/import.ts';
import type { ListStatus, MethodOutput, Status } from '../../main/contract/methods/methods.ts';
import type { QueryEvent } from '../../main/contract/query-event.ts';
import { fakeCheck } from './fake-check.ts';
import { fakeLog, fakeNetwork, fakeStatistics, fakeStatus, fakeUpstreams } from './fake-data.ts';
import { FakeFilters } from './fake-filters.ts';
import { fakeImport } from './fake-imports.ts';
import { fakeCatalogue, fakeLists, newList } from './fake-lists.ts';
import { FakeRefusal, textOf, type MethodArguments } from './fake-refusal.ts';

export class FakeMethods {
  status: Status;
  lists: ListStatus[];
  upstreams: MethodOutput<'upstreams.list'> = fakeUpstreams();
  readonly filters = new FakeFilters();
  /** What the settings say of lists, where that is not as usual. */
  sources: MethodArguments[] = [{ name: 'Tracker domains', match: 'exact' }];
  rules: string[] = ['||ads.example.com^', '@@||good.example^'];
  temporary: { rule: string; endsAtMs: number }[] = [];
  log: QueryEvent[];
  /** Why taking over fails; '' when it does not. */
  takeoverFailure = '';
  /** Why there is no report of the network. */
  networkFailure = '';
  /** Said of every search. */
  isIncomplete = false;
  /** What was sent, oldest first. */
  readonly uploads: string[] = [];
  /** No answer is given before this. */
  gate: Promise<void> = Promise.resolve();

  constructor() {
    const nowMs = Date.now();
    this.status = fakeStatus(nowMs);
    this.lists = fakeLists(nowMs);
    this.log = fakeLog(350, nowMs);
  }

  /** Takes a file; its id goes into a method. */
  upload(text: string): UploadReceipt {
    this.uploads.push(text);
    return { id: String(this.uploads.length).padStart(22, '0'), bytes: text.length };
  }

  async call(name: string, input: MethodArguments): Promise<unknown> {
    await this.gate;
    if (name.startsWith('lists.')) return this.#list(name, input);
    if (name.startsWith('catalogue.')) return this.#known(name, input);
    if (this.filters.has(name)) return this.filters.call(name, input);
    if (name === 'settings.get') return { config: { lists: this.sources } };
    if (/^(import|settings)\./.test(name)) return fakeImport(name, input, this.uploads);
    if (name.startsWith('rules.')) return this.#rule(name, input);
    switch (name) {
      case 'status':
        return this.status;
      case 'upstreams.list':
        return this.upstreams;
      case 'pause':
        return this.#protect(input['minutes'] === undefined ? undefined : Number(input['minutes']));
      case 'resume':
        this.status.protection = { state: 'on', resumesAtMs: null };
        return this.status.protection;
      case 'network':
        if (this.networkFailure !== '') throw new FakeRefusal('INTERNAL', this.networkFailure);
        return fakeNetwork(this.status.takeover, Date.now());
      case 'right':
        throw new FakeRefusal('RIGHT_REFUSED', 'the question for a password was closed');
      case 'takeover':
      case 'restore':
      case 'portal':
        return this.#takeover(name, input);
      case 'queries.search':
        return this.#search(input);
      case 'statistics':
        return fakeStatistics(
          Number(input['sinceMs']),
          Number(input['untilMs']),
          Number(input['stepMinutes']),
        );
      case 'check':
        return fakeCheck(input, this.temporary);
      default:
        throw new FakeRefusal('METHOD_UNKNOWN', `there is no method ${name}`);
    }
  }

  #protect(minutes: number | undefined): Status['protection'] {
    this.status.protection =
      minutes === undefined
        ? { state: 'off', resumesAtMs: null }
        : { state: 'paused', resumesAtMs: Date.now() + minutes * 60_000 };
    return this.status.protection;
  }

  #takeover(name: string, input: MethodArguments) {
    const on = { state: 'on', owner: 'systemd-resolved', covered: ['eth0', 'wlan0'] } as const;
    const clear = { phase: 'clear', endsAtMs: null } as const;
    if (this.takeoverFailure !== '' && name === 'takeover') {
      throw new FakeRefusal('TAKEOVER_FAILED', this.takeoverFailure);
    }
    if (name === 'restore') {
      this.status.takeover = {
        ...{ state: 'off', reason: '', owner: '', covered: [], portal: clear },
      };
      return { outcome: 'restored', detail: 'the resolver is as it was before', items: [] };
    }
    const isOpen = name === 'portal' && input['open'] === true;
    this.status.takeover = {
      ...on,
      covered: [...on.covered],
      reason: isOpen ? 'names go past the filter to the servers of this network' : '',
      state: isOpen ? 'portal' : 'on',
      portal: isOpen ? { phase: 'open', endsAtMs: Date.now() + 300_000 } : clear,
    };
    return this.status.takeover;
  }

  #search(input: MethodArguments) {
    const text = textOf(input['text']);
    const client = textOf(input['client']);
    const beforeId = Number(input['beforeId'] ?? Infinity);
    const limit = Number(input['limit'] ?? 100);
    const found = this.log.filter(
      (row) =>
        row.id < beforeId &&
        row.name.includes(text) &&
        row.client.includes(client) &&
        row.timeMs >= Number(input['sinceMs'] ?? 0) &&
        row.timeMs <= Number(input['untilMs'] ?? Infinity) &&
        (input['outcome'] === undefined || row.outcome === input['outcome']),
    );
    const rows = found.slice(0, limit);
    const nextBeforeId = found.length > limit ? (rows.at(-1)?.id ?? null) : null;
    return { rows, nextBeforeId, incomplete: this.isIncomplete };
  }

  #rule(name: string, input: MethodArguments) {
    const rule = String(input['rule']);
    if (name === 'rules.add') {
      if (!/^(@@)?\|\|[a-z0-9.-]+\^$/.test(rule)) {
        throw new FakeRefusal(
          'RULE_INVALID',
          `cannot read the rule "${rule}": write ||name^ or @@||name^`,
        );
      }
      this.#addRule(rule, input);
    }
    if (name === 'rules.remove') {
      this.rules = this.rules.filter((known) => known !== rule);
      this.temporary = this.temporary.filter((known) => known.rule !== rule);
    }
    return { rules: this.rules, temporary: this.temporary };
  }

  #addRule(rule: string, { minutes, client }: MethodArguments): void {
    const whole = client === undefined ? rule : `${rule}$client=${textOf(client)}`;
    if (minutes === undefined) {
      this.rules = [...this.rules, whole];
    } else {
      const endsAtMs = Date.now() + Number(minutes) * 60_000;
      this.temporary = [...this.temporary, { rule: whole, endsAtMs }];
    }
  }

  #list(method: string, input: MethodArguments) {
    const name = input['name'];
    const list = this.lists.find((known) => known.name === name);
    if (method === 'lists.add') this.#addList(input, list !== undefined);
    if (method === 'lists.remove') this.lists = this.lists.filter((known) => known !== list);
    if (method === 'lists.enable' && list !== undefined) {
      list.enabled = input['enabled'] === true;
      list.state = list.enabled ? 'ok' : 'disabled';
    }
    if (method === 'lists.accept' && list !== undefined) {
      Object.assign(list, { quarantine: null, error: '', state: 'ok' });
    }
    if (method === 'lists.rollback' && list !== undefined) list.rolledBack = true;
    if (method === 'lists.change') {
      this.sources = this.sources.map((source) =>
        source['name'] === name ? { ...source, ...input } : source,
      );
    }
    if (method === 'lists.refresh') {
      for (const known of name === undefined ? this.lists : [list]) {
        if (known?.enabled === true) known.checkedAtMs = Date.now();
      }
    }
    return { lists: this.lists, names: this.lists.reduce((sum, { names }) => sum + names, 0) };
  }

  #addList(input: MethodArguments, isKnown: boolean): void {
    const name = String(input['name']);
    if (isKnown) throw new FakeRefusal('LIST_EXISTS', `a list named "${name}" is there already`);
    const url = String(input['url']);
    const enabled = input['enabled'] !== false;
    const format = textOf(input['format']) || 'auto';
    this.sources = [...this.sources.filter((source) => source['name'] !== name), input];
    this.lists = [...this.lists, { ...newList(name, url), format, enabled }];
  }

  #known(method: string, input: MethodArguments) {
    const entry = fakeCatalogue().find(({ id }) => id === input['id']);
    if (method === 'catalogue.add' && entry !== undefined) {
      return this.#list('lists.add', { name: entry.name, url: entry.url });
    }
    const added = (url: string): string => this.lists.find((list) => list.url === url)?.name ?? '';
    return { lists: fakeCatalogue().map((known) => ({ ...known, added: added(known.url) })) };
  }
}
