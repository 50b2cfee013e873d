/** The page Health: whether all is well, what is running, the upstream servers and the queues. */
import { wordingOf } from '../language/wording.ts';

const { counted } = wordingOf('en');

export const health = {
  title: 'Health',
  fine: 'Everything works',
  fineMeans: 'Queries are answered, and nothing needs attention.',
  worthKnowing: 'Good to know',

  running: 'Status',
  listensOn: 'Listening on',
  noAddress: 'no address',
  forwardsTo: 'Upstream servers',
  noUpstream: 'none',
  blocks: 'Blocking',
  domains: (domains: number) => counted(domains, 'domain', 'domains'),
  log: 'Log',
  logOff: 'off',
  logState: { ok: 'working', degraded: 'cannot be written', off: 'off' },
  logMode: {
    full: 'with client addresses',
    anonymous: 'with shortened client addresses',
    off: 'no entries',
  },
  logHolds: (state: string, queries: number, size: string, mode: string) =>
    `${state}: ${counted(queries, 'query', 'queries')}, ${size}, ${mode}`,
  uptime: 'Uptime',
  memory: 'Memory',
  resident: (size: string) => `${size} resident`,
  residentOf: (size: string, anonymous: string) => `${size} resident, ${anonymous} anonymous`,
  version: 'Version',

  use: 'Use Sluice',
  listensNowhere: 'Sluice is not listening on any address, so it cannot receive queries.',
  tryIt: 'Send a test query:',
  useHere: {
    before: 'To use Sluice for all apps on this computer, turn it on under',
    after: '. The previous DNS servers come back when Sluice stops.',
  },
  copy: 'Copy',
  copyLine: (line: string) => `Copy ${line}`,
  copied: 'Copied',
  notCopied: 'Not copied',

  upstreams: 'Upstream servers',
  upstreamsLead: 'Used for names not in the cache. Figures count since each server was set.',
  server: 'Server',
  state: 'State',
  responseTime: 'Response time',
  sent: 'Queries',
  failures: 'Failures',
  upstreamState: {
    up: 'OK',
    slow: 'Slow',
    down: 'Not responding',
    refusing: 'Returns only errors',
    untried: 'Not used yet',
    unresolved: 'Address unknown',
  },
  protocol: {
    udp: 'not encrypted',
    tcp: 'not encrypted, over TCP',
    tls: 'encrypted (DNS over TLS)',
    https: 'encrypted (DNS over HTTPS)',
  },

  queues: 'Queues',
  queuesLead: 'All queues are bounded; overflow is dropped and counted here.',
  queue: 'Queue',
  waiting: 'Waiting',
  capacity: 'Capacity',
  full: 'Fill level',
  fullOf: (queue: string) => `Fill level of ${queue}`,
  dropped: 'Dropped',
};
