/**
 * Writes results of methods as text for people. Pure; used by api/cli/cli.ts without --json.
 */
import type {
  ListStatus,
  LiveUpdate,
  MethodOutput,
  Protection,
  Status,
} from '../../contract/methods/methods.ts';
import type { QueryEvent } from '../../contract/query-event.ts';
import { table } from './table.ts';

export function statusText(status: Status): string {
  const { totals, latency, log } = status;
  const share = totals.queries === 0 ? 0 : (100 * totals.blocked) / totals.queries;
  return table([
    ['Sluice', `${status.version}, ${status.health}`],
    ...status.degradedReasons.map((reason): [string, string] => ['!', reason]),
    ...status.notices.map((notice): [string, string] => ['note', notice]),
    ['protection', protectionText(status.protection)],
    ['whole machine', status.takeover.state],
    ['listening', status.listening.join(', ')],
    ['upstreams', status.upstreams.join(', ') || 'none'],
    ['blocked names', count(status.blockedNames)],
    ['queries', `${count(totals.queries)} since ${timeText(status.startedAtMs)}`],
    ['  blocked', `${count(totals.blocked)} (${share.toFixed(1)} %)`],
    ['  cached', count(totals.cached + totals.stale)],
    ['  forwarded', count(totals.forwarded)],
    ['  failed', count(totals.failed)],
    ['  not allowed', count(totals.denied)],
    ['latency', latencyText(latency)],
    [
      'log',
      `${log.mode}, ${log.state}, ${count(log.stored)} stored since start, ${bytes(log.bytes)}`,
    ],
    ['log dropped', count(totals.logDropped)],
    ['memory', memoryText(status.memory)],
  ]);
}

/** Of what was measured: answers of our own, and those of upstreams. */
function latencyText({ local, upstream }: Status['latency']): string {
  const parts = Object.entries({ 'answered here': local, forwarded: upstream }).flatMap(
    ([what, { p50Us, p99Us }]) =>
      p99Us === 0 ? [] : [`${what} p50 ${duration(p50Us)}, p99 ${duration(p99Us)}`],
  );
  return parts.join('; ') || 'n/a';
}

function memoryText({ rssBytes, anonymousBytes }: Status['memory']): string {
  const resident = `${bytes(rssBytes)} resident`;
  return anonymousBytes === null
    ? resident
    : `${resident}, ${bytes(anonymousBytes)} of it anonymous`;
}

export function protectionText({ state, resumesAtMs }: Protection): string {
  if (state === 'paused') return `paused until ${timeText(resumesAtMs ?? 0)}`;
  return state === 'off' ? 'off until you resume' : 'on';
}

export function listsText({ lists, names }: MethodOutput<'lists.list'>): string {
  const rows = lists.map((list): string[] => [
    list.name,
    stateText(list),
    list.format,
    count(list.names),
    count(ignoredLines(list)),
    list.updatedAtMs === null ? 'never' : timeText(list.updatedAtMs),
    [list.error || list.url, newsText(list.change)].filter((text) => text !== '').join('; '),
  ]);
  const head = ['name', 'state', 'format', 'names', 'ignored', 'updated', ''];
  return [
    `${table([head, ...rows])}\n${count(names)} names in all`,
    ...lists.filter(({ quarantine }) => quarantine?.acceptable === true).map(acceptHint),
  ].join('\n');
}

/** Lines that are neither rules nor comments. */
export function ignoredLines({ ignored }: Pick<ListStatus, 'ignored'>): number {
  return ignored.reduce((sum, { lines }) => sum + lines, 0);
}

export function acceptHint({ name }: Pick<ListStatus, 'name'>): string {
  return `a new copy of ${name} waits; to take it: sluice lists accept ${JSON.stringify(name)}`;
}

