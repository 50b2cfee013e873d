/**
 * Whether names are being blocked, and the ways to change that.
 */
import type { Protection, ServiceClient } from '../../main/contract/methods/methods.ts';
import { describeError } from '../client/call-error.ts';
import type { Toasts } from './toasts.svelte.ts';

export class ProtectionState {
  readonly #client: ServiceClient;
  readonly #toasts: Toasts;
  #value = $state.raw<Protection | null>(null);
  #isBusy = $state(false);
  #changedAtMs = 0;

  constructor(client: ServiceClient, toasts: Toasts) {
    this.#client = client;
    this.#toasts = toasts;
  }

  /** Null until the service has told. */
  get value(): Protection | null {
    return this.#value;
  }

  /** A change is under way. */
  get isBusy(): boolean {
    return this.#isBusy;
  }

  /** Takes what a report says, unless it was asked for before the last change made here. */
  take(value: Protection, askedAtMs: number): void {
    if (this.#isBusy || askedAtMs < this.#changedAtMs) return;
    this.#value = value;
  }

  /** Pauses for some minutes; without minutes, off until `resume`. */
  async pause(minutes?: number): Promise<void> {
    await this.#change(() => this.#client.call('pause', minutes === undefined ? {} : { minutes }));
  }

  async resume(): Promise<void> {
    await this.#change(() => this.#client.call('resume', {}));
  }

  async #change(act: () => Promise<Protection>): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      this.#value = await act();
    } catch (error) {
      this.#toasts.fail(describeError(error));
    } finally {
      this.#changedAtMs = Date.now();
      this.#isBusy = false;
    }
  }
}
