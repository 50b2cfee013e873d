/**
 * The real clock behind the engine's Clock port. Data-plane threads and the bootstrap lookup use it;
 * tests pass their own.
 */
import type { Clock } from '../engine/query/ports.ts';

/** Monotonic and wall time of this process. */
export const systemClock: Clock = {
  nowUs: () => performance.now() * 1000,
  wallMs: () => Date.now(),
};
