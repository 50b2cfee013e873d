/**
 * Turns counter read-outs into the totals and queues that status, live updates and metrics show.
 * Pure; called by the service.
 */
import type { CounterSnapshot } from '../../contract/counters.ts';
import { LIMITS } from '../../contract/limits.ts';
import type { QueueStatus, Totals } from '../../contract/methods/methods.ts';
import { OUTCOMES } from '../../contract/outcome.ts';

/** Totals since start. `queries` is the sum of the seven outcomes, so the parts always add up. */
export function totalsOf(counters: CounterSnapshot): Totals {
  let queries = 0;
  for (const outcome of OUTCOMES) queries += counters[outcome];
  return {
    queries,
    forwarded: counters.forwarded,
    cached: counters.cached,
    blocked: counters.blocked,
    local: counters.local,
    failed: counters.failed,
    rejected: counters.rejected,
    stale: counters.stale,
    logged: counters.logged,
    logDropped: counters.logDropped,
    denied: counters.denied,
  };
}

/** The data plane's bounded queues. @param log  depth and capacity of the log rings, summed */
export function planeQueues(
  counters: CounterSnapshot,
  threads: number,
  log: { readonly depth: number; readonly capacity: number },
): QueueStatus[] {
  return [
    { name: 'log', capacity: log.capacity, depth: log.depth, dropped: counters.logDropped },
    {
      name: 'questions in flight',
      capacity: LIMITS.pendingQuestionsMax * threads,
      depth: counters.pending,
      dropped: counters.pendingDropped,
    },
    {
      name: 'TCP clients',
      capacity: LIMITS.tcpConnectionsMax * threads,
      depth: counters.tcpConnections,
      dropped: counters.tcpRefused,
    },
  ];
}
