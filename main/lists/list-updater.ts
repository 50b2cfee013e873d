/**
 * One round of list work: fetch the given lists, compile what changed, take over the result.
 * The list manager runs one round at a time; between rounds disk, meta and table agree.
 */
import { toWire } from '../contract/errors.ts';
import { LIMITS } from '../contract/limits.ts';
import { RuleSet } from '../engine/rule-set.ts';
import { tableKey, type CompileResult, type CompileSource } from './compile.ts';
import { compileInThread, type CompileDone } from './compiler.ts';
import type { Fetched } from './download.ts';
import { fetchList, type FetchContext } from './fetch-list.ts';
import type { List, ListSet } from './list-set.ts';
import type { CopyMeta, ListMeta } from './meta.ts';
import type { ListClock } from './schedule.ts';
import type { ListStore } from './store.ts';

export interface UpdaterOptions extends FetchContext {
  readonly store: ListStore;
  readonly set: ListSet;
  readonly clock: ListClock;
  /** Another compile thread, for tests of its crashes. */
  readonly compileEntry?: URL | undefined;
  onProgress(listName: string, lines: number): void;
}

/** Candidates by list id. */
type Candidates = Map<number, CopyMeta>;

export class ListUpdater {
  table: RuleSet;
  /** Lists whose stored copy turned out damaged: to be fetched soon. */
  readonly damaged = new Set<List>();
  readonly #options: UpdaterOptions;

  constructor(options: UpdaterOptions) {
    this.#options = options;
    this.table = options.store.loadSnapshot() ?? RuleSet.empty();
  }

  /**
   * Fetches `lists` and compiles if the inputs of the table have changed in any way.
   *
   * Failures of a list end in its meta, never in an exception; what is thrown is a failing disk.
   * `table` is another object afterwards if there is a new one, also when this throws.
   */
  async round(lists: readonly List[]): Promise<void> {
    const { store, set } = this.#options;
    const before = JSON.stringify(set.metas);
    const candidates = await this.#fetchAll(lists);
    try {
      await this.#compile(candidates);
    } finally {
      if (JSON.stringify(set.metas) !== before) await store.saveMeta(set.metas);
    }
  }

