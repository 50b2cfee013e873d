import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import Sqlite from 'better-sqlite3';
import {
  migrate,
  MIGRATIONS,
  NewerVersionError,
  SCHEMA_VERSION,
  schemaVersion,
} from '../../main/log/migrations.ts';

test('every migration has a test of its number', () => {
  const files = readdirSync(import.meta.dirname);
  for (let number = 1; number <= MIGRATIONS.length; number++) {
    const name = `migration-${String(number).padStart(4, '0')}.test.ts`;
    assert.ok(files.includes(name), name);
  }
});

test('migrating twice changes nothing, and a newer file is refused', () => {
  const database = new Sqlite(':memory:');
  migrate(database);
  migrate(database);
  assert.equal(schemaVersion(database), SCHEMA_VERSION);
  database.pragma(`user_version = ${SCHEMA_VERSION + 1}`);
  assert.throws(() => {
    migrate(database);
  }, NewerVersionError);
  database.close();
});

test('a step that fails leaves the version before it', () => {
  const database = new Sqlite(':memory:');
  database.exec('CREATE TABLE labels (other)');
  assert.throws(() => {
    migrate(database);
  }, /labels/);
  assert.equal(schemaVersion(database), 0);
  assert.equal(database.inTransaction, false);
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'");
  assert.deepEqual(tables.pluck().all(), ['labels']);
  database.close();
});
