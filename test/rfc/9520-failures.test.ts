/**
 * RFC 9520, caching of failures: a failed resolution is remembered for 1 s to 5 min (§3.2), so that repeated questions
 * do not go out (§3.1); identical questions in flight are one (§3.1).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerCode, delayed } from '../support/fake-upstream.ts';
import { a, header } from '../support/dns-wire.ts';
import { Gateway, replying } from '../support/gateway.ts';

test('a SERVFAIL and a REFUSED are remembered', async (t) => {
  for (const rcode of [2, 5]) {
    const gateway = await Gateway.open(t, answerCode(rcode));
    assert.equal(header(await gateway.ask('dead.example')).rcode, rcode);
    const asked = gateway.upstream.queries.length;
    for (let time = 0; time < 10; time++) {
      assert.equal(header(await gateway.ask('dead.example')).rcode, rcode);
    }
    assert.equal(gateway.upstream.queries.length, asked);
  }
});

test('a hundred identical questions in flight are one upstream', async (t) => {
  const gateway = await Gateway.open(t, delayed(100, replying({ answers: [a(60)] })));
  const answers = await Promise.all(Array.from({ length: 100 }, () => gateway.ask('www.example')));
  assert.ok(answers.every((answer) => header(answer).counts[1] === 1));
  assert.equal(gateway.upstream.queries.length, 1);
  assert.equal(gateway.counter('joined'), 99);
});
