import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newListMeta, readMeta, writeMeta } from '../../main/lists/meta.ts';

test('meta survives writing and reading, and any change to its text is found', () => {
  const lists = [
    newListMeta(1, 'Ä "list"', 'https://a.example/'),
    { ...newListMeta(65_534, 'b', 'file:///b'), failures: 3, checkedAtMs: 1_700_000_000_000 },
  ];
  const text = writeMeta(lists);
  assert.deepEqual(readMeta(text), lists);
  assert.deepEqual(readMeta(writeMeta([])), []);
  for (let cut = 0; cut < text.length; cut += 7) assert.equal(readMeta(text.slice(0, cut)), null);
  assert.equal(readMeta(text.replace('"failures": 3', '"failures": 4')), null);
  assert.equal(readMeta(text.replace('"version": 1', '"version": 2')), null);
  for (const wrong of ['', 'null', '[]', '{}', '{"version":1,"lists":{}}']) {
    assert.equal(readMeta(wrong), null, wrong);
  }
});
