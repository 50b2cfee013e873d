/**
 * The block lists and what can be done with them.
 */
import { SvelteSet } from 'svelte/reactivity';
import type {
  ListStatus,
  MethodOutput,
  ServiceClient,
} from '../../main/contract/methods/methods.ts';
import type { CatalogueEntry, ListInput, ListSource } from '../client/answers.ts';
import { describeError } from '../client/call-error.ts';
import { useOf, type ListUse } from '../lists/list-text.ts';
import { t } from '../text.ts';
import { Poll } from './poll.svelte.ts';
import type { Toasts } from './toasts.svelte.ts';

const refreshMs = 3_000;
/** The catalogue comes with the program; only what of it is in use changes. */
const catalogueRefreshMs = 30_000;
/** What is set of a list changes by a person's hand only. */
const sourcesRefreshMs = 15_000;

type ListsAnswer = MethodOutput<'lists.list'>;

export class Lists {
  readonly #client: ServiceClient;
  readonly #toasts: Toasts;
  readonly #poll: Poll<ListsAnswer>;
  readonly #sources: Poll<readonly ListSource[]>;
  readonly catalogue: Poll<readonly CatalogueEntry[]>;
  /** Names of lists with an action under way; '' stands for all. */
  readonly #busy = new SvelteSet<string>();

  constructor(client: ServiceClient, toasts: Toasts) {
    this.#client = client;
    this.#toasts = toasts;
    this.#poll = new Poll(() => client.call('lists.list', {}), refreshMs);
    this.#sources = new Poll(
      async () => (await client.call('settings.get', {})).config.lists,
      sourcesRefreshMs,
    );
    this.catalogue = new Poll(
      async () => (await client.call('catalogue.list', {})).lists,
      catalogueRefreshMs,
    );
  }

  /** Null until the service has told. */
  get answer(): ListsAnswer | null {
    return this.#poll.value;
  }

  get error(): unknown {
    return this.#poll.error;
  }

  /** What the settings say of a list; undefined while that is not known. */
  sourceOf(name: string): ListSource | undefined {
    return this.#sources.value?.find((source) => source.name === name);
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
    this.#toasts.show(t().lists.wasAdded(input.name));
    await this.#sources.refresh();
  }

  /** Adds a list of the catalogue; the message offers to take it away again. */
  async addKnown({ id, name }: CatalogueEntry): Promise<void> {
    const isDone = await this.#act(name, () => this.#client.call('catalogue.add', { id }));
    if (!isDone) return;
    await this.catalogue.refresh();
    this.#toasts.show(t().lists.wasAdded(name), async () => {
      this.#poll.set(await this.#client.call('lists.remove', { name }));
      await this.catalogue.refresh();
    });
  }

  /** Takes the copy that waits; the message offers the way back. */
  async accept(name: string): Promise<void> {
    const isDone = await this.#act(name, () => this.#client.call('lists.accept', { name }));
    if (!isDone) return;
    this.#toasts.show(t().lists.wasAccepted(name), async () => {
      this.#poll.set(await this.#client.call('lists.rollback', { name }));
    });
  }

  /** Goes back to the copy before. */
  async rollBack(name: string): Promise<void> {
    const isDone = await this.#act(name, () => this.#client.call('lists.rollback', { name }));
    if (isDone) this.#toasts.show(t().lists.wasRolledBack(name));
  }

  async enable(name: string, enabled: boolean): Promise<void> {
    await this.#act(name, () => this.#client.call('lists.enable', { name, enabled }));
  }

  /** Uses a list's names for something else; the message offers the way back. */
  async change(source: ListSource, changed: Partial<ListUse>): Promise<void> {
    const { name } = source;
    const change = (use: Partial<ListUse>): Promise<ListsAnswer> =>
      this.#client.call('lists.change', { name, ...use });
    const isDone = await this.#act(name, () => change(changed));
    await this.#sources.refresh();
    if (!isDone) return;
    this.#toasts.show(t().lists.wasChanged(name), async () => {
      this.#poll.set(await change(useOf(source)));
      await this.#sources.refresh();
    });
  }

  /** Fetches one list, or all enabled ones, now. */
  async refresh(name?: string): Promise<void> {
    const input = name === undefined ? {} : { name };
    await this.#act(name ?? '', () => this.#client.call('lists.refresh', input));
  }

  /** Removes a list; the message offers to add it again as it was. */
  async remove(list: ListStatus): Promise<void> {
    const { name, url, format, enabled } = list;
    const input = { ...({ name, url, format } as ListInput), ...this.sourceOf(name), enabled };
    const isDone = await this.#act(name, () => this.#client.call('lists.remove', { name }));
    if (!isDone) return;
    this.#toasts.show(t().lists.wasRemoved(name), async () => {
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
