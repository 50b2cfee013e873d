/**
 * Whether the wall clock may decide which rows are too old. A clock that jumps ten years ahead (a
 * board whose real-time clock lost its battery) would have the whole log deleted before the network
 * sets it right. So after a jump, and after a start at which every row would be too old or lies in
 * the future, nothing is deleted by age for a while. The bound on bytes always holds.
 *
 * Used by store.ts in the writer's thread.
 */
import { bootTime } from '../system/boot-clock.ts';

/** Time a clock must have gone steadily after a jump; meanwhile rows are kept longer, not for ever. */
export const STEADY_MS = 24 * 3_600_000;
/** A clock that differs this much from the time that passed was set by more than a correction. */
const JUMP_MS = 3_600_000;
const AHEAD_MS = 24 * 3_600_000;

export class SteadyClock {
  readonly #wallMs: () => number;
  readonly #elapsedMs: () => number;
  #seenWallMs: number;
  #seenElapsedMs: number;
  /** When the clock became doubtful; null while it is not. */
  #doubtfulSinceMs: number | null = null;

  /** @param elapsedMs  since any origin; not changed by setting the clock */
  constructor(wallMs: () => number, elapsedMs = () => bootTime().elapsedMs) {
    this.#wallMs = wallMs;
    this.#elapsedMs = elapsedMs;
    this.#seenWallMs = wallMs();
    this.#seenElapsedMs = elapsedMs();
  }

  /** Tells of the newest row that an earlier run has left; null when there is none. */
  found(newestMs: number | null, retentionMs: number): void {
    if (newestMs === null) return;
    const ageMs = this.#wallMs() - newestMs;
    if (ageMs > retentionMs || ageMs < -AHEAD_MS) this.#doubtfulSinceMs = this.#elapsedMs();
  }

  /** To be asked every few minutes, so that a jump is seen. */
  get isSteady(): boolean {
    const wallMs = this.#wallMs();
    const elapsedMs = this.#elapsedMs();
    const setByMs = wallMs - this.#seenWallMs - (elapsedMs - this.#seenElapsedMs);
    this.#seenWallMs = wallMs;
    this.#seenElapsedMs = elapsedMs;
    if (Math.abs(setByMs) > JUMP_MS) this.#doubtfulSinceMs = elapsedMs;
    if (this.#doubtfulSinceMs === null) return true;
    if (elapsedMs - this.#doubtfulSinceMs < STEADY_MS) return false;
    this.#doubtfulSinceMs = null;
    return true;
  }
}
