/**
 * Writes the figures of the program in the Prometheus text format, version 0.0.4.
 *
 * Served at /metrics by the HTTP door. The coarse buckets of the latency histogram are sums of the
 * engine's fine ones (contract/counters.ts); a fine bucket that straddles a coarse edge counts
 * above it, so a coarse count is never too high and off by at most one fine bucket.
 */
import { HISTOGRAM_BUCKETS, histogramLowerUs } from '../../contract/counters.ts';
import type { CounterName, HistogramName } from '../../contract/counters.ts';
import { OUTCOMES } from '../../contract/outcome.ts';
import type { Measurements } from '../../control/reports/reports.ts';

/** Upper edges of the coarse buckets, seconds. */
const EDGES_SECONDS = [
  0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
  0.25, 0.5, 1, 2.5,
];

/** Counters that are not outcomes, with what they count. */
const COUNTER_HELP: Partial<Record<CounterName, string>> = {
  received: 'Packets and TCP messages that arrived',
  ignored: 'Packets dropped without an answer',
  answered: 'Answers sent; the sum of all outcomes',
  truncated: 'UDP answers with TC set',
  joined: 'Questions that waited for an identical one in flight',
  logged: 'Records put into the log ring',
  logDropped: 'Records dropped because the log ring was full',
  sendFailed: 'Answers that the socket refused',
  upstreamSent: 'Queries sent to upstreams, retries included',
  upstreamAnswered: 'Verified replies of upstreams',
  upstreamTimeouts: 'Upstream exchanges that ran out of time',
  upstreamMismatched: 'Upstream replies ignored for a wrong ID, question, case or address',
  upstreamMalformed: 'Upstream replies of which nothing could be read',
  upstreamTcp: 'Upstream exchanges over TCP',
  pendingDropped: 'Questions refused because too many were in flight',
  tcpRefused: 'Client TCP connections refused at the bound',
  tcpEvicted: 'Client TCP connections closed to make room for others',
  denied: 'Queries and connections of clients outside dns.allow, dropped',
  cacheMisses: 'Questions that the cache could not answer',
  probes: 'Probes of the takeover answered; in no other figure but those received',
};

const GAUGE_HELP: Partial<Record<CounterName, string>> = {
  pending: 'Questions in flight to upstreams',
  tcpConnections: 'Client TCP connections open',
  cacheEntries: 'Answers in the cache',
  cacheBytes: 'Bytes of answers in the cache',
};

/** A sample: labels and value. */
type Sample = readonly [labels: Readonly<Record<string, string>>, value: number];

/** The content type that goes with it. */
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export function metricsText(found: Measurements): string {
  return [
    ...engineLines(found),
    ...histogramLines(found),
    ...queueLines(found),
    ...logLines(found),
    ...listLines(found),
    ...processLines(found),
    '',
  ].join('\n');
}

function engineLines({ counters }: Measurements): string[] {
  const lines = family(
    'sluice_queries_total',
    'counter',
    'Answered queries by outcome',
    OUTCOMES.map((outcome) => [{ outcome }, counters[outcome]]),
  );
  for (const [name, help] of Object.entries(COUNTER_HELP)) {
    lines.push(
      ...one(`sluice_${snake(name)}_total`, 'counter', help, counters[name as CounterName]),
    );
  }
  for (const [name, help] of Object.entries(GAUGE_HELP)) {
    lines.push(...one(`sluice_${snake(name)}`, 'gauge', help, counters[name as CounterName]));
  }
  return lines;
}

function histogramLines({ histograms }: Measurements): string[] {
  const name = 'sluice_answer_duration_seconds';
  const lines = [
    `# HELP ${name} From receipt of a query to sending of its answer; the sum is approximate`,
    `# TYPE ${name} histogram`,
  ];
  for (const path of Object.keys(histograms) as HistogramName[]) {
    lines.push(...histogramOf(name, path, histograms[path]));
  }
  return lines;
}

function histogramOf(name: string, path: HistogramName, buckets: ArrayLike<number>): string[] {
  const lines: string[] = [];
  let count = 0;
  let sumUs = 0;
  let index = 0;
  for (const edge of EDGES_SECONDS) {
    while (index < HISTOGRAM_BUCKETS - 1 && histogramLowerUs(index + 1) <= edge * 1e6) {
      count += buckets[index] ?? 0;
      sumUs += (buckets[index] ?? 0) * middleUs(index);
      index++;
    }
    lines.push(`${name}_bucket${labelText({ path, le: String(edge) })} ${String(count)}`);
  }
  for (; index < HISTOGRAM_BUCKETS; index++) {
    count += buckets[index] ?? 0;
    sumUs += (buckets[index] ?? 0) * middleUs(index);
  }
  lines.push(
    `${name}_bucket${labelText({ path, le: '+Inf' })} ${String(count)}`,
    `${name}_sum${labelText({ path })} ${String(sumUs / 1e6)}`,
    `${name}_count${labelText({ path })} ${String(count)}`,
  );
  return lines;
}

