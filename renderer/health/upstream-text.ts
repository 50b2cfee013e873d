/** The state of an upstream server in plain words. */
import type { UpstreamRow } from '../../main/contract/methods/methods.ts';

type State = UpstreamRow['state'];

const words: Readonly<Record<State, string>> = {
  up: 'Answers',
  slow: 'Answers slowly',
  down: 'Does not answer',
  refusing: 'Answers with errors only',
  untried: 'Not asked yet',
  unresolved: 'Its address is not known',
};

export function describeState(state: State): string {
  return words[state];
}

/** How much attention it deserves. */
export function toneOf(state: State): 'good' | 'warn' | 'plain' {
  if (state === 'up') return 'good';
  return state === 'untried' ? 'plain' : 'warn';
}

/** How questions travel to it. */
export const protocolWords: Readonly<Record<UpstreamRow['protocol'], string>> = {
  udp: 'not encrypted',
  tcp: 'not encrypted, over TCP',
  tls: 'encrypted (DNS over TLS)',
  https: 'encrypted (DNS over HTTPS)',
};
