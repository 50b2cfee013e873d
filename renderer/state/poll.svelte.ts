/**
 * A value that is fetched again and again, but only while something shown reads it.
 */
import { createSubscriber } from 'svelte/reactivity';
import { whileVisible } from './while-visible.ts';

export class Poll<Value> {
  readonly #load: () => Promise<Value>;
  readonly #follow: () => void;
  #value = $state.raw<Value | null>(null);
  #error = $state.raw<unknown>(null);
  #valueAtMs = $state(0);
  #isLoading = $state(false);
  /** Grows with each fetch and each `set`, so that a late answer never replaces a newer one. */
  #turn = 0;

  constructor(load: () => Promise<Value>, intervalMs: number) {
    this.#load = load;
    this.#follow = createSubscriber(() =>
      whileVisible(() => {
        void this.refresh();
        const timer = setInterval(() => {
          if (!this.#isLoading) void this.refresh();
        }, intervalMs);
        return () => {
          clearInterval(timer);
        };
      }),
    );
  }

  /** The last value that came; null before the first. Reading it keeps it fresh. */
  get value(): Value | null {
    this.#follow();
    return this.#value;
  }

  /** When the value came, milliseconds since 1970; 0 before. */
  get valueAtMs(): number {
    return this.#valueAtMs;
  }

  /** Why the last fetch failed; null when it did not. */
  get error(): unknown {
    return this.#error;
  }

  /** Fetches now. Never rejects: see `error`. */
  async refresh(): Promise<void> {
    const turn = ++this.#turn;
    this.#isLoading = true;
    try {
      const value = await this.#load();
      if (turn === this.#turn) this.#take(value);
    } catch (error) {
      if (turn !== this.#turn) return;
      this.#error = error;
      this.#isLoading = false;
    }
  }

  /** Takes a value that came by another way, such as the answer of a change. */
  set(value: Value): void {
    this.#turn++;
    this.#take(value);
  }

  #take(value: Value): void {
    this.#value = value;
    this.#valueAtMs = Date.now();
    this.#error = null;
    this.#isLoading = false;
  }
}
