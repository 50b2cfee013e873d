import assert from 'node:assert/strict';
import { test } from 'node:test';
import Sqlite from 'better-sqlite3';
import type { Database } from 'better-sqlite3';
import { migrate } from '../../main/log/migrations.ts';
import { walkNewestFirst } from '../../main/log/row-span.ts';
import { searchQueries } from '../../main/log/search.ts';

/** A table of `count` rows, one a second from the epoch on, without a file. */
function table(count: number): Database {
  const database = new Sqlite(':memory:');
  migrate(database);
  database.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
    INSERT INTO queries SELECT i, i * 1000, '10.0.0.1', 'host' || i || '.example',
      1, 0, 0, 0, 0, 0, 0, 10, 0, '' FROM n`);
  database.exec(`INSERT INTO minutes SELECT time_ms / 60000, count(*), 0, 0, 0, 0, 0, 0, 0,
    min(id), max(id) FROM queries GROUP BY time_ms / 60000`);
  return database;
}

test('a search without time left is incomplete and can be taken up where it stopped', () => {
  const database = table(60_000);
  const first = searchQueries(database, { text: 'host7.' }, performance.now() - 1);
  assert.deepEqual(first, { rows: [], nextBeforeId: 60_001, incomplete: true });
  let beforeId: number | null = first.nextBeforeId;
  const names: string[] = [];
  while (beforeId !== null) {
    const page = searchQueries(database, { text: 'host7.', beforeId }, performance.now() + 1_000);
    names.push(...page.rows.map((row) => row.name));
    beforeId = page.nextBeforeId;
  }
  assert.deepEqual(names, ['host7.example']);
  database.close();
});

test('a clock that went back does not hide rows of a span of time', () => {
  const database = table(10_000);
  // Rows 10,001 and 10,002 carry the time of row 60: their minute now ends at the last id.
  database.exec(`INSERT INTO queries SELECT id + 9941, time_ms, client, 'back' || id || '.example',
      1, 0, 0, 0, 0, 0, 0, 10, 0, '' FROM queries WHERE id IN (60, 61);
    UPDATE minutes SET queries = queries + 2, last_id = 10002 WHERE minute = 1`);
  const found = searchQueries(
    database,
    { sinceMs: 60_000, untilMs: 61_000 },
    performance.now() + 1_000,
  );
  assert.deepEqual(
    found.rows.map((row) => row.name),
    ['back61.example', 'back60.example', 'host61.example', 'host60.example'],
  );
  database.close();
});

test('rows whose statistics are gone are still found by time', () => {
  const database = table(1_000);
  database.exec('DELETE FROM minutes WHERE minute < 10');
  const old = searchQueries(database, { sinceMs: 0, untilMs: 5_000 }, performance.now() + 1_000);
  assert.deepEqual(
    old.rows.map((row) => row.id),
    [5, 4, 3, 2, 1],
  );
  database.close();
});

test('a walk covers a span exactly once, from the newest end', () => {
  const pieces: [number, number][] = [];
  const walked = walkNewestFirst({ low: 5, high: 100_000 }, Infinity, ({ low, high }) => {
    pieces.push([low, high]);
    return true;
  });
  assert.deepEqual(walked, { low: 5, outOfTime: false });
  assert.equal(pieces[0]?.[1], 100_000);
  assert.equal(pieces.at(-1)?.[0], 5);
  for (const [index, [low]] of pieces.slice(0, -1).entries()) {
    assert.equal(pieces[index + 1]?.[1], low);
  }
});
