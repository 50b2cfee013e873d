/** RFC 8482, minimal answers to ANY: one synthesised HINFO record (§4.2), never a large answer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { a, decode, header } from '../support/dns-wire.ts';
import { Gateway, replying } from '../support/gateway.ts';

test('ANY gets HINFO "RFC8482" over UDP and TCP, and is not asked upstream', async (t) => {
  const gateway = await Gateway.open(t, replying({ answers: [a(60)] }));
  for (const answer of [
    await gateway.ask('a.example', 'ANY'),
    await gateway.askTcp('a.example', 'ANY'),
  ]) {
    assert.deepEqual([header(answer).rcode, header(answer).counts[1]], [0, 1]);
    const [record] = decode(answer).answers ?? [];
    assert.deepEqual(record?.type === 'HINFO' ? record.data : null, { cpu: 'RFC8482', os: '' });
    assert.ok(answer.length < 80);
  }
  assert.equal(gateway.upstream.queries.length, 0);
});
