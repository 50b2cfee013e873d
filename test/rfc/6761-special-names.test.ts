/**
 * RFC 6761 and its kind: localhost is this machine (RFC 6761 §6.3); invalid, test, onion (RFC 7686), local
 * (RFC 6762), home.arpa (RFC 8375), internal and alt (RFC 9476) do not leave it; the reverse zones of
 * private networks are empty here (RFC 6303 §3); _dns.resolver.arpa has no data (RFC 9462 §6.4).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { a, header, records, soa } from '../support/dns-wire.ts';
import { Gateway, replying } from '../support/gateway.ts';

const CASES: readonly (readonly [name: string, type: string, rcode: number, answers: number])[] = [
  ['localhost', 'A', 0, 1],
  ['x.localhost', 'AAAA', 0, 1],
  ['localhost', 'MX', 0, 0],
  ['a.invalid', 'A', 3, 0],
  ['a.test', 'A', 3, 0],
  ['abc.onion', 'A', 3, 0],
  ['printer.local', 'A', 3, 0],
  ['nas.home.arpa', 'A', 3, 0],
  ['x.internal', 'A', 3, 0],
  ['x.alt', 'A', 3, 0],
  ['1.1.168.192.in-addr.arpa', 'PTR', 3, 0],
  ['10.in-addr.arpa', 'SOA', 0, 1],
  ['10.in-addr.arpa', 'A', 0, 0],
  ['home.arpa', 'NS', 0, 1],
  ['home.arpa', 'A', 0, 0],
  ['x.default.service.arpa', 'SRV', 3, 0],
  ['nas.home.arpa', 'DS', 3, 0],
  ['x.local', 'DS', 3, 0],
  ['1.0.0.127.in-addr.arpa', 'PTR', 3, 0],
  ['5.64.100.in-addr.arpa', 'PTR', 3, 0],
  ['x.d.f.ip6.arpa', 'PTR', 3, 0],
  ['_dns.resolver.arpa', 'TYPE64', 0, 0],
  ['use-application-dns.net', 'A', 3, 0],
];

test('all are answered here, negative ones with an SOA', async (t) => {
  const gateway = await Gateway.open(t, replying({ answers: [a(60)] }));
  for (const [name, type, rcode, answers] of CASES) {
    const answer = await gateway.ask(name, type);
    const seen = header(answer);
    assert.deepEqual([seen.rcode, seen.counts[1]], [rcode, answers], name);
    if (answers === 0) assert.match(records(answer, 'authorities')[0] ?? '', / SOA /, name);
  }
  assert.equal(gateway.upstream.queries.length, 0);
});

test('an empty zone has an SOA and an NS (RFC 6303 §3)', async (t) => {
  const gateway = await Gateway.open(t, replying({ answers: [a(60)] }));
  const soa = await gateway.ask('168.192.in-addr.arpa', 'SOA', { edns: {} });
  assert.match(
    records(soa, 'answers')[0] ?? '',
    /^168\.192\.in-addr\.arpa SOA 10800 .*"minimum":10800/,
  );
  assert.ok(header(soa).aa);
  const ns = await gateway.ask('Home.ARPA', 'NS');
  assert.deepEqual(records(ns, 'answers'), ['Home.ARPA NS 10800 Home.ARPA']);
});

test('whether such a zone is signed is for its parent to say (RFC 8375 §4)', async (t) => {
  const gateway = await Gateway.open(t, replying({ authorities: [soa(60, 60, 'arpa')] }), {
    mixedCase: false,
  });
  for (const name of ['home.arpa', '10.in-addr.arpa', 'resolver.arpa']) {
    const answer = await gateway.ask(name, 'DS', { edns: { dnssecOk: true } });
    assert.deepEqual([header(answer).rcode, header(answer).aa], [0, false], name);
  }
  assert.equal(gateway.upstream.queries.length, 3);
});

test('their neighbours are asked upstream', async (t) => {
  const gateway = await Gateway.open(t, replying({ answers: [a(60)] }));
  const names = ['localhost.example', 'test.example', '1.32.172.in-addr.arpa', 'xlocal', 'arpa'];
  for (const name of names) await gateway.ask(name);
  assert.equal(gateway.upstream.queries.length, names.length);
});
