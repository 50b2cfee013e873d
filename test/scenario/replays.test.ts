/**
 * Plays every conversation in this folder (*.rpl). The languages are in test/support/replay.ts and, for
 * those with a network, network-replay.ts.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { replayAny } from '../support/network-replay.ts';
import { replay } from '../support/replay.ts';
import { missingTools } from '../support/tools.ts';

const files = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.rpl'));

test('there are replays', () => {
  assert.ok(files.length > 5);
});

for (const file of files) {
  const text = readFileSync(join(import.meta.dirname, file), 'utf8');
  const skip = /^server /m.test(text) && missingTools('openssl');
  test(file, { skip }, (t) => replayAny(t, text));
}

test('a replay that is wrong says where', () => {
  assert.throws(() => replay('ask localhost A\nanswer NXDOMAIN'), /line 2, "answer NXDOMAIN"/);
  assert.throws(() => replay('ask x.example A'), /not looked at/);
});

test(
  'a replay with a network that is wrong says where',
  { skip: missingTools('openssl') },
  async (t) => {
    const text =
      'server one\none answers REFUSED\nboot {"upstreams": ["one"]}\nask x.example A\nanswer NOERROR';
    await assert.rejects(replayAny(t, text), /line 5, "answer NOERROR"/);
  },
);
