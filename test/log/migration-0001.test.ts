import assert from 'node:assert/strict';
import { test } from 'node:test';
import Sqlite from 'better-sqlite3';
import { OUTCOMES } from '../../main/contract/outcome.ts';
import { migrate, schemaVersion } from '../../main/log/migrations.ts';

test('migration 1: rows, minutes with every outcome, and labels', () => {
  const database = new Sqlite(':memory:');
  migrate(database, 1);
  assert.equal(schemaVersion(database), 1);
  const columns = (table: string): string[] =>
    database.prepare('SELECT name FROM pragma_table_info(?)').pluck().all(table) as string[];
  assert.deepEqual(columns('queries').slice(0, 4), ['id', 'time_ms', 'client', 'name']);
  for (const outcome of OUTCOMES) assert.ok(columns('minutes').includes(outcome), outcome);
  assert.deepEqual(columns('labels'), ['id', 'text']);
  const indexes = database.prepare("SELECT count(*) FROM sqlite_schema WHERE type = 'index'");
  assert.equal(indexes.pluck().get(), 1, 'only the one of labels.text: each costs every row');
  database.close();
});
