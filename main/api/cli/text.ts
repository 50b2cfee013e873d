/**
 * Writes results of methods as text for people; used by api/cli/cli.ts without --json.
 */
import type {
  ListStatus,
  LiveUpdate,
  MethodOutput,
  Protection,
  Status,
} from '../../contract/methods/methods.ts';
import type { QueryEvent } from '../../contract/query-event.ts';
import { t, wording } from './language.ts';
import { table } from './table.ts';

export function statusText(status: Status): string {
  const { totals, latency, log } = status;
  const said = t().cli.status;
  const share = totals.queries === 0 ? 0 : (100 * totals.blocked) / totals.queries;
  return table([
    ['Sluice', `${status.version}, ${said.health[status.health]}`],
    ...status.degradedReasons.map((reason): [string, string] => ['!', reason]),
    ...status.notices.map((notice): [string, string] => [said.note, notice]),
    [said.protection, protectionText(status.protection)],
    [said.systemDns, t().cli.takeover.states[status.takeover.state]],
    [said.listening, status.listening.join(', ')],
    [said.upstreams, status.upstreams.join(', ') || t().cli.none],
    [said.blockedNames, count(status.blockedNames)],
    [said.queries, said.since(totals.queries, timeText(status.startedAtMs))],
    [`  ${said.blocked}`, `${count(totals.blocked)} (${wording().decimal(share)} %)`],
    [`  ${said.cached}`, count(totals.cached + totals.stale)],
    [`  ${said.forwarded}`, count(totals.forwarded)],
    [`  ${said.failed}`, count(totals.failed)],
    [`  ${said.denied}`, count(totals.denied)],
    [said.latency, latencyText(latency)],
    [said.log, logText(log)],
    [said.logDropped, count(totals.logDropped)],
    [said.memory, memoryText(status.memory)],
  ]);
}

/** Of what was measured: answers of our own, and those of upstreams. */
function latencyText({ local, upstream }: Status['latency']): string {
  const { answeredLocally, forwarded } = t().cli.status;
  const measured = [
    [answeredLocally, local],
    [forwarded, upstream],
  ] as const;
  const parts = measured.flatMap(([what, { p50Us, p99Us }]) =>
    p99Us === 0 ? [] : [`${what} p50 ${duration(p50Us)}, p99 ${duration(p99Us)}`],
  );
  return parts.join('; ') || 'n/a';
}

function logText({ mode, state, stored, bytes: size }: Status['log']): string {
  const said = t().cli.status;
  return [said.logModes[mode], said.logStates[state], said.stored(stored), bytes(size)].join(', ');
}

function memoryText({ rssBytes, anonymousBytes }: Status['memory']): string {
  const { anonymous, resident } = t().cli.status;
  const whole = resident(bytes(rssBytes));
  return anonymousBytes === null ? whole : `${whole}, ${anonymous(bytes(anonymousBytes))}`;
}

export function protectionText({ state, resumesAtMs }: Protection): string {
  const said = t().cli.protection;
  return state === 'paused' ? said.pausedUntil(timeText(resumesAtMs ?? 0)) : said[state];
}

export function listsText({ lists, names }: MethodOutput<'lists.list'>): string {
  const said = t().cli.lists;
  const rows = lists.map((list): string[] => [
    list.name,
    stateText(list),
    list.format,
    count(list.names),
    count(ignoredLines(list)),
    list.updatedAtMs === null ? said.never : timeText(list.updatedAtMs),
    [list.error || list.url, newsText(list.change)].filter((text) => text !== '').join('; '),
  ]);
  const head = [said.name, said.state, said.format, said.names, said.ignored, said.updated, ''];
  return [
    `${table([head, ...rows])}\n${said.total(names)}`,
    ...lists.filter(({ quarantine }) => quarantine?.acceptable === true).map(acceptHint),
  ].join('\n');
}

