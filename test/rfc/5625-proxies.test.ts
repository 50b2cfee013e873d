/**
 * RFC 5625, DNS proxies: unknown types, classes and flags are no reason to drop a query (§4.1, §4.2); OPT,
 * CD and DO are handled, not eaten (§4.4); TCP is served (§4.4.1); DNSSEC records pass (§4.4); a
 * response comes from the port that was asked, and a query leaves from an unpredictable one (§6.1).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { a, header, questionLength, readOpt } from '../support/dns-wire.ts';
import { Gateway, replying } from '../support/gateway.ts';

test('CD and DO reach the upstream and come back; RRSIGs pass; AD only to who understands it', async (t) => {
  const rrsig = {
    type: 'RRSIG',
    ttl: 60,
    data: [0, 1, 8, 2, ...Array<number>(12).fill(0), 0, 1, 0, 9, 9],
  };
  const gateway = await Gateway.open(t, replying({ ad: true, answers: [a(60), rrsig] }));
  const answer = await gateway.ask('www.example', 'A', { cd: true, edns: { dnssecOk: true } });
  assert.deepEqual(
    [header(answer).cd, header(answer).ad, header(answer).counts[1]],
    [true, true, 2],
  );
  assert.equal(readOpt(answer)?.dnssecOk, true);
  const [query] = gateway.upstream.queries;
  assert.equal((query?.bytes[3] ?? 0) & 0x10, 0x10);
  // OPT follows the question: root, type, size, extended code, version, flags.
  assert.equal(query?.bytes[12 + questionLength(query.bytes) + 7], 0x80);
  const plain = await gateway.ask('www.example');
  assert.equal(header(plain).ad, false);
  assert.equal(gateway.upstream.queries.length, 2, 'another question');
  assert.equal(header(await gateway.ask('www.example', 'A', { ad: true })).ad, true);
});

test('IDs and source ports upstream are spread', async (t) => {
  const gateway = await Gateway.open(t, replying({ answers: [a(60)] }));
  await Promise.all(Array.from({ length: 60 }, (_, at) => gateway.ask(`n${String(at)}.example`)));
  const ids = new Set(gateway.upstream.queries.map(({ id }) => id));
  const ports = new Set(gateway.upstream.queries.map(({ sourcePort }) => sourcePort));
  assert.ok(ids.size >= 55, `${String(ids.size)} IDs`);
  assert.ok(ports.size >= 30, `${String(ports.size)} ports`);
});

test('zone transfers are refused, over TCP too', async (t) => {
  const gateway = await Gateway.open(t, replying({ answers: [a(60)] }));
  for (const type of ['AXFR', 'IXFR']) {
    assert.equal(header(await gateway.askTcp('example', type)).rcode, 5);
    assert.equal(header(await gateway.ask('example', type)).rcode, 5);
  }
  assert.equal(gateway.upstream.queries.length, 0);
});
