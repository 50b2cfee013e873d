/**
 * Search of the query log: newest first, page by page, within a time limit.
 *
 * Called in the reader thread. Pages are keyed by id, so new rows do not shift them. Parts of names
 * and addresses cannot use an index: the table is read backwards, some million rows a second.
 */
import type { Database } from 'better-sqlite3';
import { LIMITS } from '../contract/limits.ts';
import { OUTCOME, OUTCOMES, REASONS } from '../contract/outcome.ts';
import type { QueryEvent } from '../contract/query-event.ts';
import { ClientNames } from './client-names.ts';
import type { SearchArguments, SearchResult } from './messages.ts';
import { matchedNameText } from './record.ts';
import { rowSpan, walkNewestFirst } from './row-span.ts';
import { typeName } from '../dns/type-names.ts';

/** Rows of a page when nothing is said. */
const ROWS_DEFAULT = 100;

const COLUMNS = `id, time_ms, client, name, type, outcome, reason, rcode, matched_labels, matched_target,
  duration_us, transport,
  (SELECT text FROM labels WHERE labels.id = queries.list) AS list_text,
  (SELECT text FROM labels WHERE labels.id = queries.upstream) AS upstream_text`;

interface Row {
  readonly id: number;
  readonly time_ms: number;
  readonly client: string;
  readonly name: string;
  readonly type: number;
  readonly outcome: number;
  readonly reason: number;
  readonly rcode: number;
  readonly matched_labels: number;
  readonly matched_target: string;
  readonly duration_us: number;
  readonly transport: number;
  readonly list_text: string | null;
  readonly upstream_text: string | null;
}

type Parameter = string | number;

/**
 * Finds rows that meet every condition given.
 *
 * @param endMs  performance.now() at which to stop; the result is then `incomplete`, and its
 *               `nextBeforeId` goes on from there
 * @throws       SqliteError
 */
export function searchQueries(
  database: Database,
  search: SearchArguments,
  endMs: number,
): SearchResult {
  const limit = Math.min(search.limit ?? ROWS_DEFAULT, LIMITS.searchRowsMax);
  const whole = rowSpan(database, { sinceMs: search.sinceMs, untilMs: search.untilMs });
  const span = { low: whole.low, high: Math.min(whole.high, search.beforeId ?? Infinity) };
  const { sql, parameters } = conditions(search);
  const names = new ClientNames(search.clientPlaces ?? []);
  database.function('client_name', { deterministic: true }, (client) =>
    names.nameOf(String(client)).toLowerCase(),
  );
  const statement = database.prepare<Parameter[], Row>(
    `SELECT ${COLUMNS} FROM queries WHERE id >= ? AND id < ? ${sql} ORDER BY id DESC LIMIT ?`,
  );
  const rows: QueryEvent[] = [];
  const { low, outOfTime } = walkNewestFirst(span, endMs, (piece) => {
    const found = statement.all(piece.low, piece.high, ...parameters, limit - rows.length);
    for (const row of found) rows.push(toEvent(row));
    return rows.length < limit;
  });
  return { rows, nextBeforeId: nextPage(rows, limit, low, outOfTime), incomplete: outOfTime };
}

function nextPage(
  rows: readonly QueryEvent[],
  limit: number,
  low: number,
  outOfTime: boolean,
): number | null {
  if (rows.length >= limit) return rows.at(-1)?.id ?? null;
  return outOfTime ? low : null;
}

function conditions(search: SearchArguments): { sql: string; parameters: Parameter[] } {
  const parts: string[] = [];
  const parameters: Parameter[] = [];
  const add = (condition: string, parameter: Parameter): void => {
    parts.push(`AND ${condition}`);
    parameters.push(parameter);
  };
  const text = (search.text ?? '').trim().toLowerCase();
  const client = (search.client ?? '').trim().toLowerCase();
  if (search.outcome !== undefined) add('outcome = ?', OUTCOME[search.outcome]);
  if (search.sinceMs !== undefined) add('time_ms >= ?', search.sinceMs);
  if (search.untilMs !== undefined) add('time_ms <= ?', search.untilMs);
  if (text !== '') add('instr(name, ?) > 0', text);
  if (client !== '' && search.clientPlaces === undefined) add('instr(client, ?) > 0', client);
  else if (client !== '') {
    add('(instr(client, ?) > 0', client);
    parts.push('OR instr(client_name(client), ?) > 0)');
    parameters.push(client);
  }
  return { sql: parts.join(' '), parameters };
}

function toEvent(row: Row): QueryEvent {
  return {
    id: row.id,
    timeMs: row.time_ms,
    client: row.client,
    clientName: '',
    name: row.name,
    type: row.type,
    typeName: typeName(row.type),
    outcome: OUTCOMES[row.outcome] ?? 'failed',
    reason: REASONS[row.reason] ?? 'none',
    rcode: row.rcode,
    list: row.list_text ?? '',
    matchedName: row.matched_target || matchedNameText(row.name, row.matched_labels),
    upstream: row.upstream_text ?? '',
    durationUs: row.duration_us,
    transport: row.transport === 1 ? 'tcp' : 'udp',
  };
}
