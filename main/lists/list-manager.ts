/**
 * The lists of this installation: keeps them fresh, compiles them, and offers the current table.
 *
 * Made by the service in the main thread. All work happens in rounds, one at a time
 * (list-updater.ts); parsing and compiling happen in a thread. Whatever goes wrong with a list ends
 * in its status, and the table in use stays.
 */
import type { LookupFunction } from 'node:net';
import type { ListSource } from '../contract/config.ts';
import { AppError, toWire } from '../contract/errors.ts';
import type { ListStatus } from '../contract/methods/methods.ts';
import type { RuleBuffers } from '../engine/filter/rule-set.ts';
import type { AskDisk } from './fetch/disk-space.ts';
import type { ListTrust } from './fetch/download.ts';
import { isLocal } from './fetch-list.ts';
import { ListSet, type List } from './list-set.ts';
import { ListUpdater } from './list-updater.ts';
import type { ListMemory } from './meta.ts';
import { SYSTEM_CLOCK, delayAfter, dueAtStart, dueByClock, type ListClock } from './schedule.ts';
import { ListStore } from './store.ts';

export interface ListManagerOptions {
  /** Of this manager alone; made when missing. */
  readonly directory: string;
  /** As in the settings; names are unique. */
  readonly sources: readonly ListSource[];
  readonly refreshHours: number;
  /** Resolves host names of lists; never the system resolver. */
  readonly lookup: LookupFunction;
  /** Which authorities of list servers are trusted; those of the runtime when not given. */
  readonly trust?: ListTrust;
  /** Holds <name>.txt of each builtin:<name>. */
  readonly builtinDirectory: string;
  /** There is a new table. */
  onTable(): void;
  /** A status has changed. */
  onStatus(): void;
  /** The compiler is at a line of a list; every 65,536 lines. */
  onProgress?(listName: string, lines: number): void;
  /** Names asked for lately, presentation form, the most asked for first. Default: none. */
  usedNames?(): Promise<readonly string[]>;
  readonly clock?: ListClock;
  /** 0 <= random < 1; spreads the refresh times. */
  random?(): number;
  /** For tests: time of one download (default LIMITS.listFetchMs), and another compile thread. */
  readonly fetchMs?: number;
  /** For tests of full disks. */
  readonly askDisk?: AskDisk;
  readonly compileEntry?: URL;
}

export class ListManager {
  readonly #options: ListManagerOptions;
  readonly #clock: ListClock;
  readonly #store: ListStore;
  readonly #set: ListSet;
  readonly #updater: ListUpdater;
  readonly #stop = new AbortController();
  #refreshMs: number;
  /** Waiting for the next round: lists to fetch, or just another look. */
  readonly #wanted = new Set<List>();
  readonly #accept = new Set<List>();
  readonly #rollBack = new Set<List>();
  #isRoundWanted = false;
  /** Nobody is told anything before `open` has resolved. */
  #isOpen = false;
  #running: Promise<void> | null = null;
  #cancelTimer: () => void = () => undefined;
  /** Why the list directory could not be written; '' when it could. */
  #diskError = '';

