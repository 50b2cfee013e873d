/**
 * What the service needs of the parts it composes, as interfaces that the real classes fit and
 * tests replace: the data plane, the lists and the query log.
 */
import type { Config, ListSource } from '../../contract/config.ts';
import type { CounterSnapshot, HistogramName } from '../../contract/counters.ts';
import type {
  Latency,
  ListStatus,
  MethodArguments,
  MethodOutput,
} from '../../contract/methods/methods.ts';
import type { UpstreamUse } from '../../dataplane/data-plane.ts';
import type { PolicyMessage } from '../../dataplane/messages.ts';
import type { OwnAnswer } from '../../dataplane/own-question.ts';
import type { CachedItem } from '../../engine/cache/cache-view.ts';
import type { RuleBuffers } from '../../engine/filter/rule-set.ts';
import type { ListMemory } from '../../lists/meta.ts';
import type { UpstreamState } from '../../net/upstream/upstream.ts';

/** The engine in its threads (dataplane/data-plane.ts). */
export interface PlanePart {
  /** Addresses that are served now. */
  readonly listening: readonly string[];
  /** All addresses that are to be listened on, also those that are not there. */
  readonly own: readonly string[];
  /** Servers in use, "system" replaced; the log's upstream index counts in this list. */
  readonly upstreams: readonly string[];
  readonly threads: number;
  /** Threads started again after a crash. */
  readonly restarts: number;
  setPolicy(policy: PolicyMessage): void;
  /** How each of `upstreams` is doing, in the same order. */
  upstreamStates(): Promise<UpstreamState[]>;
  setUpstreams(upstreams: readonly string[], use: UpstreamUse): void;
  /** For another network: new upstream sockets, health forgotten, what is in flight sent again. */
  resetUpstreams(): void;
  /** Listens on what can be listened on now. @param hasChanged  the machine's addresses are others */
  lookAtListeners(hasChanged: boolean): void;
  counters(): CounterSnapshot;
  /** The client that `dns.allow` kept out last, 16 bytes; null when there was none. */
  lastDenied(): Uint8Array | null;
  latency(): { readonly local: Latency; readonly upstream: Latency };
  /** Answers by bucket, summed over threads; buckets as in contract/counters.ts. */
  histograms(): Readonly<Record<HistogramName, ArrayLike<number>>>;
  flushCache(): void;
  /** What is kept about a name, thread by thread. */
  inspectCache(name: string): Promise<readonly (readonly CachedItem[])[]>;
  /** Forgets what is kept about a name, with `below` about all below it. */
  flushName(name: string, below: boolean): Promise<number>;
  /** Asks a question as a client would; null when no thread could answer it. */
  resolve(packet: Uint8Array, address: Uint8Array): Promise<OwnAnswer | null>;
  close(): Promise<void>;
}

/** The lists (lists/list-manager.ts). */
export interface ListsPart {
  readonly table: RuleBuffers;
  readonly nameCount: number;
  /** Names of lists by the id that tables and log records carry. */
  readonly listNames: ReadonlyMap<number, string>;
  setSources(sources: readonly ListSource[], refreshHours: number): void;
  refresh(name?: string): Promise<void>;
  accept(name: string): Promise<void>;
  rollBack(name: string): Promise<void>;
  /** What is worth keeping about the lists beside their copies. */
  memory(): ListMemory[];
  /** Takes that over for lists without a copy. */
  remember(memory: readonly ListMemory[]): void;
  statuses(): ListStatus[];
  /** The source line of an entry; '' when unknown. */
  ruleText(listId: number, line: number): string;
  close(): Promise<void>;
}

/** The query log (log/query-log.ts). */
export interface LogPart {
  readonly state: LogState;
  setLive(on: boolean): void;
  setNames(lists: ReadonlyMap<number, string>, upstreams: readonly string[]): void;
  setSettings(settings: Config['log']): void;
  search(input: MethodArguments<'queries.search'>): Promise<MethodOutput<'queries.search'>>;
  statistics(input: MethodArguments<'statistics'>): Promise<MethodOutput<'statistics'>>;
  close(): Promise<void>;
}

export interface LogState {
  readonly state: 'ok' | 'degraded' | 'off';
  /** One plain sentence each; empty unless degraded. */
  readonly reasons: readonly string[];
  /** Things worth telling that stop nothing. */
  readonly notices: readonly string[];
  readonly stored: number;
  readonly dropped: number;
  readonly bytes: number;
  readonly batches: number;
  readonly statisticsUpdates: number;
  /** Rows removed by retention. */
  readonly pruned: number;
  /** Writer threads: 1, or 0 between a crash and the restart. */
  readonly writers: number;
  /** Crashed writers replaced. */
  readonly restarts: number;
}
