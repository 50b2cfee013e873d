/**
 * RFC 8767, serving stale data: an expired answer is given when no upstream gives a usable one (§4), with a
 * TTL of 30 s (§4); never instead of asking (§5); NXDOMAIN from upstream is an answer and replaces it (§4).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerCode, inTurn } from '../support/fake-upstream.ts';
import { a, header, readOpt, records, soa } from '../support/dns-wire.ts';
import { Gateway, replying } from '../support/gateway.ts';

const brief = replying({ answers: [a(1)] });
const expire = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1_150));

test('SERVFAIL upstream: the old answer, TTL 30, EDE 3', async (t) => {
  const gateway = await Gateway.open(t, inTurn(brief, answerCode(2)));
  await gateway.ask('www.example');
  await expire();
  const answer = await gateway.ask('www.example', 'A', { edns: {} });
  assert.deepEqual(records(answer, 'answers'), ['www.example A 30 192.0.2.1']);
  assert.equal(readOpt(answer)?.ede, 3);
  assert.equal(gateway.counter('stale'), 1);
});

test('NXDOMAIN upstream is believed', async (t) => {
  const gateway = await Gateway.open(
    t,
    inTurn(brief, replying({ rcode: 3, authorities: [soa(60, 60)] })),
  );
  await gateway.ask('www.example');
  await expire();
  assert.equal(header(await gateway.ask('www.example')).rcode, 3);
});

test('with staleness off there is SERVFAIL', async (t) => {
  const gateway = await Gateway.open(t, inTurn(brief, answerCode(2)), {
    cache: { staleSecondsMax: 0 },
  });
  await gateway.ask('www.example');
  await expire();
  assert.equal(header(await gateway.ask('www.example')).rcode, 2);
});
