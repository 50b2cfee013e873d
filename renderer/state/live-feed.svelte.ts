/**
 * The live topic: subscribed to while something shown reads it, and only then.
 */
import { createSubscriber } from 'svelte/reactivity';
import type { LiveUpdate, ServiceClient } from '../../main/contract/methods/methods.ts';
import type { QueryEvent } from '../../main/contract/query-event.ts';
import { whileVisible } from './while-visible.ts';

/** Rows kept for filtering; the table shows fewer. */
const rowsKeptMax = 1_000;
/** Rows read from the log when the feed starts, so that the table is not empty at first. */
const rowsSeeded = 100;

/** A row with a number that is unique in this window: live rows carry no id. */
export interface NumberedRow {
  readonly number: number;
  readonly event: QueryEvent;
}

export class LiveFeed {
  readonly #client: ServiceClient;
  readonly #onUpdate: (update: LiveUpdate) => void;
  readonly #follow: () => void;
  #changed: () => void = () => undefined;
  #latest: LiveUpdate | null = null;
  #latestAtMs = 0;
  #rows: readonly NumberedRow[] = [];
  #rowsLeftOut = 0;
  #hasSeed = false;
  #nextNumber = 1;
  /** Which start of the feed this is: a seed of an earlier one comes too late. */
  #start = 0;

  /** @param onUpdate  told of each update, to share what concerns others (protection) */
  constructor(client: ServiceClient, onUpdate: (update: LiveUpdate) => void) {
    this.#client = client;
    this.#onUpdate = onUpdate;
    this.#follow = createSubscriber((changed) => {
      this.#changed = changed;
      return whileVisible(() => this.#begin());
    });
  }

  /** The last update; null before the first. */
  get latest(): LiveUpdate | null {
    this.#follow();
    return this.#latest;
  }

  /** When that update came, milliseconds since 1970; 0 before the first. */
  get latestAtMs(): number {
    this.#follow();
    return this.#latestAtMs;
  }

  /** Newest first, at most 1,000. */
  get rows(): readonly NumberedRow[] {
    this.#follow();
    return this.#rows;
  }

  /** Answers that came while the feed was read and for which there is no row. */
  get rowsLeftOut(): number {
    this.#follow();
    return this.#rowsLeftOut;
  }

  /** False until it is known what the log already has. */
  get hasStarted(): boolean {
    this.#follow();
    return this.#hasSeed || this.#rows.length > 0;
  }

  /** Number of the newest row so far. */
  get newest(): number {
    this.#follow();
    return this.#nextNumber - 1;
  }

  #begin(): () => void {
    const start = ++this.#start;
    this.#rows = [];
    this.#rowsLeftOut = 0;
    this.#hasSeed = false;
    const stop = this.#client.subscribe((update) => {
      this.#take(update);
    });
    void this.#seed(start);
    return () => {
      this.#start++;
      stop();
    };
  }

  #take(update: LiveUpdate): void {
    this.#latest = update;
    this.#latestAtMs = Date.now();
    this.#rowsLeftOut += update.rowsLeftOut;
    const fresh = update.rows.map((event) => ({ number: this.#nextNumber++, event })).reverse();
    if (fresh.length > 0) this.#rows = [...fresh, ...this.#rows].slice(0, rowsKeptMax);
    this.#onUpdate(update);
    this.#changed();
  }

  /** Puts stored rows below the live ones. Without a log there are none, which is no failure. */
  async #seed(start: number): Promise<void> {
    const stored = await this.#client
      .call('queries.search', { limit: rowsSeeded })
      .then((page) => page.rows)
      .catch(() => []);
    if (start !== this.#start) return;
    const oldestLiveMs = this.#rows.at(-1)?.event.timeMs ?? Infinity;
    const older = stored
      .filter((event) => event.timeMs < oldestLiveMs)
      .map((event) => ({ number: this.#nextNumber++, event }));
    this.#rows = [...this.#rows, ...older].slice(0, rowsKeptMax);
    this.#hasSeed = true;
    this.#changed();
  }
}
