/**
 * A part of the settings that is fetched, shown and changed: every change answers with the whole
 * part as it is then.
 */
import { describeError } from '../client/call-error.ts';
import { Poll } from './poll.svelte.ts';
import type { Toasts } from './toasts.svelte.ts';

const refreshMs = 5_000;

export class Edited<Answer> {
  readonly #poll: Poll<Answer>;
  readonly #toasts: Toasts;

  constructor(load: () => Promise<Answer>, toasts: Toasts) {
    this.#poll = new Poll(load, refreshMs);
    this.#toasts = toasts;
  }

  /** Null until the service has told. */
  get value(): Answer | null {
    return this.#poll.value;
  }

  get error(): unknown {
    return this.#poll.error;
  }

  async refresh(): Promise<void> {
    await this.#poll.refresh();
  }

  /** Makes a change. Rejects with the service's CallError, for a form to show. */
  async submit(change: () => Promise<Answer>): Promise<void> {
    this.#poll.set(await change());
  }

  /**
   * Makes a change and tells when it failed.
   *
   * @param explain  the failure in words
   * @returns        whether it was made
   */
  async attempt(
    change: () => Promise<Answer>,
    explain: (error: unknown) => string = describeError,
  ): Promise<boolean> {
    try {
      await this.submit(change);
      return true;
    } catch (error) {
      this.#toasts.fail(explain(error));
      await this.#poll.refresh();
      return false;
    }
  }
}
