/**
 * RFC 2308, negative caching: NXDOMAIN is kept for a name whatever the type, NODATA for name and
 * type (§5); for the smaller of the SOA's TTL and its MINIMUM (§5); without an SOA not at all (§5).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { header, records, soa } from '../support/dns-wire.ts';
import { Gateway, replying } from '../support/gateway.ts';

/** Nothing but the questions of clients is counted: negative answers are not confirmed. */
const PLAIN = { mixedCase: false };

test('NXDOMAIN is kept for every type, by the SOA minimum', async (t) => {
  const gateway = await Gateway.open(t, replying({ rcode: 3, authorities: [soa(900, 60)] }), PLAIN);
  await gateway.ask('no.example', 'A');
  for (const type of ['A', 'AAAA', 'MX', 'TYPE65280']) {
    const answer = await gateway.ask('no.example', type);
    assert.equal(header(answer).rcode, 3);
    assert.match(records(answer, 'authorities')[0] ?? '', / SOA (60|59) /);
  }
  assert.equal(gateway.upstream.queries.length, 1);
});

test('NODATA is kept for its type only', async (t) => {
  const gateway = await Gateway.open(t, replying({ authorities: [soa(60, 900)] }), PLAIN);
  for (const type of ['A', 'A', 'MX', 'MX']) {
    const answer = await gateway.ask('empty.example', type);
    assert.deepEqual([header(answer).rcode, header(answer).counts.slice(1, 3)], [0, [0, 1]]);
  }
  assert.equal(gateway.upstream.queries.length, 2);
});

test('a negative answer without an SOA is passed on but not kept', async (t) => {
  const gateway = await Gateway.open(t, replying({ rcode: 3 }), PLAIN);
  for (let time = 0; time < 2; time++)
    assert.equal(header(await gateway.ask('no.example')).rcode, 3);
  assert.equal(gateway.upstream.queries.length, 2);
});
