import assert from 'node:assert/strict';
import { test } from 'node:test';
import Sqlite from 'better-sqlite3';
import { migrate, schemaVersion } from '../../main/log/migrations.ts';

test('migration 2: rows tell the listed name behind an alias, older ones have none', () => {
  const database = new Sqlite(':memory:');
  migrate(database, 1);
  database.exec(`INSERT INTO queries VALUES (1, 0, '', 'a.example', 1, 0, 0, 0, 0, 0, 0, 0, 0)`);
  migrate(database, 2);
  assert.equal(schemaVersion(database), 2);
  const row = database.prepare('SELECT name, matched_target FROM queries').get();
  assert.deepEqual({ ...(row as object) }, { name: 'a.example', matched_target: '' });
  database.close();
});
