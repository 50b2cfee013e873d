/**
 * One round of list work: fetch the given lists, compile what changed, try the result on the names
 * asked for lately, and take it over. The list manager runs one round at a time; between rounds
 * disk, meta and table agree.
 */
import { toWire } from '../contract/errors.ts';
import { LIMITS } from '../contract/limits.ts';
import { CONNECTIVITY_NAME_LIST } from '../engine/connectivity.ts';
import { createMatchContext } from '../engine/match-context.ts';
import { RULE_BLOCK, RULE_IMPORTANT_BLOCK, RuleSet } from '../engine/rule-set.ts';
import { tableKey, type CompileResult, type CompileSource } from './compile.ts';
import { compileInThread, type CompileDone } from './compiler.ts';
import type { Fetched } from './download.ts';
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
import type { ListStore } from './store.ts';

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

  constructor(options: UpdaterOptions) {
    this.#options = options;
    this.table = options.store.loadSnapshot() ?? RuleSet.empty();
  }

  /**
   * Does what is ordered and compiles if the inputs of the table have changed in any way.
   *
   * Failures of a list end in its meta, never in an exception; what is thrown is a failing disk.
   * `table` is another object afterwards if there is a new one, also when this throws.
   */
  async round({ fetch, accept, rollBack }: RoundOrders): Promise<void> {
    const { store, set, clock } = this.#options;
    const before = JSON.stringify(set.metas);
    for (const list of rollBack) {
      if (!list.meta.previous) continue;
      await store.swapCopies(list.meta.id);
      list.meta = rolledBack(list.meta, clock.wallMs());
    }
    const candidates = await this.#fetchAll(fetch);
    for (const list of accept) {
      const candidate = acceptHeld(list.meta, store.heldPath(list.meta.id));
      if (candidate) candidates.set(list.meta.id, candidate);
    }
    try {
      await this.#compile(candidates);
    } finally {
      await store.dropSnapshotCandidate();
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
    const { id, url } = list.meta;
    const path = store.candidatePath(id);
    try {
      const fetched = await fetchList(url, knownCopy(list.meta), path, this.#options);
      const checkedAtMs = clock.wallMs();
      const same = fetchedSame(list.meta, fetched?.sha256 ?? null);
      if (fetched && same === null) {
        const copy = { ...copyFacts(fetched), url, fetchedAtMs: checkedAtMs, namesRead: 0 };
        candidates.set(id, { kind: 'candidate', path, copy });
        list.meta = { ...list.meta, checkedAtMs };
        return;
      }
      await store.dropCandidate(id);
      await this.#unchanged(list, same, fetched);
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
  ): Promise<void> {
    const { meta } = list;
    const checkedAtMs = this.#options.clock.wallMs();
    if (same === 'held' || same === 'rolled-back') {
      list.meta = { ...meta, checkedAtMs, failures: 0 };
      return;
    }
    if (meta.held) await this.#options.store.dropHeld(meta.id);
    const current =
      fetched && meta.current ? { ...meta.current, ...copyFacts(fetched) } : meta.current;
    list.meta = { ...meta, checkedAtMs, current, failures: 0, error: '', held: null };
  }

  /** Compiles when the inputs differ from those of the table; else does nothing. */
  async #compile(candidates: Candidates): Promise<void> {
    await this.#dropOrphans(candidates);
    for (;;) {
      const sources = this.#sources(candidates);
      if (sources.length === 0) {
        if (this.table.ruleCount > 0) this.table = RuleSet.empty();
        return;
      }
      if (candidates.size === 0 && this.#isTableOf(sources)) return;
      const done = await this.#runThread(sources, candidates);
      if (!done) return;
      const table = done.rules ? RuleSet.open(done.rules) : this.table;
      const facts = await this.#replay(table, done.results, candidates);
      if (this.#options.signal.aborted) return;
      if (await this.#quarantine(facts, candidates)) continue;
      await this.#takeOver(done, table, candidates, facts);
      return;
    }
  }

  #isTableOf(sources: readonly CompileSource[]): boolean {
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
    for (const [id, { copy }] of candidates) {
      const list = set.byId(id);
      if (list?.source.enabled === true && list.meta.url === copy.url) continue;
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
        await store.dropCandidate(listId);
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
    await this.#options.store.holdCandidate(list.meta.id);
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
      await store.acceptCandidate(list.meta.id, candidate.path);
      if (list.meta.held) await store.dropHeld(list.meta.id);
      const copy = { ...candidate.copy, namesRead: result.report?.names ?? 0 };
      list.meta = taken(list.meta, copy, how);
      return;
    }
    if (candidate) await this.#refuse(list, candidate, result);
    if (result.used !== 'current') await this.#fallBack(list, result);
    else if (result.path !== '') await store.settleCurrent(list.meta.id, result.path);
  }

  /** The compiler has not taken the new copy. What may be right after all is kept for a person. */
  async #refuse(list: List, candidate: Candidate, result: CompileResult): Promise<void> {
    const { store, clock } = this.#options;
    const { id } = list.meta;
    const found = result.refused.find((one) => one.kind === candidate.kind)?.reason;
    const reason = found ?? 'not usable';
    const kind = kindOfRefusal(reason);
    const isKept = kind !== 'not-a-list' && candidate.kind === 'candidate';
    if (isKept) {
      await this.#hold(list, candidate, kind, reason);
      list.meta = { ...list.meta, checkedAtMs: clock.wallMs() };
      return;
    }
    await store.dropCandidate(id);
    if (list.meta.held) await store.dropHeld(id);
    const waiting = { kind, reason, copy: candidate.copy, isKept: false };
    const error = `update refused: ${reason}`;
    list.meta = { ...failed(list.meta, clock.wallMs(), error), held: waiting };
  }

  /** The current copy was not usable: takes the previous one, or none, and wants a new one. */
  async #fallBack(list: List, result: CompileResult): Promise<void> {
    const { store, clock } = this.#options;
    const { meta } = list;
    const had = result.refused.find((one) => one.kind === 'current' || one.kind === 'previous');
    if (!had) return;
    // Without validators, so that the server sends the list and not "304".
    const usable = result.used === 'previous' ? meta.previous : null;
    const current = usable ? { ...usable, etag: '', lastModified: '' } : null;
    if (usable) await store.settleCurrent(meta.id, result.path);
    if (meta.held) await store.dropHeld(meta.id);
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

function copyFacts(fetched: Fetched): Omit<CopyMeta, 'url' | 'fetchedAtMs' | 'namesRead'> {
  const { sha256, bytes, etag, lastModified, isFromPublic } = fetched;
  return { sha256, bytes, etag, lastModified, isFromPublic };
}
