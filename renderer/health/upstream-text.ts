/** How much attention the state of an upstream server deserves. */
import type { UpstreamRow } from '../../main/contract/methods/methods.ts';

type State = UpstreamRow['state'];

export function toneOf(state: State): 'good' | 'warn' | 'plain' {
  if (state === 'up') return 'good';
  return state === 'untried' ? 'plain' : 'warn';
}
