/**
 * RFC 4343, case: names are compared without regard to ASCII case (§3), other bytes exactly; the case of
 * the question is kept in the response (§4.1), and one client's case does not reach another.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { a, header, question } from '../support/dns-wire.ts';
import { Gateway, replying } from '../support/gateway.ts';

test('one cache entry for all spellings, each client gets its own back', async (t) => {
  const gateway = await Gateway.open(t, replying({ answers: [a(60)] }));
  for (const name of ['www.example', 'WWW.EXAMPLE', 'wWw.eXaMpLe']) {
    const query = question(name, 'A');
    const answer = await gateway.send(query);
    assert.deepEqual([...answer.subarray(12, 29)], [...query.subarray(12, 29)]);
    assert.equal(header(answer).counts[1], 1);
  }
  assert.equal(gateway.upstream.queries.length, 1);
});

test('bytes beside A-Z are not folded: [ is not {', async (t) => {
  const gateway = await Gateway.open(t, replying({ answers: [a(60)] }));
  await gateway.ask('x[.example');
  await gateway.ask('x{.example');
  assert.equal(gateway.upstream.queries.length, 2);
});
