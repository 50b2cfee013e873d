/** Plays every conversation in this folder (*.rpl); the language is in test/support/replay.ts. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { replay } from '../support/replay.ts';

const files = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.rpl'));

test('there are replays', () => {
  assert.ok(files.length >= 5);
});

for (const file of files) {
  test(file, () => {
    replay(readFileSync(join(import.meta.dirname, file), 'utf8'));
  });
}

test('a replay that is wrong says where', () => {
  assert.throws(() => replay('ask localhost A\nanswer NXDOMAIN'), /line 2, "answer NXDOMAIN"/);
  assert.throws(() => replay('ask x.example A'), /not looked at/);
});
