/**
 * One round of list work: fetch the given lists, compile what changed, try the result on the names
 * asked for lately, and take it over. The list manager runs one round at a time; between rounds
 * disk, meta and table agree.
 */
import { statSync } from 'node:fs';
import { AppError, toWire } from '../contract/errors.ts';
import { LIMITS } from '../contract/limits.ts';
import { CONNECTIVITY_NAME_LIST } from '../engine/state/connectivity.ts';
import { createMatchContext } from '../engine/filter/match-context.ts';
import { RULE_BLOCK, RULE_IMPORTANT_BLOCK, RuleSet } from '../engine/filter/rule-set.ts';
import { tableKey, type CompileResult, type CompileSource } from './compile/compile.ts';
import { compileInThread, type CompileDone } from './compile/compiler.ts';
import type { Fetched } from './fetch/download.ts';
import { fetchList, type FetchContext } from './fetch-list.ts';
import {
  acceptHeld,
  candidatesOnly,
  failed,
  fetchedSame,
  held,
  knownCopy,
  rolledBack,
  taken,
  type Candidate,
  type Candidates,
} from './list-changes.ts';
import type { List, ListSet } from './list-set.ts';
import type { CopyMeta, HoldKind, ListMeta, ReplayFacts } from './meta.ts';
import { holdReason, kindOfRefusal } from './quarantine.ts';
import { factsFor, replayNames, type BlockerOf } from './replay.ts';
import type { ListClock } from './schedule.ts';
import { hashOfFile, type ListStore } from './store.ts';

export interface UpdaterOptions extends FetchContext {
  readonly store: ListStore;
  readonly set: ListSet;
  readonly clock: ListClock;
  /** Another compile thread, for tests of its crashes. */
  readonly compileEntry?: URL | undefined;
  onProgress(listName: string, lines: number): void;
  /** Names asked for lately, the most asked for first; never rejects. */
  usedNames(): Promise<readonly string[]>;
}

/** What a round is asked to do. */
export interface RoundOrders {
  readonly fetch: readonly List[];
  /** Lists whose held copy is to be taken. */
  readonly accept: readonly List[];
  /** Lists that go back to the copy before. */
  readonly rollBack: readonly List[];
}

export class ListUpdater {
  table: RuleSet;
  /** Lists whose stored copy turned out damaged: to be fetched soon. */
  readonly damaged = new Set<List>();
  readonly #options: UpdaterOptions;
  /** The metas as they are on disk, as JSON. */
  #saved: string;
  /**
   * Lists whose rules are in the table in use, but without a copy to make them again from: until
   * they are fetched, removed or disabled, the table stays as it is.
   */
  readonly #lost = new Set<List>();
  /** New copies that wait for the lost lists. */
  #waiting: Candidates = new Map();

  constructor(options: UpdaterOptions) {
    this.#options = options;
    this.table = options.store.loadSnapshot() ?? RuleSet.empty();
    this.#saved = JSON.stringify(options.set.metas);
  }

