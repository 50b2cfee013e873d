import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { refuseList } from '../../main/lists/compile/validate.ts';
import { parse, suffixesOf } from './list-fixtures.ts';

const text = new Uint8Array(
  readFileSync(resolve(import.meta.dirname, '../../resources/lists/starter.txt')),
);

test('the starter list is clean: every line a rule or a comment, no name twice or below another', () => {
  const { report, names } = parse(text);
  assert.equal(refuseList(text, { format: 'auto' }, 0), null);
  assert.equal(report.format, 'adblock');
  assert.deepEqual(report.ignored, []);
  assert.ok(report.rules >= 250 && report.rules <= 450, `${report.rules} rules`);
  const all = new Set(names);
  assert.equal(all.size, names.length);
  for (const name of names) {
    const above = suffixesOf(name).slice(1);
    assert.deepEqual(
      above.filter((one) => all.has(one)),
      [],
      name,
    );
  }
});
