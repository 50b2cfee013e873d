/** Named clients and their groups. */
import type { MethodOutput, ServiceClient } from '../../main/contract/methods/methods.ts';
import type { ClientGroup, NamedClient, SeenClient } from '../client/answers.ts';
import { CallError, describeError } from '../client/call-error.ts';
import { t } from '../text.ts';
import { Edited } from './edited.svelte.ts';
import { Poll } from './poll.svelte.ts';
import type { Toasts } from './toasts.svelte.ts';

type Answer = MethodOutput<'clients.list'>;

const seenRefreshMs = 10_000;
const dayMs = 86_400_000;

export class Clients extends Edited<Answer> {
  readonly #client: ServiceClient;
  readonly #messages: Toasts;
  /** Addresses that asked most in the last 24 hours. */
  readonly seen: Poll<readonly SeenClient[]>;

  constructor(client: ServiceClient, toasts: Toasts) {
    super(() => client.call('clients.list', {}), toasts);
    this.#client = client;
    this.#messages = toasts;
    this.seen = new Poll(async () => {
      const untilMs = Date.now();
      const input = { sinceMs: untilMs - dayMs, untilMs, stepMinutes: 1_440 };
      return (await client.call('statistics', input)).topClients;
    }, seenRefreshMs);
  }

  /** Adds a client, or replaces the one that was called `was`. Rejects for the form. */
  async put(client: NamedClient, was?: string): Promise<void> {
    const input = was === undefined ? { client } : { client, was };
    await this.#put(() => this.#client.call('clients.put', input), was);
  }

  /** The message offers to put it back. */
  async remove(client: NamedClient): Promise<void> {
    const { name } = client;
    const remove = (): Promise<Answer> => this.#client.call('clients.remove', { name });
    if (!(await this.attempt(remove, (error) => stillNamed(error, name)))) return;
    this.#messages.show(t().clients.removed(name), () => this.put(client));
  }

  /** Adds a group, or replaces the one that was called `was`. Rejects for the form. */
  async putGroup(group: ClientGroup, was?: string): Promise<void> {
    const input = was === undefined ? { group } : { group, was };
    await this.#put(() => this.#client.call('groups.put', input), was);
  }

  async filter(group: ClientGroup, filtering: boolean): Promise<void> {
    const input = { group: { ...group, filtering } };
    await this.attempt(() => this.#client.call('groups.put', input));
  }

  async removeGroup(group: ClientGroup): Promise<void> {
    const { name } = group;
    const remove = (): Promise<Answer> => this.#client.call('groups.remove', { name });
    if (!(await this.attempt(remove, (error) => stillNamed(error, name)))) return;
    this.#messages.show(t().clients.groupRemoved(name), () => this.putGroup(group));
  }

  async #put(change: () => Promise<Answer>, was: string | undefined): Promise<void> {
    try {
      await this.submit(change);
    } catch (error) {
      const told = was === undefined ? '' : stillNamed(error, was);
      if (told === '' || told === describeError(error)) throw error;
      throw new Error(told, { cause: error });
    }
  }
}

/** Says what has to be changed first, when another part of the settings needs a name as it is. */
function stillNamed(error: unknown, name: string): string {
  const isUse =
    error instanceof CallError &&
    /: there is no (group|client or group) /.test(error.message) &&
    error.message.includes(JSON.stringify(name));
  if (isUse && /^clients\[\d+\]\.group: /.test(error.message)) {
    return t().clients.groupInUse(name);
  }
  if (isUse && /^policies\[\d+\]\.clients/.test(error.message)) {
    return t().clients.policyInUse(name);
  }
  return describeError(error);
}