  private constructor(options: ListManagerOptions, store: ListStore, set: ListSet) {
    this.#options = options;
    this.#clock = options.clock ?? SYSTEM_CLOCK;
    this.#store = store;
    this.#set = set;
    this.#refreshMs = options.refreshHours * 3_600_000;
    this.#updater = new ListUpdater({
      store,
      set,
      clock: this.#clock,
      lookup: options.lookup,
      trust: options.trust,
      builtinDirectory: options.builtinDirectory,
      signal: this.#stop.signal,
      fetchMs: options.fetchMs,
      askDisk: options.askDisk,
      compileEntry: options.compileEntry,
      onProgress: (name, lines) => options.onProgress?.(name, lines),
      usedNames: async () => {
        try {
          return (await options.usedNames?.()) ?? [];
        } catch {
          return []; // Without a log nothing is replayed, and the list's status says so.
        }
      },
    });
  }

  /**
   * Resolves as soon as there is a table from what this machine has: the snapshot, the stored
   * copies, built-in lists and files. The network is used only afterwards.
   * A directory that cannot be made or written shows in the statuses.
   */
  static async open(options: ListManagerOptions): Promise<ListManager> {
    const store = new ListStore(options.directory, options.builtinDirectory);
    const stored = await store.open();
    const manager = new ListManager(options, store, new ListSet(stored.lists));
    await manager.#start(stored.isLost);
    return manager;
  }

  /** The compiled lists. Another object after each onTable; never written again. */
  get table(): RuleBuffers {
    return this.#updater.table.buffers;
  }

  /** Distinct names of all enabled lists. */
  get nameCount(): number {
    return this.#updater.table.nameCount;
  }

  /** Names of lists by the ids in table and log, also of lists removed lately. */
  get listNames(): ReadonlyMap<number, string> {
    return this.#set.names;
  }

  /** One status per list of the settings, in their order. */
  statuses(): ListStatus[] {
    const statuses = this.#set.statuses();
    if (this.#diskError === '') return statuses;
    return statuses.map((status) => {
      const isTold = status.error !== '' || !status.enabled;
      return isTold ? status : { ...status, state: 'failed', error: this.#diskError };
    });
  }

  /**
   * Takes new settings: fetches new lists at once, forgets removed ones, recompiles if needed.
   * Returns before that is done; onStatus and onTable tell.
   */
  setSources(sources: readonly ListSource[], refreshHours: number): void {
    if (this.#stop.signal.aborted) return;
    const nowMs = this.#clock.wallMs();
    for (const list of this.#set.setSources(sources, nowMs)) this.#wanted.add(list);
    const refreshMs = refreshHours * 3_600_000;
    if (refreshMs !== this.#refreshMs) {
      this.#refreshMs = refreshMs;
      for (const list of this.#set.lists) {
        list.dueAtMs = dueAtStart(nowMs, list.meta.checkedAtMs, this.#delay(list));
      }
    }
    void this.#work();
  }

  /**
   * Fetches one list or all enabled ones now. Resolves when the attempt has ended, well or not;
   * statuses() then says how.
   *
   * @throws AppError LIST_UNKNOWN, or ARGUMENT_INVALID for a disabled list
   */
  async refresh(name?: string): Promise<void> {
    if (this.#stop.signal.aborted) return;
    for (const list of name === undefined ? this.#set.lists : [this.#named(name)]) {
      if (list.source.enabled) this.#wanted.add(list);
    }
    await this.#work();
  }

  /**
   * Takes the copy of a list that waits in quarantine. Resolves when the attempt has ended.
   *
   * @throws AppError LIST_UNKNOWN, or ARGUMENT_INVALID when no copy waits that could be taken
   */
  async accept(name: string): Promise<void> {
    if (this.#stop.signal.aborted) return;
    const list = this.#named(name);
    if (list.meta.held?.isKept !== true) {
      throw new AppError('ARGUMENT_INVALID', `list "${name}" has no copy in quarantine to accept`);
    }
    this.#accept.add(list);
    await this.#work();
  }

  /**
   * Goes back to the copy before the one in use, and stays there until the server has another.
   *
   * @throws AppError LIST_UNKNOWN, or ARGUMENT_INVALID without a copy to go back to
   */
  async rollBack(name: string): Promise<void> {
    if (this.#stop.signal.aborted) return;
    const list = this.#named(name);
    if (!list.meta.previous) {
      throw new AppError('ARGUMENT_INVALID', `list "${name}" has no older copy to go back to`);
    }
    this.#rollBack.add(list);
    await this.#work();
  }

  /** What a backup keeps about the lists, which does not have their copies. */
  memory(): ListMemory[] {
    return this.#set.memory();
  }

  /** Takes over what a backup has kept, for lists without a copy. */
  remember(memory: readonly ListMemory[]): void {
    this.#set.remember(memory);
  }

  /** The source line of an entry, at most 512 bytes of it; '' when unknown. Reads the copy. */
  ruleText(listId: number, line: number): string {
    const current = this.#set.byId(listId)?.meta.current;
    return current ? this.#store.line(current, line) : '';
  }

  /** Ends downloads and compilation. Idempotent; resolves when nothing still runs. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#cancelTimer();
    await this.#running;
  }

  async #start(isMetaLost: boolean): Promise<void> {
    const nowMs = this.#clock.wallMs();
    const fetch = this.#set.setSources(this.#options.sources, nowMs);
    if (isMetaLost) this.#updater.metaWasLost();
    for (const list of this.#set.lists) {
      const { source, meta } = list;
      if (source.enabled && !meta.current && isLocal(source.url)) this.#wanted.add(list);
      const isDueNow = !meta.current || isLocal(source.url) || fetch.includes(list);
      list.dueAtMs = dueAtStart(nowMs, isDueNow ? null : meta.checkedAtMs, this.#delay(list));
    }
    this.#running = this.#round();
    await this.#running;
    this.#running = null;
    this.#isOpen = true;
    // What the copies turned out to lack comes from the network, which start does not wait for.
    if (this.#isWorkLeft()) void this.#work();
    else this.#schedule();
  }

  /** Runs rounds until nothing is wanted. Never rejects. */
  #work(): Promise<void> {
    this.#isRoundWanted = true;
    this.#running ??= this.#runRounds();
    return this.#running;
  }

  async #runRounds(): Promise<void> {
    this.#cancelTimer();
    do await this.#round();
    while (this.#isWorkLeft());
    // In one step with the last look at what is wanted, so that no wish falls between.
    this.#running = null;
    this.#schedule();
  }

  #isWorkLeft(): boolean {
    const wanted = this.#wanted.size + this.#accept.size + this.#rollBack.size;
    return !this.#stop.signal.aborted && (this.#isRoundWanted || wanted > 0);
  }

  async #round(): Promise<void> {
    this.#isRoundWanted = false;
    const lists = [...this.#wanted];
    const orders = { fetch: lists, accept: [...this.#accept], rollBack: [...this.#rollBack] };
    for (const wanted of [this.#wanted, this.#accept, this.#rollBack]) wanted.clear();
    for (const list of lists) list.isUpdating = true;
    if (lists.length > 0) this.#tell(false);
    const tableBefore = this.#updater.table;
    try {
      await this.#updater.round(orders);
      this.#diskError = '';
    } catch (error) {
      this.#diskError = `list data could not be saved: ${toWire(error).message}`;
    }
    for (const list of lists) {
      list.isUpdating = false;
      list.dueAtMs = this.#clock.wallMs() + this.#delay(list);
    }
    for (const list of this.#updater.damaged) this.#wanted.add(list);
    this.#updater.damaged.clear();
    this.#tell(this.#updater.table !== tableBefore);
  }

  #tell(isNewTable: boolean): void {
    if (this.#stop.signal.aborted || !this.#isOpen) return;
    if (isNewTable) this.#options.onTable();
    this.#options.onStatus();
  }

  /** Time from the list's last attempt to its next. */
  #delay(list: List): number {
    const random = this.#options.random?.() ?? Math.random();
    return delayAfter(this.#refreshMs, list.meta.failures, random);
  }

  /** Sets the one timer to the list that is due first. */
  #schedule(): void {
    this.#cancelTimer();
    const enabled = this.#set.lists.filter((list) => list.source.enabled);
    if (this.#stop.signal.aborted || enabled.length === 0) return;
    const first = Math.min(...enabled.map((list) => list.dueAtMs));
    this.#cancelTimer = this.#clock.after(Math.max(0, first - this.#clock.wallMs()), () => {
      const nowMs = this.#clock.wallMs();
      for (const list of this.#set.lists) {
        list.dueAtMs = dueByClock(nowMs, list.dueAtMs, this.#refreshMs);
        if (list.source.enabled && list.dueAtMs <= nowMs) this.#wanted.add(list);
      }
      void this.#work();
    });
  }

  #named(name: string): List {
    const list = this.#set.byName(name);
    if (!list) throw new AppError('LIST_UNKNOWN', `there is no list "${name}"`);
    if (list.source.enabled) return list;
    throw new AppError('ARGUMENT_INVALID', `list "${name}" is disabled; enable it first`);
  }
}
