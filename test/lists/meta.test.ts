import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { newListMeta, readMeta, writeMeta } from '../../main/lists/meta.ts';

test('meta survives writing and reading, and any change to its text is found', () => {
  const lists = [
    newListMeta(1, 'Ä "list"', 'https://a.example/'),
    { ...newListMeta(65_534, 'b', 'file:///b'), failures: 3, checkedAtMs: 1_700_000_000_000 },
  ];
  const text = writeMeta(lists);
  const read = (changed: string) => readMeta(Buffer.from(changed));
  assert.deepEqual(read(text), lists);
  assert.deepEqual(read(writeMeta([])), []);
  for (let cut = 0; cut < text.length; cut += 7) assert.equal(read(text.slice(0, cut)), null);
  assert.equal(read(text.replace('"failures": 3', '"failures": 4')), null);
  const sum = createHash('sha256').update(JSON.stringify(lists)).digest('hex');
  const older = JSON.stringify({ version: 1, sha256: sum, lists });
  assert.deepEqual(read(older), lists, 'of the version before');
  assert.equal(read(older.replace('"failures":3', '"failures":4')), null);
  for (const wrong of ['', 'null', '[]', '{}', '{"version":1,"lists":{}}']) {
    assert.equal(read(wrong), null, wrong);
  }
});
