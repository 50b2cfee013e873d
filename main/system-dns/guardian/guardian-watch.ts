/**
 * Decides when the guardian has to give the resolver back: the app ended, or its engine has been
 * silent too long. Time and events are passed in; guardian-process.ts brings the real ones.
 */

/** Time between two probes of the engine. */
export const PROBE_EVERY_MS = 200;
/**
 * Silence of the engine after which it counts as dead. With the time to notice (two probes) and
 * the slowest owner's restore (NetworkManager, half a second, twice that on a machine that is busy)
 * names are found again within 2 s.
 */
export const SILENCE_MS = 800;
/**
 * A tick this late means that this process itself stood still, or that the machine has no time for
 * anybody: its ear was closed, which says nothing about the engine.
 */
export const STALL_MS = 600;

export type Verdict = 'fine' | 'app-ended' | 'engine-silent';

export class GuardianWatch {
  #heardAtMs: number;
  #tickedAtMs: number;
  #hasAppEnded = false;

  /** @param nowMs  monotonic, as for all methods */
  constructor(nowMs: number) {
    this.#heardAtMs = nowMs;
    this.#tickedAtMs = nowMs;
  }

  /** The engine answered a probe. */
  heard(nowMs: number): void {
    this.#heardAtMs = nowMs;
  }

  appEnded(): void {
    this.#hasAppEnded = true;
  }

  /** Called every PROBE_EVERY_MS, before the next probe is sent. */
  tick(nowMs: number): Verdict {
    if (nowMs - this.#tickedAtMs > STALL_MS) this.#heardAtMs = nowMs;
    this.#tickedAtMs = nowMs;
    if (this.#hasAppEnded) return 'app-ended';
    return nowMs - this.#heardAtMs > SILENCE_MS ? 'engine-silent' : 'fine';
  }
}
