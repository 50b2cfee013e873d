/**
 * Made-up answers of a service, for the fake service and the tests of the window.
 */
import type { LiveUpdate, MethodOutput, Status } from '../../main/contract/methods/methods.ts';
import type { QueryEvent } from '../../main/contract/query-event.ts';

const allowedNames = [
  'www.wikipedia.org',
  'packages.example.org',
  'assets.example.net',
  'github.com',
  'time.example.net',
  'imap.mail.example.org',
  'cdn.jsdelivr.net',
  'a-very-long-host-name-for-testing.ingress.eu-central-1.compute.internal.example.com',
];
const blockedNames = [
  ['stats.g.doubleclick.net', 'doubleclick.net'],
  ['ads.example.com', 'ads.example.com'],
  ['telemetry.vendor.example', 'telemetry.vendor.example'],
  ['pixel.tracker.example', 'tracker.example'],
] as const;
const types = [
  [1, 'A'],
  [28, 'AAAA'],
  [65, 'HTTPS'],
] as const;

/** One query; `n` decides everything but the time, so that tests can foretell the rows. */
export function fakeQuery(n: number, timeMs: number, id = 0): QueryEvent {
  const [type, typeName] = types[n % 3] ?? types[0];
  const base = {
    id,
    timeMs,
    client: n % 5 === 0 ? '192.168.1.24' : '127.0.0.1',
    clientName: n % 5 === 0 ? 'Tablet' : '',
    type,
    typeName,
    rcode: n % 17 === 3 ? 3 : 0,
    transport: 'udp',
  } as const;
  if (n % 4 === 1) {
    const [name, matchedName] = blockedNames[(n >> 2) % 4] ?? blockedNames[0];
    const why =
      n % 8 === 5 ? { reason: 'rule', list: 'rules' } : { reason: 'list', list: 'StevenBlack' };
    return {
      ...base,
      ...why,
      name,
      matchedName,
      outcome: 'blocked',
      upstream: '',
      durationUs: 38 + (n % 9),
    } as QueryEvent;
  }
  const name = allowedNames[n % allowedNames.length] ?? 'example.com';
  if (n % 31 === 30) {
    return {
      ...base,
      name,
      matchedName: '',
      list: '',
      rcode: 2,
      outcome: 'failed',
      reason: 'upstream-timeout',
      upstream: '',
      durationUs: 2_000_400,
    };
  }
  if (n % 4 === 2) {
    return {
      ...base,
      name,
      matchedName: '',
      list: '',
      outcome: 'cached',
      reason: 'none',
      upstream: '',
      durationUs: 44,
    };
  }
  return {
    ...base,
    name,
    matchedName: '',
    list: '',
    outcome: 'forwarded',
    reason: 'none',
    upstream: '9.9.9.9',
    durationUs: 11_000 + (n % 50) * 700,
  };
}

/** Stored rows, newest first, ids falling from `newestId`. */
export function fakeLog(count: number, nowMs: number): QueryEvent[] {
  return Array.from({ length: count }, (_, index) => {
    const id = count - index;
    return fakeQuery(id, nowMs - 5_000 - index * 2_300, id);
  });
}

const latency = {
  local: { p50Us: 41, p95Us: 96, p99Us: 180, p999Us: 410 },
  upstream: { p50Us: 14_300, p95Us: 48_000, p99Us: 96_000, p999Us: 310_000 },
};

export function fakeStatus(nowMs: number): Status {
  return {
    version: '0.1.0',
    health: 'ok',
    degradedReasons: [],
    notices: [],
    startedAtMs: nowMs - 5 * 3_600_000,
    listening: ['127.0.0.1:53', '[::1]:53'],
    protection: { state: 'on', resumesAtMs: null },
    takeover: {
      ...{ state: 'off', reason: '', owner: '', covered: [] },
      portal: { phase: 'clear', endsAtMs: null },
    },
    totals: {
      queries: 48_210,
      forwarded: 19_800,
      cached: 20_900,
      blocked: 7_204,
      local: 211,
      failed: 88,
      rejected: 7,
      stale: 0,
      logged: 48_210,
      logDropped: 0,
      denied: 0,
    },
    latency,
    queues: [
      { name: 'Log', capacity: 4_096, depth: 3, dropped: 0 },
      { name: 'Questions in flight', capacity: 8_192, depth: 12, dropped: 0 },
      { name: 'Client connections (TCP)', capacity: 512, depth: 2, dropped: 0 },
    ],
    blockedNames: 149_516,
    policyVersion: 7,
    upstreams: ['9.9.9.9', '1.1.1.1'],
    log: { mode: 'full', state: 'ok', stored: 48_210, bytes: 9_437_184 },
    memory: { rssBytes: 93 * 1024 * 1024, anonymousBytes: 60 * 1024 * 1024 },
    language: 'auto',
  };
}

