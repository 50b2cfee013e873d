/**
 * The block lists and what can be done with them.
 */
import { SvelteSet } from 'svelte/reactivity';
import type {
  ListStatus,
  MethodInput,
  MethodOutput,
  ServiceClient,
} from '../../main/contract/methods.ts';
import { describeError } from '../client/call-error.ts';
import { Poll } from './poll.svelte.ts';
import type { Toasts } from './toasts.svelte.ts';

const refreshMs = 3_000;

type ListsAnswer = MethodOutput<'lists.list'>;
export type ListInput = MethodInput<'lists.add'>;

export class Lists {
  readonly #client: ServiceClient;
  readonly #toasts: Toasts;
  readonly #poll: Poll<ListsAnswer>;
  /** Names of lists with an action under way; '' stands for all. */
  readonly #busy = new SvelteSet<string>();

  constructor(client: ServiceClient, toasts: Toasts) {
    this.#client = client;
    this.#toasts = toasts;
    this.#poll = new Poll(() => client.call('lists.list', {}), refreshMs);
  }

  /** Null until the service has told. */
  get answer(): ListsAnswer | null {
    return this.#poll.value;
  }

  get error(): unknown {
    return this.#poll.error;
  }

  isBusy(name: string): boolean {
    return this.#busy.has(name) || this.#busy.has('');
  }

  async retry(): Promise<void> {
    await this.#poll.refresh();
  }

  /** Adds a list. Rejects with the service's CallError, for the form to show. */
  async add(input: ListInput): Promise<void> {
    this.#poll.set(await this.#client.call('lists.add', input));
    this.#toasts.show(`${input.name} was added and is being fetched.`);
  }

  async enable(name: string, enabled: boolean): Promise<void> {
    await this.#act(name, () => this.#client.call('lists.enable', { name, enabled }));
  }

  /** Fetches one list, or all enabled ones, now. */
  async refresh(name?: string): Promise<void> {
    const input = name === undefined ? {} : { name };
    await this.#act(name ?? '', () => this.#client.call('lists.refresh', input));
  }

  /** Removes a list; the message offers to add it again as it was. */
  async remove(list: ListStatus): Promise<void> {
    const { name, url, format, enabled } = list;
    const input = { name, url, format, enabled } as ListInput;
    const isDone = await this.#act(name, () => this.#client.call('lists.remove', { name }));
    if (!isDone) return;
    this.#toasts.show(`${name} was removed.`, async () => {
      this.#poll.set(await this.#client.call('lists.add', input));
    });
  }

  async #act(name: string, act: () => Promise<ListsAnswer>): Promise<boolean> {
    if (this.isBusy(name)) return false;
    this.#busy.add(name);
    try {
      this.#poll.set(await act());
      return true;
    } catch (error) {
      this.#toasts.fail(describeError(error));
      await this.#poll.refresh();
      return false;
    } finally {
      this.#busy.delete(name);
    }
  }
}