  async #fetchAll(lists: readonly List[]): Promise<Candidates> {
    const candidates: Candidates = new Map();
    const queue = [...lists];
    const work = async (): Promise<void> => {
      for (let list = queue.shift(); list; list = queue.shift()) {
        await this.#fetch(list, candidates);
      }
    };
    await Promise.all(Array.from({ length: LIMITS.listFetchesMax }, work));
    return candidates;
  }

  async #fetch(list: List, candidates: Candidates): Promise<void> {
    const { store, clock } = this.#options;
    const { id, current, url } = list.meta;
    const target = store.candidatePath(id);
    try {
      const fetched = await fetchList(url, current, target, this.#options);
      const checkedAtMs = clock.wallMs();
      if (fetched && (fetched.sha256 !== current?.sha256 || current.url !== url)) {
        candidates.set(id, { ...copyFacts(fetched), url, fetchedAtMs: checkedAtMs, namesRead: 0 });
        list.meta = { ...list.meta, checkedAtMs };
        return;
      }
      await store.dropCandidate(id);
      const same = fetched && current ? { ...current, ...copyFacts(fetched) } : current;
      list.meta = { ...list.meta, checkedAtMs, current: same, failures: 0, error: '' };
    } catch (error) {
      if (this.#options.signal.aborted) return;
      list.meta = failed(list.meta, clock.wallMs(), toWire(error).message);
    }
  }

  /** Compiles when the inputs differ from those of the table; else does nothing. */
  async #compile(candidates: Candidates): Promise<void> {
    await this.#dropOrphans(candidates);
    const sources = this.#sources(candidates);
    const key = tableKey(
      sources.map((source) => ({ ...source, sha256: source.copies[0]?.sha256 ?? '' })),
    );
    if (sources.length === 0) {
      if (this.table.ruleCount > 0) this.table = RuleSet.empty();
      return;
    }
    if (candidates.size === 0 && Buffer.compare(key, this.table.key) === 0) return;
    const done = await this.#runThread(sources, candidates);
    if (!done) return;
    for (const result of done.results) await this.#apply(result, candidates);
    if (done.rules) this.table = RuleSet.open(done.rules);
    if (done.snapshotError !== '') throw new Error(`snapshot not saved: ${done.snapshotError}`);
  }

  /** A list may have been removed, disabled or given another URL while it was fetched. */
  async #dropOrphans(candidates: Candidates): Promise<void> {
    const { store, set } = this.#options;
    for (const [id, candidate] of candidates) {
      const list = set.byId(id);
      if (list?.source.enabled === true && list.meta.url === candidate.url) continue;
      candidates.delete(id);
      await store.dropCandidate(id);
    }
  }

  #sources(candidates: Candidates): CompileSource[] {
    const { store, set } = this.#options;
    const sources: CompileSource[] = [];
    for (const { source, meta } of set.lists) {
      if (!source.enabled) continue;
      const copies = store.copies(meta);
      const candidate = candidates.get(meta.id);
      if (candidate) {
        const before = meta.current?.url === candidate.url ? meta.current.namesRead : 0;
        copies.unshift({
          kind: 'candidate',
          paths: [store.candidatePath(meta.id)],
          sha256: candidate.sha256,
          bytes: candidate.bytes,
          namesBefore: before,
        });
      }
      const { format, match, action, allowWide } = source;
      if (copies.length === 0) continue;
      sources.push({ listId: meta.id, format, match, action, allowWide, copies });
    }
    return sources;
  }

  /** Null when the thread failed: the table stays as it is, and the lists say why. */
  async #runThread(
    sources: readonly CompileSource[],
    candidates: Candidates,
  ): Promise<CompileDone | null> {
    const { store, set, signal, compileEntry, clock } = this.#options;
    try {
      return await compileInThread(
        { sources, keyInUse: this.table.key.slice(), snapshotPath: store.snapshotPath },
        {
          signal,
          entry: compileEntry,
          onProgress: (listId, lines) => {
            this.#options.onProgress(set.names.get(listId) ?? '', lines);
          },
        },
      );
    } catch (error) {
      for (const { listId } of sources) {
        const list = set.byId(listId);
        if (!list || signal.aborted) continue;
        if (candidates.size > 0 && !candidates.has(listId)) continue;
        list.meta = failed(list.meta, clock.wallMs(), toWire(error).message);
        await store.dropCandidate(listId);
      }
      return null;
    }
  }

  /** Takes over what the compiler found about one list. */
  async #apply(result: CompileResult, candidates: Candidates): Promise<void> {
    const { store, set } = this.#options;
    const list = set.byId(result.listId);
    if (!list) return;
    list.meta = { ...list.meta, ...factsOf(result) };
    const candidate = candidates.get(result.listId);
    if (candidate && result.used === 'candidate') {
      await store.acceptCandidate(list.meta.id);
      const current = { ...candidate, namesRead: result.report?.names ?? 0 };
      const previous = list.meta.current;
      list.meta = { ...list.meta, current, previous, failures: 0, error: '' };
      return;
    }
    if (candidate) await this.#refuse(list, result);
    if (result.used !== 'current') await this.#fallBack(list, result);
    else if (result.path !== '') await store.settleCurrent(list.meta.id, result.path);
  }

  async #refuse(list: List, result: CompileResult): Promise<void> {
    await this.#options.store.dropCandidate(list.meta.id);
    const reason = result.refused.find((one) => one.kind === 'candidate')?.reason ?? 'not usable';
    const checkedAtMs = this.#options.clock.wallMs();
    list.meta = failed(list.meta, checkedAtMs, `update refused: ${reason}`);
  }

  /** The current copy was not usable: takes the previous one, or none, and wants a new one. */
  async #fallBack(list: List, result: CompileResult): Promise<void> {
    const { store, clock } = this.#options;
    const { meta } = list;
    const had = result.refused.find((one) => one.kind !== 'candidate');
    if (!had) return;
    // Without validators, so that the server sends the list and not "304".
    const usable = result.used === 'previous' ? meta.previous : null;
    const current = usable ? { ...usable, etag: '', lastModified: '' } : null;
    if (usable) await store.settleCurrent(meta.id, result.path);
    const instead = usable ? 'the one before is in use' : 'there is no other';
    const text = `stored copy not used: ${had.reason}; ${instead}`;
    list.meta = { ...failed(meta, clock.wallMs(), text), current, previous: null };
    this.damaged.add(list);
  }
}

/** What the compiler found out about the text; nothing when the table in use was kept. */
function factsOf(result: CompileResult): Partial<Pick<ListMeta, 'format' | 'names' | 'ignored'>> {
  const { report, names, used } = result;
  if (report) return { format: report.format, names, ignored: report.ignored };
  return used === null ? { format: '', names: 0, ignored: [] } : {};
}

function copyFacts(fetched: Fetched): Omit<CopyMeta, 'url' | 'fetchedAtMs' | 'namesRead'> {
  const { sha256, bytes, etag, lastModified } = fetched;
  return { sha256, bytes, etag, lastModified };
}

function failed(meta: ListMeta, checkedAtMs: number, error: string): ListMeta {
  return { ...meta, checkedAtMs, failures: meta.failures + 1, error };
}
