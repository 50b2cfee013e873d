/** The log rings of all data-plane threads together. Used by compose.ts in the main thread. */
import { LIMITS } from '../contract/limits.ts';
import { LogRing } from './ring.ts';

/** The log ring's slots, divided among the data-plane threads. */
export function logRings(threads: number): SharedArrayBuffer[] {
  const slots = Math.floor(LIMITS.logRingSlots / threads);
  return Array.from({ length: threads }, (_, index) =>
    LogRing.createBuffer(index === 0 ? LIMITS.logRingSlots - slots * (threads - 1) : slots),
  );
}

/** Tells how full they are. */
export function ringReader(buffers: readonly SharedArrayBuffer[]) {
  const rings = buffers.map((buffer) => new LogRing(buffer));
  return () => ({
    capacity: rings.reduce((sum, ring) => sum + ring.capacity, 0),
    depth: rings.reduce((sum, ring) => sum + ring.depth, 0),
  });
}
