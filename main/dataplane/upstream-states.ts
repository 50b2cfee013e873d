/**
 * Puts together what each data-plane thread says about the same upstreams. Used by data-plane.ts.
 */
import { formatUpstream } from '../net/upstream-address.ts';
import type { UpstreamServer } from '../net/upstream-address.ts';
import type { UpstreamState } from '../net/upstream/upstream.ts';

/** From good to bad: what one thread reaches can be reached. */
const STATES: readonly UpstreamState['state'][] = [
  'up',
  'slow',
  'refusing',
  'down',
  'unresolved',
  'untried',
];

/**
 * @param servers  as in the plan
 * @param threads  the states of each thread that runs; a thread may still have another plan
 * @returns        one state a server, in order
 */
export function mergeStates(
  servers: readonly UpstreamServer[],
  threads: readonly (readonly UpstreamState[])[],
): UpstreamState[] {
  return servers.map((server, index) => {
    const upstream = formatUpstream(server);
    const found = threads.flatMap((states) => {
      const state = states[index];
      return state?.upstream === upstream ? [state] : [];
    });
    return merge(upstream, server.transport, found);
  });
}

function merge(
  upstream: string,
  protocol: UpstreamState['protocol'],
  found: readonly UpstreamState[],
): UpstreamState {
  const sum = (key: 'sent' | 'answered' | 'failures' | 'connections' | 'resumed'): number =>
    found.reduce((total, state) => total + state[key], 0);
  const measured = found.filter(({ roundTripUs }) => roundTripUs > 0);
  const total = measured.reduce((all, { roundTripUs }) => all + roundTripUs, 0);
  return {
    upstream,
    protocol,
    state: STATES.find((word) => found.some(({ state }) => state === word)) ?? 'untried',
    roundTripUs: measured.length === 0 ? 0 : Math.round(total / measured.length),
    sent: sum('sent'),
    answered: sum('answered'),
    failures: sum('failures'),
    connections: sum('connections'),
    resumed: sum('resumed'),
    trouble: found.find(({ trouble }) => trouble !== '')?.trouble ?? '',
    askedWithout: found.find(({ askedWithout }) => askedWithout !== '')?.askedWithout ?? '',
  };
}
