/** Blocked services, safe search and ways past the filter, as they hold for everybody. */
import { SvelteMap } from 'svelte/reactivity';
import type { MethodOutput, ServiceClient } from '../../main/contract/methods/methods.ts';
import type { SafeSearch } from '../client/answers.ts';
import { Edited } from './edited.svelte.ts';
import type { Toasts } from './toasts.svelte.ts';

type Answer = MethodOutput<'services.list'>;

export class Services extends Edited<Answer> {
  readonly #client: ServiceClient;
  /** Switched, but not yet told by the service. */
  readonly #pending = new SvelteMap<string, boolean>();
  #queue: Promise<unknown> = Promise.resolve();

  constructor(client: ServiceClient, toasts: Toasts) {
    super(() => client.call('services.list', {}), toasts);
    this.#client = client;
  }

  isBlocked(id: string): boolean {
    return this.#pending.get(id) ?? this.value?.services.includes(id) ?? false;
  }

  /** Blocks or frees services. Quick changes are sent one after the other, each with all before. */
  async block(ids: readonly string[], isBlocked: boolean): Promise<void> {
    for (const id of ids) this.#pending.set(id, isBlocked);
    const turn = this.#queue.then(async () => {
      const others = (this.value?.services ?? []).filter((id) => !ids.includes(id));
      const services = isBlocked ? [...others, ...ids] : others;
      await this.attempt(() => this.#client.call('services.set', { services }));
      for (const id of ids) {
        if (this.#pending.get(id) === isBlocked) this.#pending.delete(id);
      }
    });
    this.#queue = turn;
    await turn;
  }

  async setSafeSearch(safeSearch: SafeSearch): Promise<void> {
    await this.attempt(() => this.#client.call('services.safe-search', safeSearch));
  }

  async setBypass(block: boolean): Promise<void> {
    await this.attempt(() => this.#client.call('services.bypass', { block }));
  }
}
