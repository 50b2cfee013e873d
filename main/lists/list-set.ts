/**
 * The lists of the settings with what is known about each. Holds no files and does no work: the
 * list manager asks it what to do and tells it what came of it.
 */
import type { ListSource } from '../contract/config.ts';
import { LIMITS } from '../contract/limits.ts';
import type { ListStatus } from '../contract/methods/methods.ts';
import { LIST_ID_MAX, memoryOf, newListMeta } from './meta.ts';
import type { HeldCopy, ListMemory, ListMeta, ReplayFacts } from './meta.ts';

/** A list of the settings. `meta` is replaced whole at each change. */
export interface List {
  source: ListSource;
  meta: ListMeta;
  /** Wall clock of the next fetch, milliseconds. */
  dueAtMs: number;
  isUpdating: boolean;
}

export class ListSet {
  /** In the order of the settings. */
  lists: readonly List[] = [];
  #retired: ListMeta[];
  /** Ids given out since the program began. */
  readonly #given = new Set<number>();

  /** @param stored  as last saved; none is in the settings until `setSources` says so */
  constructor(stored: readonly ListMeta[]) {
    this.#retired = [...stored];
  }

  /** Everything to save. */
  get metas(): ListMeta[] {
    return [...this.lists.map((list) => list.meta), ...this.#retired];
  }

  /** Names by id, also of lists removed lately. */
  get names(): ReadonlyMap<number, string> {
    return new Map(this.metas.map((meta) => [meta.id, meta.name]));
  }

  byId(id: number): List | undefined {
    return this.lists.find((list) => list.meta.id === id);
  }

  byName(name: string): List | undefined {
    return this.lists.find((list) => list.source.name === name);
  }

  /**
   * Takes new settings. A list is the same one, with its id and copies, when its name is the same;
   * or else its URL, which is then a renaming.
   *
   * @returns lists to be fetched now: new ones and those with another URL
   */
  setSources(sources: readonly ListSource[], nowMs: number): readonly List[] {
    const known = this.metas;
    const names = new Set(sources.map((source) => source.name));
    const before = new Map(this.lists.map((list) => [list.meta.id, list]));
    const fetch: List[] = [];
    this.lists = sources.map((source) => {
      const found =
        known.find((meta) => meta.name === source.name) ??
        known.find((meta) => meta.url === source.url && !names.has(meta.name));
      if (found) known.splice(known.indexOf(found), 1);
      const meta = found ?? newListMeta(this.#freeId(), source.name, source.url);
      const old = before.get(meta.id);
      const list = old ?? { source, meta, dueAtMs: nowMs, isUpdating: false };
      const isFresh = !found || isOther(found, source) || old?.source.enabled === false;
      list.source = source;
      list.meta = { ...meta, name: source.name, url: source.url, isRetired: false };
      if (source.enabled && isFresh) fetch.push(list);
      return list;
    });
    this.#retired = known
      .map((meta) => ({ ...newListMeta(meta.id, meta.name, meta.url), isRetired: true }))
      .slice(-LIMITS.listsRetiredMax);
    return fetch;
  }

  /** What a backup keeps about the lists of the settings. */
  memory(): ListMemory[] {
    return this.lists.map((list) => memoryOf(list.meta));
  }

  /**
   * Takes over what a backup has kept, for lists that have no copy yet: which copy a person gave up.
   */
  remember(memory: readonly ListMemory[]): void {
    for (const list of this.lists) {
      const known = memory.find(
        ({ name, url }) => name === list.meta.name && url === list.meta.url,
      );
      if (!known || list.meta.current) continue;
      const rolledBack = typeof known.rolledBack === 'string' ? known.rolledBack : '';
      list.meta = { ...list.meta, rolledBack };
    }
  }

  statuses(): ListStatus[] {
    return this.lists.map((list) => statusOf(list));
  }

  /** The id above all that are or were in use, or the lowest free one when ids have run through. */
  #freeId(): number {
    const taken = new Set([...this.metas.map((meta) => meta.id), ...this.#given]);
    let id = Math.max(0, ...taken) + 1;
    if (id > LIST_ID_MAX) for (id = 1; taken.has(id);) id++;
    this.#given.add(id);
    return id;
  }
}

/** Whether what is remembered about a list says nothing about the text that it now names. */
function isOther(meta: ListMeta, source: ListSource): boolean {
  return meta.isRetired || meta.url !== source.url;
}

function statusOf({ source, meta, isUpdating }: List): ListStatus {
  return {
    name: source.name,
    url: source.url,
    format: source.format === 'auto' && meta.format !== '' ? meta.format : source.format,
    enabled: source.enabled,
    names: source.enabled ? meta.names : 0,
    lines: meta.lines,
    rules: meta.rules,
    comments: meta.comments,
    ignored: meta.ignored.map((one) => ({ ...one, examples: [...one.examples] })),
    updatedAtMs: meta.current?.fetchedAtMs ?? null,
    checkedAtMs: meta.checkedAtMs,
    state: stateOf(source.enabled, isUpdating, meta),
    error: meta.error,
    change: meta.change && { ...meta.change, replay: replayStatus(meta.change.replay) },
    quarantine: meta.held && quarantineStatus(meta.held),
    generations: generationsOf(meta),
    rolledBack: meta.rolledBack !== '',
  };
}

function replayStatus(facts: ReplayFacts | null): NonNullable<ListStatus['change']>['replay'] {
  if (!facts) return null;
  const { blockedExamples, allowedExamples } = facts;
  return {
    ...facts,
    blockedExamples: [...blockedExamples],
    allowedExamples: [...allowedExamples],
  };
}

function quarantineStatus(held: HeldCopy): ListStatus['quarantine'] {
  const { kind, reason, copy, isKept } = held;
  const { fetchedAtMs, bytes } = copy;
  return { kind, reason, fetchedAtMs, bytes, acceptable: isKept };
}

function generationsOf({ current, previous }: ListMeta): ListStatus['generations'] {
  return [current, previous].flatMap((copy, index) => {
    if (!copy) return [];
    const { fetchedAtMs, bytes, namesRead: names, sha256 } = copy;
    return [{ inUse: index === 0, fetchedAtMs, bytes, names, sha256 }];
  });
}

function stateOf(isEnabled: boolean, isUpdating: boolean, meta: ListMeta): ListStatus['state'] {
  if (!isEnabled) return 'disabled';
  if (isUpdating) return 'updating';
  if (meta.error !== '') return 'failed';
  return meta.current ? 'ok' : 'waiting';
}
