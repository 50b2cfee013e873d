/** The corpus on disk is what the table says; odd packets that are right are not refused. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { header } from '../support/dns-wire.ts';
import { EngineHarness } from '../support/engine-fakes.ts';
import { FLAWED_PACKETS, ODD_BUT_GOOD } from './flawed.ts';

const here = new URL('.', import.meta.url);

test('each packet of the table is on disk, and no other', () => {
  const table = [...FLAWED_PACKETS, ...ODD_BUT_GOOD];
  const files = readdirSync(here).filter((name) => name.endsWith('.bin'));
  assert.deepEqual(files.sort(), table.map(({ name }) => `${name}.bin`).sort());
  for (const { name, bytes } of table) {
    const stored = readFileSync(new URL(`${name}.bin`, here));
    assert.ok(stored.equals(bytes), `${name}: run node test/packets/write.ts`);
  }
});

for (const { name, bytes } of ODD_BUT_GOOD) {
  test(`${name} is forwarded`, () => {
    const harness = new EngineHarness();
    assert.equal(harness.send(bytes), 'later');
    harness.exchange.fail('refused');
    const answer = harness.client.late[0];
    assert.ok(answer);
    assert.equal(header(answer).rcode, 2);
  });
}
