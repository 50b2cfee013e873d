/** Opens the query log and the rings that lead to it. Called by compose.ts in the main thread. */
import { join } from 'node:path';
import type { Config } from '../contract/config.ts';
import { LIMITS } from '../contract/limits.ts';
import { QueryLog } from '../log/query-log.ts';
import { LogRing } from '../log/ring.ts';
import type { Late } from './late.ts';

export async function openLog(
  dataDirectory: string,
  config: Config,
  rings: SharedArrayBuffer[],
  late: Late,
): Promise<QueryLog> {
  return QueryLog.open({
    directory: join(dataDirectory, 'log'),
    settings: config.log,
    rings,
    onLive: (rows, leftOut) => late.service?.rowsLogged(rows, leftOut),
    onState: () => late.service?.stateChanged(),
  });
}

/** The log ring's slots, divided among the data-plane threads. */
export function logRings(threads: number): SharedArrayBuffer[] {
  const slots = Math.floor(LIMITS.logRingSlots / threads);
  return Array.from({ length: threads }, (_, index) =>
    LogRing.createBuffer(index === 0 ? LIMITS.logRingSlots - slots * (threads - 1) : slots),
  );
}

export function ringReader(buffers: readonly SharedArrayBuffer[]) {
  const rings = buffers.map((buffer) => new LogRing(buffer));
  return () => ({
    capacity: rings.reduce((sum, ring) => sum + ring.capacity, 0),
    depth: rings.reduce((sum, ring) => sum + ring.depth, 0),
  });
}