/** What the last copy that came into use did: "+11/-1 names, newly blocks 1 you used, e.g. a". */
export function newsText(change: ListStatus['change']): string {
  const { added = null, removed = null, replay = null } = change ?? {};
  const parts: string[] = [];
  if (added !== null && removed !== null) parts.push(`+${count(added)}/-${count(removed)} names`);
  if (replay !== null && replay.newlyBlocked > 0) {
    const some = replay.blockedExamples.slice(0, 3).join(', ');
    parts.push(`newly blocks ${count(replay.newlyBlocked)} you used, e.g. ${some}`);
  }
  return parts.join(', ');
}

export function stateText({ enabled, state, quarantine, rolledBack }: ListStatus): string {
  if (!enabled) return 'disabled';
  if (quarantine !== null && state !== 'updating') return 'quarantine';
  return rolledBack ? `${state}, rolled back` : state;
}

export function rulesText({ rules, temporary }: MethodOutput<'rules.list'>): string {
  const ending = temporary.map(({ rule, endsAtMs }) => `${rule}  (until ${timeText(endsAtMs)})`);
  const lines = [...ending, ...rules];
  return lines.length === 0 ? 'no rules' : lines.join('\n');
}

export function upstreamsText({ strategy, upstreams }: MethodOutput<'upstreams.list'>): string {
  const rows = upstreams.map((one): string[] => [
    one.upstream,
    one.protocol,
    one.state,
    one.roundTripUs === 0 ? '-' : duration(one.roundTripUs),
    count(one.answered),
    count(one.failures),
    one.trouble === '' && one.askedWithout !== ''
      ? `asked without ${one.askedWithout}`
      : one.trouble,
  ]);
  const head = ['upstream', 'protocol', 'state', 'round trip', 'answered', 'failed', ''];
  return `${table([head, ...rows])}\nstrategy ${strategy}`;
}

/** Rows of one live update, and how many it leaves out. */
export function tailText({ rows, rowsLeftOut }: LiveUpdate): string[] {
  const lines = rows.map((row) => rowText(row));
  if (rowsLeftOut > 0) lines.push(`… ${count(rowsLeftOut)} more`);
  return lines;
}

export function rowText(row: QueryEvent): string {
  const time = rowTimeText(row.timeMs);
  const why = row.outcome === 'blocked' ? `  ${row.list}: ${row.matchedName}` : '';
  return (
    `${time} ${row.outcome.padEnd(9)} ${row.typeName.padEnd(5)} ${row.name || '?'}  ` +
    `${clientText(row)}  ${duration(row.durationUs)}${why}`
  );
}

/** Name and address, or the address alone. */
function clientText({ client, clientName }: QueryEvent): string {
  return clientName === '' ? client : `${clientName} (${client})`;
}

/** Local time to the millisecond, with the day when it is another one than today. */
function rowTimeText(timeMs: number): string {
  const [day = '', time = ''] = timeText(timeMs).split(' ');
  const whole = `${time}.${String(timeMs % 1_000).padStart(3, '0')}`;
  return day === timeText(Date.now()).split(' ')[0] ? whole : `${day} ${whole}`;
}

export function count(value: number): string {
  return value.toLocaleString('en-US');
}

export function bytes(value: number): string {
  return `${(value / 1_048_576).toFixed(1)} MiB`;
}

function duration(us: number): string {
  return us < 1_000 ? `${String(Math.round(us))} µs` : `${(us / 1_000).toFixed(1)} ms`;
}

/** Local time, to the second. */
export function timeText(ms: number): string {
  return new Date(ms).toLocaleString('sv-SE');
}

/** What is kept about a name, a paragraph an answer. */
export function cacheText({ name, entries }: MethodOutput<'cache.inspect'>): string {
  if (entries.length === 0) return `Nothing is kept about ${name}.`;
  return entries
    .map((entry) => {
      const { typeName, kind, reason, ageSeconds, leftSeconds } = entry;
      const why = reason === 'none' ? '' : ` (${reason})`;
      const left = leftSeconds >= 0 ? `${String(leftSeconds)} s left` : 'expired';
      const head = `${name} ${typeName}: ${kind}${why}, ${String(ageSeconds)} s old, ${left}`;
      return [head, ...entry.records.map((record) => `  ${record}`)].join('\n');
    })
    .join('\n');
}
