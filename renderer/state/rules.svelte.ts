/**
 * The user's own rules: those of the settings, and those that end by themselves.
 */
import type { MethodOutput, ServiceClient } from '../../main/contract/methods/methods.ts';
import { describeError } from '../client/call-error.ts';
import { t } from '../text.ts';
import { Poll } from './poll.svelte.ts';
import type { Toasts } from './toasts.svelte.ts';

const refreshMs = 10_000;

export type RuleLists = MethodOutput<'rules.list'>;

export class Rules {
  readonly #client: ServiceClient;
  readonly #toasts: Toasts;
  readonly #poll: Poll<RuleLists>;

  constructor(client: ServiceClient, toasts: Toasts) {
    this.#client = client;
    this.#toasts = toasts;
    this.#poll = new Poll(() => client.call('rules.list', {}), refreshMs);
  }

  /** Those of the settings; null until the service has told. */
  get all(): readonly string[] | null {
    return this.#poll.value?.rules ?? null;
  }

  /** The next to end first. */
  get temporary(): RuleLists['temporary'] {
    return this.#poll.value?.temporary ?? [];
  }

  get error(): unknown {
    return this.#poll.error;
  }

  async retry(): Promise<void> {
    await this.#poll.refresh();
  }

  /** Takes the rules as another part of the window got them. */
  take(rules: RuleLists): void {
    this.#poll.set(rules);
  }

  /** Adds a rule. Rejects with the service's CallError, for the form to show. */
  async add(rule: string): Promise<void> {
    this.take(await this.#client.call('rules.add', { rule }));
  }

  /** Removes a rule; the message offers to add it again. */
  async remove(rule: string): Promise<void> {
    await this.#remove(rule, () => this.add(rule));
  }

  /** Ends a temporary rule; the message offers to let it go on for what was left. */
  async end(rule: string, endsAtMs: number): Promise<void> {
    await this.#remove(rule, async () => {
      const minutes = Math.max(1, Math.ceil((endsAtMs - Date.now()) / 60_000));
      this.take(await this.#client.call('rules.add', { rule, minutes }));
    });
  }

  async #remove(rule: string, undo: () => Promise<void>): Promise<void> {
    try {
      this.take(await this.#client.call('rules.remove', { rule }));
      this.#toasts.show(t().rules.removed(rule), undo);
    } catch (error) {
      this.#toasts.fail(describeError(error));
      await this.#poll.refresh();
    }
  }
}
