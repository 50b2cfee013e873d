/**
 * What of the live feed the table shows: filtered, bounded, and held still while somebody reads or
 * points, so that a row never moves away under a click.
 */
import type { LiveFeed, NumberedRow } from './live-feed.svelte.ts';

/** Rows in the table while it is held; also the bound on its DOM nodes. */
const heldRowsMax = 200;
/** Rows while it moves: nobody reads further down then, and each new row costs a layout. */
const movingRowsMax = 60;

export class LiveTable {
  readonly #feed: LiveFeed;
  text = $state('');
  blockedOnly = $state(false);
  #isPaused = $state(false);
  #isTouched = $state(false);
  #held = $state.raw<{ rows: readonly NumberedRow[]; newest: number } | null>(null);

  readonly #shown = $derived.by(() => {
    const held = this.#held;
    const rows = held?.rows ?? this.#feed.rows;
    const text = this.text.trim().toLowerCase();
    const wanted = rows.filter(({ event }) => {
      if (this.blockedOnly && event.outcome !== 'blocked') return false;
      return text === '' || event.name.includes(text) || event.client.includes(text);
    });
    return wanted.slice(0, held === null ? movingRowsMax : heldRowsMax);
  });

  constructor(feed: LiveFeed) {
    this.#feed = feed;
  }

  get shown(): readonly NumberedRow[] {
    return this.#shown;
  }

  /** Paused by the button. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Held because the pointer or the keyboard focus is in the table. */
  get isTouched(): boolean {
    return this.#isTouched;
  }

  /** Rows that came since the table is held; 0 while it moves. */
  get newerRows(): number {
    return this.#held === null ? 0 : this.#feed.newest - this.#held.newest;
  }

  get isFiltered(): boolean {
    return this.blockedOnly || this.text.trim() !== '';
  }

  togglePause(): void {
    this.#isPaused = !this.#isPaused;
    this.#holdOrRelease();
  }

  touch(isTouched: boolean): void {
    this.#isTouched = isTouched;
    this.#holdOrRelease();
  }

  #holdOrRelease(): void {
    if (!this.#isPaused && !this.#isTouched) this.#held = null;
    else this.#held ??= { rows: this.#feed.rows, newest: this.#feed.newest };
  }
}