  /** Nothing is known any more about the lists that the table in use was made from. */
  metaWasLost(): void {
    if (this.table.ruleCount === 0) return;
    for (const list of this.#options.set.lists) if (list.source.enabled) this.#lost.add(list);
  }

  /**
   * Does what is ordered and compiles if the inputs of the table have changed in any way.
   *
   * Failures of a list end in its meta, never in an exception; what is thrown is a failing disk.
   * `table` is another object afterwards if there is a new one, also when this throws.
   */
  async round({ fetch, accept, rollBack }: RoundOrders): Promise<void> {
    const { store, set, clock } = this.#options;
    for (const list of rollBack) list.meta = rolledBack(list.meta, clock.wallMs());
    const candidates = await this.#fetchAll(fetch);
    for (const list of accept) {
      const candidate = acceptHeld(list.meta, (copy) => store.copyPath(copy));
      if (candidate) candidates.set(list.meta.id, candidate);
    }
    try {
      await this.#compile(candidates);
    } finally {
      await store.dropSnapshotCandidate();
      const metas = JSON.stringify(set.metas);
      if (metas !== this.#saved) await store.saveMeta(set.metas);
      this.#saved = metas;
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
    const { id, url } = list.meta;
    try {
      const builtin = store.builtinPath(url);
      const path = builtin ?? store.candidatePath(id);
      const fetched = builtin
        ? readInPlace(builtin)
        : await fetchList(url, knownCopy(list.meta), path, this.#options);
      const same = fetchedSame(list.meta, fetched?.sha256 ?? null);
      if (!fetched || same !== null) {
        await this.#unchanged(list, same, fetched, path);
        return;
      }
      const checkedAtMs = clock.wallMs();
      const copy = { ...copyFacts(fetched), url, fetchedAtMs: checkedAtMs, namesRead: 0 };
      // What comes with the program needs no judging.
      candidates.set(id, { kind: builtin ? 'accepted' : 'candidate', path, copy });
      list.meta = { ...list.meta, checkedAtMs };
    } catch (error) {
      if (this.#options.signal.aborted) return;
      list.meta = failed(list.meta, clock.wallMs(), toWire(error).message);
    }
  }

  /** The server has given a copy that is here already; null for what it has sent means "304". */
  async #unchanged(
    list: List,
    same: ReturnType<typeof fetchedSame>,
    fetched: Fetched | null,
    path: string,
  ): Promise<void> {
    const { store, clock } = this.#options;
    // The file of a copy that is known may be damaged or gone: the fresh one takes its place.
    if (fetched && same === 'current') await store.keep(path, fetched);
    else await store.dropCandidate(path);
    const { meta } = list;
    const checkedAtMs = clock.wallMs();
    if (same === 'held' || same === 'rolled-back') {
      list.meta = { ...meta, checkedAtMs, failures: 0 };
      return;
    }
    const current =
      fetched && meta.current ? { ...meta.current, ...copyFacts(fetched) } : meta.current;
    list.meta = { ...meta, checkedAtMs, current, failures: 0, error: '', held: null };
    if (fetched) this.#lost.delete(list);
  }

  /** Compiles when the inputs differ from those of the table; else does nothing. */
  async #compile(fresh: Candidates): Promise<void> {
    const candidates: Candidates = new Map([...this.#waiting, ...fresh]);
    this.#waiting = new Map();
    await this.#dropOrphans(candidates);
    while (!(await this.#compileOnce(candidates)));
  }

  /** @returns whether that is all; false when a list of it has to be left out, or waited for */
  async #compileOnce(candidates: Candidates): Promise<boolean> {
    if (this.#mustWait(candidates)) return true;
    const sources = this.#sources(candidates);
    if (sources.length === 0) {
      if (this.table.ruleCount > 0) this.table = RuleSet.empty();
      return true;
    }
    if (this.#isTableOf(sources, candidates)) return true;
    const done = await this.#runThread(sources, candidates);
    if (!done) return true;
    const table = done.rules ? RuleSet.open(done.rules) : this.table;
    const facts = await this.#replay(table, done.results, candidates);
    if (this.#options.signal.aborted) return true;
    if (await this.#quarantine(facts, candidates)) return false;
    if (await this.#hasLost(done.results, candidates)) return false;
    await this.#takeOver(done, table, candidates, facts);
    return true;
  }

  /** Whether the table has to stay because a list in it could not be made again. */
  #mustWait(candidates: Candidates): boolean {
    const { lists } = this.#options.set;
    for (const list of this.#lost) {
      if (!lists.includes(list) || !list.source.enabled) this.#lost.delete(list);
    }
    const isWaiting = [...this.#lost].some(({ meta }) => !candidates.has(meta.id));
    if (isWaiting) this.#waiting = candidates;
    return isWaiting;
  }

  /** Finds lists in the table in use that the compiler has found no usable copy of. */
  async #hasLost(results: readonly CompileResult[], candidates: Candidates): Promise<boolean> {
    if (this.table.ruleCount === 0) return false;
    let isAny = false;
    for (const result of results) {
      const list = this.#options.set.byId(result.listId);
      if (result.used !== null || !list) continue;
      if (!list.meta.current && !this.#lost.has(list)) continue;
      await this.#lose(list, result, candidates);
      isAny = true;
    }
    return isAny;
  }

  async #lose(list: List, result: CompileResult, candidates: Candidates): Promise<void> {
    const candidate = candidates.get(result.listId);
    if (candidate) await this.#refuse(list, candidate, result);
    candidates.delete(result.listId);
    const reason = result.refused.find(({ kind }) => kind === 'current')?.reason ?? 'not usable';
    const text = `stored copy lost: ${reason}; the table in use stays until it is fetched`;
    // Without validators, so that the server sends the list and not "304".
    const current = list.meta.current && { ...list.meta.current, etag: '', lastModified: '' };
    list.meta = { ...failed(list.meta, this.#options.clock.wallMs(), text), current };
    this.#lost.add(list);
    this.damaged.add(list);
  }

  #isTableOf(sources: readonly CompileSource[], candidates: Candidates): boolean {
    if (candidates.size > 0) return false;
    const inputs = sources.map((source) => {
      return { ...source, sha256: source.copies[0]?.sha256 ?? '' };
    });
    return Buffer.compare(tableKey(inputs), this.table.key) === 0;
  }

  async #takeOver(
    done: CompileDone,
    table: RuleSet,
    candidates: Candidates,
    facts: ReadonlyMap<number, Tried>,
  ): Promise<void> {
    for (const result of done.results) {
      const replay = facts.get(result.listId)?.facts ?? null;
      const names = done.changes.find(({ listId }) => listId === result.listId);
      await this.#apply(result, candidates, { atMs: this.#options.clock.wallMs(), replay, names });
    }
    this.table = table;
    if (!done.rules) return;
    if (done.snapshotError !== '') throw new Error(`snapshot not saved: ${done.snapshotError}`);
    await this.#options.store.commitSnapshot();
  }

  /** A list may have been removed, disabled or given another URL while it was fetched. */
  async #dropOrphans(candidates: Candidates): Promise<void> {
    const { store, set } = this.#options;
    for (const [id, { path, copy }] of candidates) {
      const list = set.byId(id);
      if (list?.source.enabled === true && list.meta.url === copy.url) continue;
      candidates.delete(id);
      await store.dropCandidate(path);
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
        const { kind, path, copy } = candidate;
        const namesBefore = meta.current?.url === copy.url ? meta.current.namesRead : 0;
        const { sha256, bytes } = copy;
        copies.unshift({ kind, paths: [path], sha256, bytes, namesBefore });
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
        {
          sources,
          keyInUse: this.table.key.slice(),
          inUse: this.table.buffers,
          snapshotPath: store.snapshotCandidatePath,
        },
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
        const candidate = candidates.get(listId);
        if (candidate) await store.dropCandidate(candidate.path);
      }
      return null;
    }
  }

  /** What the new copies that are in the table would do to the names in use. */
  async #replay(
    table: RuleSet,
    results: readonly CompileResult[],
    candidates: Candidates,
  ): Promise<Map<number, Tried>> {
    const found = new Map<number, Tried>();
    const ids = candidatesOnly(results, candidates);
    if (ids.size === 0 || table === this.table) return found;
    const { signal } = this.#options;
    const names = await this.#options.usedNames();
    const [before, after] = [blockerOf(this.table), blockerOf(table)];
    const replay = await replayNames(names, before, after, signal);
    const checks = await replayNames(CONNECTIVITY_NAME_LIST, before, after, signal);
    for (const id of ids) {
      const connectivity = factsFor(checks, id, ids).blockedExamples;
      found.set(id, { facts: replay.names > 0 ? factsFor(replay, id, ids) : null, connectivity });
    }
    return found;
  }

  /**
   * Sets candidates aside that would hurt. A list's first copy, or that of another URL, is taken
   * whatever it blocks: a person has just asked for it.
   *
   * @returns whether one was set aside, so that the table must be made without it
   */
  async #quarantine(tried: ReadonlyMap<number, Tried>, candidates: Candidates): Promise<boolean> {
    const { set, clock } = this.#options;
    let isAny = false;
    for (const [id, { facts, connectivity }] of tried) {
      const list = set.byId(id);
      const candidate = candidates.get(id);
      if (!list || candidate?.kind !== 'candidate') continue;
      if (list.meta.current?.url !== candidate.copy.url) continue;
      const reason = holdReason(facts ?? NOTHING_TRIED, connectivity);
      if (reason === null) continue;
      await this.#hold(list, candidate, 'replay', reason);
      list.meta = { ...list.meta, checkedAtMs: clock.wallMs() };
      candidates.delete(id);
      isAny = true;
    }
    return isAny;
  }

  async #hold(list: List, candidate: Candidate, kind: HoldKind, reason: string): Promise<void> {
    await this.#options.store.keep(candidate.path, candidate.copy);
    list.meta = held(list.meta, candidate.copy, kind, reason);
  }

  /** Takes over what the compiler found about one list. */
  async #apply(
    result: CompileResult,
    candidates: Candidates,
    how: Parameters<typeof taken>[2],
  ): Promise<void> {
    const { store, set } = this.#options;
    const list = set.byId(result.listId);
    if (!list) return;
    list.meta = { ...list.meta, ...factsOf(result) };
    const candidate = candidates.get(result.listId);
    if (candidate && result.used === candidate.kind) {
      await store.keep(candidate.path, candidate.copy);
      if (this.#lost.delete(list)) list.meta = { ...list.meta, current: null };
      const copy = { ...candidate.copy, namesRead: result.report?.names ?? 0 };
      list.meta = taken(list.meta, copy, how);
      return;
    }
    if (candidate) await this.#refuse(list, candidate, result);
    if (result.used !== 'current') this.#fallBack(list, result);
  }

  /** The compiler has not taken the new copy. What may be right after all is kept for a person. */
  async #refuse(list: List, candidate: Candidate, result: CompileResult): Promise<void> {
    const { store, clock } = this.#options;
    const found = result.refused.find((one) => one.kind === candidate.kind)?.reason;
    const reason = found ?? 'not usable';
    const kind = kindOfRefusal(reason);
    const isKept = kind !== 'not-a-list' && candidate.kind === 'candidate';
    if (isKept) {
      await this.#hold(list, candidate, kind, reason);
      list.meta = { ...list.meta, checkedAtMs: clock.wallMs() };
      return;
    }
    await store.dropCandidate(candidate.path);
    const waiting = { kind, reason, copy: candidate.copy, isKept: false };
    const error = `update refused: ${reason}`;
    list.meta = { ...failed(list.meta, clock.wallMs(), error), held: waiting };
  }

  /** The current copy was not usable: takes the previous one, or none, and wants a new one. */
  #fallBack(list: List, result: CompileResult): void {
    const { clock } = this.#options;
    const { meta } = list;
    const had = result.refused.find((one) => one.kind === 'current' || one.kind === 'previous');
    if (!had) return;
    // Without validators, so that the server sends the list and not "304".
    const usable = result.used === 'previous' ? meta.previous : null;
    const current = usable ? { ...usable, etag: '', lastModified: '' } : null;
    const instead = usable ? 'the one before is in use' : 'there is no other';
    const text = `stored copy not used: ${had.reason}; ${instead}`;
    const rest = { current, previous: null, held: null, rolledBack: '' };
    list.meta = { ...failed(meta, clock.wallMs(), text), ...rest };
    this.damaged.add(list);
  }
}

/** What a replay found about one new copy. */
interface Tried {
  /** Null without names to try. */
  readonly facts: ReplayFacts | null;
  readonly connectivity: readonly string[];
}

const NOTHING_TRIED: ReplayFacts = {
  ...{ names: 0, used: 0, newlyBlocked: 0, newlyAllowed: 0 },
  ...{ blockedExamples: [], allowedExamples: [] },
};

/** For a question of type A by a client of which nothing is known. */
function blockerOf(table: RuleSet): BlockerOf {
  const context = createMatchContext();
  return (view) => {
    const rank = table.match(view, context);
    return rank === RULE_BLOCK || rank === RULE_IMPORTANT_BLOCK ? table.listId : 0;
  };
}

/** What the compiler found out about the text; nothing when the table in use was kept. */
function factsOf(result: CompileResult): Partial<ListMeta> {
  const { report, names, used } = result;
  if (!report && used !== null) return {};
  const { format = '', lines = 0, rules = 0, comments = 0, ignored = [] } = report ?? {};
  return { format, names: report ? names : 0, lines, rules, comments, ignored };
}

/** A built-in list, which is read where it lies: a disk that is full has no room for a copy. */
function readInPlace(path: string): Fetched {
  try {
    return {
      sha256: hashOfFile(path),
      bytes: statSync(path).size,
      etag: '',
      lastModified: '',
      isFromPublic: false,
    };
  } catch (error) {
    throw new AppError('LIST_UNREACHABLE', `file cannot be read: ${toWire(error).message}`, error);
  }
}

function copyFacts(fetched: Fetched): Omit<CopyMeta, 'url' | 'fetchedAtMs' | 'namesRead'> {
  const { sha256, bytes, etag, lastModified, isFromPublic } = fetched;
  return { sha256, bytes, etag, lastModified, isFromPublic };
}