function middleUs(index: number): number {
  return (histogramLowerUs(index) + histogramLowerUs(index + 1)) / 2;
}

function queueLines({ queues }: Measurements): string[] {
  const samples = (key: 'depth' | 'capacity' | 'dropped'): Sample[] =>
    queues.map((queue) => [{ queue: queue.name }, queue[key]]);
  return [
    ...family('sluice_queue_depth', 'gauge', 'Entries in a queue now', samples('depth')),
    ...family('sluice_queue_capacity', 'gauge', 'Entries a queue can hold', samples('capacity')),
    ...family(
      'sluice_queue_dropped_total',
      'counter',
      'Entries refused or dropped because a queue was full',
      samples('dropped'),
    ),
  ];
}

function logLines({ log }: Measurements): string[] {
  const states = ['ok', 'degraded', 'off'] as const;
  return [
    ...one('sluice_querylog_writers', 'gauge', 'Threads that write the query log', log.writers),
    ...one('sluice_querylog_stored_total', 'counter', 'Log records stored', log.stored),
    ...one(
      'sluice_querylog_lost_total',
      'counter',
      'Log records taken from the ring and never stored',
      log.dropped,
    ),
    ...one('sluice_querylog_batches_total', 'counter', 'Transactions of the log', log.batches),
    ...one(
      'sluice_querylog_statistics_updates_total',
      'counter',
      'Statistics updates of the log, one a batch',
      log.statisticsUpdates,
    ),
    ...one('sluice_querylog_pruned_total', 'counter', 'Rows removed by retention', log.pruned),
    ...one(
      'sluice_querylog_writer_restarts_total',
      'counter',
      'Crashed log writers replaced',
      log.restarts,
    ),
    ...one('sluice_querylog_bytes', 'gauge', 'Size of the log on disk', log.bytes),
    ...family(
      'sluice_querylog_state',
      'gauge',
      'State of the log: 1 for the one that holds',
      states.map((state) => [{ state }, log.state === state ? 1 : 0]),
    ),
  ];
}

function listLines({ lists, blockedNames, policyVersion, filtering }: Measurements): string[] {
  return [
    ...one('sluice_blocked_names', 'gauge', 'Names in the compiled lists', blockedNames),
    ...family(
      'sluice_list_names',
      'gauge',
      'Names that a list contributes',
      lists.map((list) => [{ list: list.name }, list.names]),
    ),
    ...family(
      'sluice_list_failed',
      'gauge',
      '1 while the last update of a list was not taken',
      lists.map((list) => [{ list: list.name }, list.state === 'failed' ? 1 : 0]),
    ),
    ...one('sluice_policy_version', 'gauge', 'Number of the policy in use', policyVersion),
    ...one('sluice_filtering', 'gauge', '1 while names are blocked', filtering ? 1 : 0),
  ];
}

function processLines(found: Measurements): string[] {
  return [
    ...family('sluice_build_info', 'gauge', 'The version', [[{ version: found.version }, 1]]),
    ...one('sluice_healthy', 'gauge', '0 while the program is degraded', found.healthy ? 1 : 0),
    ...one(
      'sluice_dns_thread_restarts_total',
      'counter',
      'DNS threads started again after a crash',
      found.planeRestarts,
    ),
    ...one(
      'sluice_event_loop_lag_p99_seconds',
      'gauge',
      'Lateness of the main thread, 99th percentile of two minutes',
      found.loopLagP99Ms / 1e3,
    ),
    ...one('process_resident_memory_bytes', 'gauge', 'Resident memory', found.memory.rssBytes),
    ...anonymousMemory(found.memory.anonymousBytes),
    ...one(
      'process_start_time_seconds',
      'gauge',
      'Start of the program since 1970',
      found.startedAtMs / 1e3,
    ),
  ];
}

function anonymousMemory(bytes: number | null): string[] {
  if (bytes === null) return [];
  const help = 'Of the resident memory, what belongs to this process alone';
  return one('process_anonymous_memory_bytes', 'gauge', help, bytes);
}

function one(name: string, type: 'counter' | 'gauge', help: string, value: number): string[] {
  return family(name, type, help, [[{}, value]]);
}

function family(
  name: string,
  type: 'counter' | 'gauge',
  help: string,
  samples: readonly Sample[],
): string[] {
  return [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...samples.map(([labels, value]) => `${name}${labelText(labels)} ${String(value)}`),
  ];
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const parts = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return parts.length === 0 ? '' : `{${parts.join(',')}}`;
}

function escaped(value: string): string {
  return value.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n');
}

function snake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
