/**
 * RFC 8914, extended errors: told to clients with EDNS only (§2), without changing the response code (§3): 15 for a
 * block by the operator's lists and for private addresses taken out, 4 for an answer that was altered,
 * 22 without a reachable server, 13 for a remembered failure; an upstream's own is passed on.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerCode } from '../support/fake-upstream.ts';
import { a, header, readOpt } from '../support/dns-wire.ts';
import { table } from '../support/engine-fakes.ts';
import { Gateway, replying } from '../support/gateway.ts';

test('a block: 15, and no OPT without EDNS', async (t) => {
  const gateway = await Gateway.open(t, replying({}), { lists: table(['ads.example']) });
  assert.equal(readOpt(await gateway.ask('ads.example', 'A', { edns: {} }))?.ede, 15);
  assert.equal(header(await gateway.ask('ads.example')).counts[3], 0);
});

test('private addresses: 15 when nothing is left, 4 when something is', async (t) => {
  const home = a(60, 192, 168, 0, 1);
  const gateway = await Gateway.open(
    t,
    replying((name) => ({ answers: name.startsWith('all') ? [home] : [home, a(60)] })),
  );
  assert.equal(readOpt(await gateway.ask('all.example', 'A', { edns: {} }))?.ede, 15);
  assert.equal(readOpt(await gateway.ask('some.example', 'A', { edns: {} }))?.ede, 4);
});

test('a failure: 22, then 13 from memory', async (t) => {
  const gateway = await Gateway.open(t, answerCode(2));
  const first = await gateway.ask('dead.example', 'A', { edns: {} });
  assert.deepEqual([header(first).rcode, readOpt(first)?.ede], [2, 22]);
  assert.equal(readOpt(await gateway.ask('dead.example', 'A', { edns: {} }))?.ede, 13);
});

test("the upstream's own extended error is passed on", async (t) => {
  const options = [0, 15, 0, 2, 0, 6];
  const gateway = await Gateway.open(t, replying({ rcode: 2, edns: { options } }));
  assert.equal(readOpt(await gateway.ask('bogus.example', 'A', { edns: {} }))?.ede, 6);
});
