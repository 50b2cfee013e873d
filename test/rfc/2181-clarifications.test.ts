/**
 * RFC 2181, clarifications: a TTL with the top bit set counts as 0 (§8); a truncated reply is not
 * used, the question is asked again over TCP (§9); data of names that were not asked is not to be
 * believed (§5.4.1); any label byte is allowed (§11).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byTransport, truncatedAnswer } from '../support/fake-upstream.ts';
import { a, header, question, records } from '../support/dns-wire.ts';
import { Gateway, replying } from '../support/gateway.ts';

test('a truncated reply is asked for again over TCP and never passed on', async (t) => {
  const gateway = await Gateway.open(
    t,
    byTransport(truncatedAnswer, replying({ answers: [a(60)] })),
  );
  const answer = await gateway.ask('big.example');
  assert.deepEqual([header(answer).tc, header(answer).counts[1]], [false, 1]);
  assert.deepEqual(
    gateway.upstream.queries.map(({ transport }) => transport),
    ['udp', 'tcp'],
  );
});

test('records of strangers do not reach the client', async (t) => {
  const gateway = await Gateway.open(
    t,
    replying({ answers: [a(60), { ...a(60, 192, 0, 2, 66), name: 'bank.example' }] }),
  );
  assert.deepEqual(records(await gateway.ask('www.example'), 'answers'), [
    'www.example A 60 192.0.2.1',
  ]);
});

test('every byte may stand in a label', async (t) => {
  const gateway = await Gateway.open(t, replying({ answers: [a(60)] }));
  const odd = question('0123456789.example', 'A');
  odd.set([0, 0x2e, 0x5c, 0xff, 0x20, 1, 0x80, 0x2a, 0x5f, 0x40], 13);
  const answer = await gateway.send(odd);
  assert.deepEqual([header(answer).rcode, header(answer).counts[1]], [0, 1]);
  assert.deepEqual([...answer.subarray(12, 31)], [...odd.subarray(12, 31)]);
});

test('a TTL above 2^31 lives no longer than the cap', async (t) => {
  const gateway = await Gateway.open(t, replying({ answers: [a(0xffff_ffff)] }));
  const [record = ''] = records(await gateway.ask('www.example'), 'answers');
  const ttl = Number(record.split(' ')[2]);
  assert.ok(ttl <= 86_400, record);
});
