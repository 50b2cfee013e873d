/**
 * Whether the whole machine asks Sluice, the ways to change that, and the report of the Network page.
 */
import type { MethodOutput, ServiceClient } from '../../main/contract/methods/methods.ts';
import { describeError } from '../client/call-error.ts';
import { t } from '../text.ts';
import { Poll } from './poll.svelte.ts';
import type { Toasts } from './toasts.svelte.ts';

export type Takeover = MethodOutput<'takeover'>;
export type NetworkReport = MethodOutput<'network'>;

/** Reading it asks the system's own tools, so not too often. */
const reportRefreshMs = 5_000;

export class TakeoverState {
  readonly report: Poll<NetworkReport>;
  readonly #client: ServiceClient;
  readonly #toasts: Toasts;
  #value = $state.raw<Takeover | null>(null);
  #failure = $state('');
  #isBusy = $state(false);
  #isRestoring = $state(false);
  #changedAtMs = 0;

  constructor(client: ServiceClient, toasts: Toasts) {
    this.#client = client;
    this.#toasts = toasts;
    this.report = new Poll(async () => {
      const askedAtMs = Date.now();
      const report = await client.call('network', {});
      this.take(report.takeover, askedAtMs);
      return report;
    }, reportRefreshMs);
  }

  /** Null until the service has told. */
  get value(): Takeover | null {
    return this.#value;
  }

  /** A change is under way. */
  get isBusy(): boolean {
    return this.#isBusy;
  }

  get isRestoring(): boolean {
    return this.#isRestoring;
  }

  /** Why the last change failed, as a sentence; '' when it did not. */
  get failure(): string {
    return this.#failure;
  }

  /** Takes what a report says, unless it was asked for before the last change made here. */
  take(value: Takeover, askedAtMs: number): void {
    // While a change is under way, reports tell its steps; afterwards, only newer ones count.
    if (askedAtMs >= this.#changedAtMs) this.#value = value;
  }

  async takeOver(): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    await this.#change(async () => {
      this.#value = await this.#client.call('takeover', {});
    });
    this.#isBusy = false;
  }

  /** Also while something else is under way, or hangs. */
  async giveBack(): Promise<void> {
    if (this.#isRestoring) return;
    this.#isRestoring = true;
    await this.#change(async () => {
      const { outcome, detail } = await this.#client.call('restore', {});
      if (outcome === 'partly') throw new Error(detail);
      if (outcome === 'restored') this.#toasts.show(t().network.takeover.restored);
    });
    this.#isRestoring = false;
  }

  async portal(open: boolean): Promise<void> {
    await this.#change(async () => {
      this.#value = await this.#client.call('portal', { open });
      if (open && this.#value.state !== 'portal') {
        this.#toasts.fail(t().network.takeover.noLoginServers);
      }
    });
  }

  /** The person is asked for a password by the system. */
  async changeRight(id: string, change: 'install' | 'remove'): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    await this.#change(async () => {
      await this.#client.call('right', { id, change });
      this.#toasts.show(change === 'install' ? t().network.installed : t().network.removed);
    });
    this.#isBusy = false;
  }

  async #change(act: () => Promise<void>): Promise<void> {
    try {
      this.#failure = '';
      await act();
    } catch (error) {
      this.#failure = describeError(error);
    } finally {
      this.#changedAtMs = Date.now();
      void this.report.refresh();
    }
  }
}
