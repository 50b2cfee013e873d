/**
 * What crosses between the main thread (query-log.ts, reader-client.ts) and the log's two threads.
 *
 * Counters do not travel as messages: they lie in shared memory (status-block.ts).
 */
import type { ClientPlace } from './client-names.ts';
import type { WireError } from '../contract/errors.ts';
import type { QueryEvent } from '../contract/query-event.ts';

/** The log section of the settings (contract/config.ts). */
export interface LogSettings {
  readonly mode: 'full' | 'anonymous' | 'off';
  readonly retentionDays: number;
  readonly sizeMaxMiB: number;
}

/** Whether rows are being stored, and if not, why: one plain sentence each. */
export interface LogHealth {
  readonly state: 'ok' | 'degraded';
  readonly reasons: readonly string[];
  /** Things worth telling that stop nothing, e.g. files set aside earlier. */
  readonly notices: readonly string[];
}

/** Start data of the writer thread. */
export interface WriterData {
  readonly directory: string;
  readonly settings: LogSettings;
  /** One per data-plane thread (ring.ts). */
  readonly rings: readonly SharedArrayBuffer[];
  /** StatusBlock memory; survives a restart of the thread. */
  readonly status: SharedArrayBuffer;
  readonly live: boolean;
  readonly lists: ReadonlyMap<number, string>;
  readonly upstreams: readonly string[];
}

export type ToWriter =
  | { readonly kind: 'settings'; readonly settings: LogSettings }
  | {
      readonly kind: 'names';
      readonly lists: ReadonlyMap<number, string>;
      readonly upstreams: readonly string[];
    }
  | { readonly kind: 'live'; readonly on: boolean }
  /** Retention now, over the whole table; answered with `done` when it has ended. */
  | { readonly kind: 'prune'; readonly id: number }
  /** Empties the write-ahead log if no reader holds it; answered with `done`. */
  | { readonly kind: 'checkpoint'; readonly id: number }
  /** Store what is queued, at most for `withinMs`, and end. */
  | { readonly kind: 'close'; readonly withinMs: number };

export type FromWriter =
  | { readonly kind: 'ready' }
  | { readonly kind: 'health'; readonly health: LogHealth }
  | { readonly kind: 'live'; readonly rows: readonly QueryEvent[]; readonly leftOut: number }
  | { readonly kind: 'done'; readonly id: number };

/** Arguments of 'queries.search', validated at the door (contract/methods/methods.ts). */
export interface SearchArguments {
  readonly text?: string | undefined;
  readonly client?: string | undefined;
  /** With it, `client` may be part of a name as well. From the control plane, never from a door. */
  readonly clientPlaces?: readonly ClientPlace[] | undefined;
  readonly outcome?: QueryEvent['outcome'] | undefined;
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
  readonly beforeId?: number | undefined;
  readonly limit?: number | undefined;
}

export interface SearchResult {
  /** Newest first. */
  rows: QueryEvent[];
  /** Where the next page begins; null when there is none. */
  nextBeforeId: number | null;
  /** The time limit ended the search; `nextBeforeId` goes on where it stopped. */
  incomplete: boolean;
}

/** Arguments of 'statistics', validated at the door. */
export interface StatisticsArguments {
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
  readonly stepMinutes?: number | undefined;
}

export interface StatisticsPoint {
  timeMs: number;
  queries: number;
  blocked: number;
  cached: number;
  failed: number;
}

export interface StatisticsResult {
  sinceMs: number;
  untilMs: number;
  stepMinutes: number;
  points: StatisticsPoint[];
  topBlocked: { name: string; count: number }[];
  topClients: { client: string; clientName: string; count: number }[];
}

export interface UsedNamesArguments {
  /** Rows older than this are left out. */
  readonly sinceMs: number;
  /** Most names given. */
  readonly limit: number;
}

/** Start data of the reader thread. */
export interface ReaderData {
  readonly directory: string;
}

/** What the reader can be asked, by kind. */
export interface ReaderCalls {
  search: { arguments: SearchArguments; result: SearchResult };
  statistics: { arguments: StatisticsArguments; result: StatisticsResult };
  /** Distinct names, the most asked for first. */
  usedNames: { arguments: UsedNamesArguments; result: string[] };
}
export type ReaderCall = keyof ReaderCalls;

export type ToReader =
  | { readonly kind: 'search'; readonly id: number; readonly arguments: SearchArguments }
  | { readonly kind: 'statistics'; readonly id: number; readonly arguments: StatisticsArguments }
  | { readonly kind: 'usedNames'; readonly id: number; readonly arguments: UsedNamesArguments }
  | { readonly kind: 'close' };

export type FromReader =
  | { readonly id: number; readonly ok: true; readonly value: ReaderCalls[ReaderCall]['result'] }
  | { readonly id: number; readonly ok: false; readonly error: WireError };
