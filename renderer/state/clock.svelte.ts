/** The time of day for countdowns: ticks once a second while something shown reads it. */
import { createSubscriber } from 'svelte/reactivity';
import { whileVisible } from './while-visible.ts';

export class Clock {
  readonly #follow = createSubscriber((changed) =>
    whileVisible(() => {
      changed();
      const timer = setInterval(changed, 1_000);
      return () => {
        clearInterval(timer);
      };
    }),
  );

  /** Milliseconds since 1970. */
  get nowMs(): number {
    this.#follow();
    return Date.now();
  }
}