/** Lines that are neither rules nor comments. */
export function ignoredLines({ ignored }: Pick<ListStatus, 'ignored'>): number {
  return ignored.reduce((sum, { lines }) => sum + lines, 0);
}

export function acceptHint({ name }: Pick<ListStatus, 'name'>): string {
  return t().cli.lists.review(name, `sluice lists accept ${JSON.stringify(name)}`);
}

/** What the last copy that came into use did: "+11/-1 names, newly blocks 1 you used, e.g. a". */
export function newsText(change: ListStatus['change']): string {
  const { added = null, removed = null, replay = null } = change ?? {};
  const parts: string[] = [];
  if (added !== null && removed !== null) parts.push(t().cli.lists.changed(added, removed));
  if (replay !== null && replay.newlyBlocked > 0) {
    const some = replay.blockedExamples.slice(0, 3).join(', ');
    parts.push(t().cli.lists.newlyBlocks(replay.newlyBlocked, some));
  }
  return parts.join(', ');
}

export function stateText({ enabled, state, quarantine, rolledBack }: ListStatus): string {
  const said = t().cli.lists;
  if (!enabled) return said.states.disabled;
  if (quarantine !== null && state !== 'updating') return said.quarantine;
  return rolledBack ? `${said.states[state]}, ${said.rolledBack}` : said.states[state];
}

export function rulesText({ rules, temporary }: MethodOutput<'rules.list'>): string {
  const ending = temporary.map(({ rule, endsAtMs }) => t().cli.until(rule, timeText(endsAtMs)));
  const lines = [...ending, ...rules];
  return lines.length === 0 ? t().cli.noRules : lines.join('\n');
}

export function upstreamsText({ strategy, upstreams }: MethodOutput<'upstreams.list'>): string {
  const said = t().cli.upstreams;
  const rows = upstreams.map((one): string[] => [
    one.upstream,
    one.protocol,
    said.states[one.state],
    one.roundTripUs === 0 ? '-' : duration(one.roundTripUs),
    count(one.answered),
    count(one.failures),
    one.trouble === '' && one.askedWithout !== '' ? said.without(one.askedWithout) : one.trouble,
  ]);
  const { upstream, protocol, state, roundTrip, answered, failed } = said;
  const head = [upstream, protocol, state, roundTrip, answered, failed, ''];
  return `${table([head, ...rows])}\n${said.strategy(strategy)}`;
}

/** Rows of one live update, and how many it leaves out. */
export function tailText({ rows, rowsLeftOut }: LiveUpdate): string[] {
  const lines = rows.map((row) => rowText(row));
  if (rowsLeftOut > 0) lines.push(t().cli.rowsLeftOut(rowsLeftOut));
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
  return wording().number(value);
}

export function bytes(value: number): string {
  return `${wording().decimal(value / 1_048_576)} MiB`;
}

export function duration(us: number): string {
  return us < 1_000 ? `${String(Math.round(us))} µs` : `${wording().decimal(us / 1_000)} ms`;
}

/** Local time, to the second. */
export function timeText(ms: number): string {
  return new Date(ms).toLocaleString('sv-SE');
}

/** The cached answers of a name, a paragraph each. */
export function cacheText({ name, entries }: MethodOutput<'cache.inspect'>): string {
  if (entries.length === 0) return t().cli.cache.none(name);
  return entries
    .map((entry) => {
      const { typeName, kind, reason, ageSeconds, leftSeconds } = entry;
      const why = reason === 'none' ? '' : ` (${reason})`;
      const age = t().cli.cache.age(ageSeconds);
      const head = `${name} ${typeName}: ${kind}${why}, ${age}, ${leftText(leftSeconds)}`;
      return [head, ...entry.records.map((record) => `  ${record}`)].join('\n');
    })
    .join('\n');
}

/** How long an answer is still good. */
export function leftText(leftSeconds: number): string {
  return leftSeconds >= 0 ? t().cli.secondsLeft(leftSeconds) : t().cli.expired;
}