/** A laptop with two links and a tunnel. */
export function fakeNetwork(takeover: Status['takeover'], nowMs: number): MethodOutput<'network'> {
  const isOn = takeover.state !== 'off';
  const ours = ['127.0.0.1:5353', '[::1]:5353'];
  const link = (label: string, servers: string[]) => ({
    ...{ label, isCovered: isOn, reason: isOn ? '' : 'Sluice is off', routingDomains: [] },
    servers: isOn ? ours : servers,
    serversBefore: servers,
  });
  return {
    takeover,
    owners: [
      {
        ...{ name: 'systemd-resolved', isPresent: true, isInCharge: true },
        detail: '/etc/resolv.conf leads to its stub',
      },
    ],
    links: [
      link('eth0', ['192.168.1.1']),
      {
        ...{ label: 'tun0', isCovered: false, reason: 'a tunnel keeps its own servers' },
        ...{ servers: ['10.8.0.1'], serversBefore: ['10.8.0.1'], routingDomains: ['corp.example'] },
      },
      link('wlan0', ['192.168.1.1', 'fd00::1']),
    ],
    journal: {
      directory: '/home/ann/.local/state/sluice/system-dns',
      writtenAtMs: isOn ? nowMs - 90_000 : null,
    },
    lastRescue: {
      ...{ outcome: 'restored', detail: 'all is as before', items: [] },
      ...{ atMs: nowMs - 26 * 3_600_000, verdict: 'app-ended' },
    },
    bypasses: [
      {
        ...{ what: 'Firefox', state: 'prevented' },
        detail: 'The policy of Firefox sets DNS over HTTPS to "off".',
      },
      {
        ...{ what: 'Docker', state: 'bypasses' },
        detail: 'Containers do not reach a resolver on loopback; Docker gives them public servers.',
      },
    ],
    ladder: [
      {
        ...{ id: 'owner-port', state: 'works', installs: '', undo: '', offers: '' },
        title: 'The system resolver can ask another port',
        explains: 'systemd-resolved asks Sluice on the port it has. Nothing has to be installed.',
      },
      {
        ...{ id: 'low-ports', state: 'possible', offers: 'install' },
        title: 'Allow ports from 53 to every program of this machine',
        explains: 'One setting of the kernel, kept over restarts.',
        installs:
          'echo net.ipv4.ip_unprivileged_port_start=53 | sudo tee /etc/sysctl.d/60-sluice-port-53.conf\nsudo sysctl --system',
        undo: 'sudo rm /etc/sysctl.d/60-sluice-port-53.conf\nsudo sysctl net.ipv4.ip_unprivileged_port_start=1024',
      },
    ],
  };
}

/** A live update that says what a status says, with some rows. */
export function fakeUpdate(
  status: Status,
  rows: QueryEvent[],
  rowsLeftOut: number,
  timeMs: number,
): LiveUpdate {
  const { totals, protection, takeover, health, degradedReasons, queues } = status;
  return {
    timeMs,
    totals,
    latency: status.latency,
    protection,
    takeover,
    health,
    degradedReasons,
    queues,
    rows,
    rowsLeftOut,
  };
}

/** A day's shape: quiet at night, busy in the evening. */
export function fakeStatistics(sinceMs: number, untilMs: number, stepMinutes: number) {
  const stepMs = stepMinutes * 60_000;
  const firstMs = Math.ceil(sinceMs / stepMs) * stepMs;
  const points = [];
  for (let timeMs = firstMs; timeMs <= untilMs; timeMs += stepMs) {
    const k = timeMs / stepMs;
    const hour = (timeMs / 3_600_000) % 24;
    const busy = 1.1 + Math.sin(((hour - 10) / 24) * 2 * Math.PI);
    const queries = Math.round(
      stepMinutes * busy * (22 + 9 * Math.sin(k * 1.7) + 6 * Math.sin(k * 0.37)),
    );
    const blocked = Math.round(queries * (0.15 + 0.06 * Math.sin(k * 2.3)));
    points.push({ timeMs, queries, blocked, cached: Math.round(queries * 0.4), failed: 0 });
  }
  return {
    sinceMs,
    untilMs,
    stepMinutes,
    points,
    topBlocked: [
      { name: 'stats.g.doubleclick.net', count: 1_204 },
      { name: 'telemetry.vendor.example', count: 733 },
      { name: 'ads.example.com', count: 512 },
      { name: 'pixel.tracker.example', count: 208 },
      { name: 'beacon.a-rather-long-name.analytics.example', count: 64 },
    ],
    topClients: [
      { client: '192.168.1.24', clientName: 'Tablet', count: 14_480 },
      { client: '127.0.0.1', clientName: '', count: 9_120 },
      { client: 'fd00::5c1:22', clientName: '', count: 1_340 },
      { client: '192.168.10.7', clientName: '', count: 212 },
    ],
  };
}

/** One that is well, one that is not, one that was never asked. */
export function fakeUpstreams(): MethodOutput<'upstreams.list'> {
  const none = { roundTripUs: 0, sent: 0, answered: 0, failures: 0, connections: 0, resumed: 0 };
  return {
    strategy: 'in-order',
    upstreams: [
      {
        ...none,
        ...{ upstream: '9.9.9.9', protocol: 'udp', state: 'up', trouble: '', askedWithout: '' },
        ...{ roundTripUs: 14_300, sent: 1_204, answered: 1_201, failures: 3 },
      },
      {
        ...none,
        ...{ upstream: 'tls://dns.example', protocol: 'tls', state: 'down' },
        ...{ sent: 40, answered: 12, failures: 28, connections: 5 },
        trouble: 'its certificate has expired',
        askedWithout: '',
      },
      {
        ...none,
        ...{
          upstream: '10.0.0.1',
          protocol: 'udp',
          state: 'untried',
          trouble: '',
          askedWithout: '',
        },
      },
    ],
  };
}
