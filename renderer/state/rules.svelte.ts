/**
 * The user's own rules.
 */
import type { ServiceClient } from '../../main/contract/methods.ts';
import { describeError } from '../client/call-error.ts';
import { Poll } from './poll.svelte.ts';
import type { Toasts } from './toasts.svelte.ts';

const refreshMs = 10_000;

export class Rules {
  readonly #client: ServiceClient;
  readonly #toasts: Toasts;
  readonly #poll: Poll<readonly string[]>;

  constructor(client: ServiceClient, toasts: Toasts) {
    this.#client = client;
    this.#toasts = toasts;
    this.#poll = new Poll(async () => (await client.call('rules.list', {})).rules, refreshMs);
  }

  /** Null until the service has told. */
  get all(): readonly string[] | null {
    return this.#poll.value;
  }

  get error(): unknown {
    return this.#poll.error;
  }

  async retry(): Promise<void> {
    await this.#poll.refresh();
  }

  /** Takes the rules as another part of the window got them. */
  take(rules: readonly string[]): void {
    this.#poll.set(rules);
  }

  /** Adds a rule. Rejects with the service's CallError, for the form to show. */
  async add(rule: string): Promise<void> {
    this.take((await this.#client.call('rules.add', { rule })).rules);
  }

  /** Removes a rule; the message offers to add it again. */
  async remove(rule: string): Promise<void> {
    try {
      this.take((await this.#client.call('rules.remove', { rule })).rules);
      this.#toasts.show(`${rule} was removed.`, () => this.add(rule));
    } catch (error) {
      this.#toasts.fail(describeError(error));
      await this.#poll.refresh();
    }
  }
}
