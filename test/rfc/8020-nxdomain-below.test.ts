/**
 * RFC 8020, NXDOMAIN really means that nothing is below: names below a kept NXDOMAIN get NXDOMAIN
 * without being asked (§2); not when the NXDOMAIN came behind a CNAME, which is about the target (§2).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { header, records, soa, wireName } from '../support/dns-wire.ts';
import { Gateway, replying } from '../support/gateway.ts';

test('random names below a missing one do not reach the upstream', async (t) => {
  const gateway = await Gateway.open(
    t,
    replying({ rcode: 3, authorities: [soa(60, 60, 'example')] }),
    { mixedCase: false },
  );
  await gateway.ask('gone.example');
  for (let index = 0; index < 20; index++) {
    const answer = await gateway.ask(`x${String(index)}.y.GONE.example`, 'AAAA', { edns: {} });
    assert.equal(header(answer).rcode, 3);
    assert.match(records(answer, 'authorities')[0] ?? '', /^example SOA /);
  }
  assert.equal(gateway.upstream.queries.length, 1);
});

test('behind an alias it says nothing of the alias', async (t) => {
  const alias = { type: 'CNAME', ttl: 60, data: wireName('gone.other') };
  const gateway = await Gateway.open(
    t,
    replying({ rcode: 3, answers: [alias], authorities: [soa(60, 60, 'other')] }),
    { mixedCase: false },
  );
  await gateway.ask('www.example');
  await gateway.ask('a.www.example');
  assert.equal(gateway.upstream.queries.length, 2);
});
