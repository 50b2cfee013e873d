/** The policies: what is blocked, allowed or redirected, for whom and when. */
import type { MethodOutput, ServiceClient } from '../../main/contract/methods/methods.ts';
import type { Policy } from '../client/answers.ts';
import { t } from '../text.ts';
import { Edited } from './edited.svelte.ts';
import type { Toasts } from './toasts.svelte.ts';

export class Policies extends Edited<MethodOutput<'policies.list'>> {
  readonly #client: ServiceClient;
  readonly #messages: Toasts;

  constructor(client: ServiceClient, toasts: Toasts) {
    super(() => client.call('policies.list', {}), toasts);
    this.#client = client;
    this.#messages = toasts;
  }

  /** Adds a policy, or replaces the one that was called `was`. Rejects for the form. */
  async put(policy: Policy, was?: string): Promise<void> {
    const input = was === undefined ? { policy } : { policy, was };
    await this.submit(() => this.#client.call('policies.put', input));
  }

  async enable(policy: Policy, enabled: boolean): Promise<void> {
    const input = { policy: { ...policy, enabled } };
    await this.attempt(() => this.#client.call('policies.put', input));
  }

  /** The message offers to put it back. */
  async remove(policy: Policy): Promise<void> {
    const { name } = policy;
    if (!(await this.attempt(() => this.#client.call('policies.remove', { name })))) return;
    this.#messages.show(t().policies.removed(name), () => this.put(policy));
  }
}
