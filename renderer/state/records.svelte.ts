/** Local records: names that are answered here. */
import type { MethodOutput, ServiceClient } from '../../main/contract/methods/methods.ts';
import type { LocalRecord } from '../client/answers.ts';
import { t } from '../text.ts';
import { Edited } from './edited.svelte.ts';
import type { Toasts } from './toasts.svelte.ts';

type Answer = MethodOutput<'records.list'>;

export class Records extends Edited<Answer> {
  readonly #client: ServiceClient;
  readonly #messages: Toasts;

  constructor(client: ServiceClient, toasts: Toasts) {
    super(() => client.call('records.list', {}), toasts);
    this.#client = client;
    this.#messages = toasts;
  }

  /** Adds a record. Rejects for the form. */
  async put(record: LocalRecord): Promise<void> {
    await this.submit(() => this.#client.call('records.put', { record }));
  }

  /** The message offers to put it back. */
  async remove(record: LocalRecord): Promise<void> {
    const { name, type, value } = record;
    const input = { name, type, value };
    if (!(await this.attempt(() => this.#client.call('records.remove', input)))) return;
    this.#messages.show(t().services.records.removed(name), () => this.put(record));
  }
}
