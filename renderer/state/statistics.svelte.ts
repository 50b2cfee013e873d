/**
 * Queries over time for the chart, and the most frequent names and clients of the same range.
 */
import type { MethodOutput, ServiceClient } from '../../main/contract/methods/methods.ts';
import { Poll } from './poll.svelte.ts';

const refreshMs = 5_000;
const minuteMs = 60_000;

export const ranges = {
  hour: { minutes: 60, stepMinutes: 1 },
  day: { minutes: 1_440, stepMinutes: 15 },
  week: { minutes: 10_080, stepMinutes: 120 },
} as const;
export type RangeName = keyof typeof ranges;

export type Series = MethodOutput<'statistics'>;

export class Statistics {
  #range = $state<RangeName>('hour');
  readonly #poll: Poll<Series>;

  constructor(client: ServiceClient) {
    this.#poll = new Poll(() => {
      const { minutes, stepMinutes } = ranges[this.#range];
      const untilMs = Date.now();
      const sinceMs = untilMs - minutes * minuteMs;
      return client.call('statistics', { sinceMs, untilMs, stepMinutes });
    }, refreshMs);
  }

  get range(): RangeName {
    return this.#range;
  }

  get series(): Series | null {
    return this.#poll.value;
  }

  get error(): unknown {
    return this.#poll.error;
  }

  choose(range: RangeName): void {
    this.#range = range;
    void this.#poll.refresh();
  }
}
