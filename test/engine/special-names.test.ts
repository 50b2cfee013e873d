/** Names that are answered locally and never asked upstream (main/dns/special-zones.ts). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { probeZone } from '../../main/dns/special-zones.ts';
import { SuffixSet } from '../../main/dns/suffix-set.ts';
import { a, header, records, replyTo } from '../support/dns-wire.ts';
import { EngineHarness, policy, table } from '../support/engine-fakes.ts';

const zeros = '0.'.repeat(31);

describe('localhost', () => {
  for (const name of ['localhost', 'LocalHost', 'a.b.localhost']) {
    test(`${name} is this machine`, () => {
      const harness = new EngineHarness();
      assert.deepEqual(records(harness.ask(name, 'A'), 'answers'), [`${name} A 10800 127.0.0.1`]);
      assert.deepEqual(records(harness.ask(name, 'AAAA'), 'answers'), [`${name} AAAA 10800 ::1`]);
      const other = harness.ask(name, 'MX');
      assert.deepEqual([header(other).rcode, ...header(other).counts], [0, 1, 0, 1, 0]);
      assert.ok(header(other).aa, 'our own data: AA is set');
    });
  }
});

/** Name, response code, owner of the SOA. */
const NEGATIVE: readonly (readonly [string, number, string])[] = [
  ['x.invalid', 3, 'invalid'],
  ['invalid', 3, 'invalid'],
  ['host.test', 3, 'test'],
  ['a.b.onion', 3, 'onion'],
  ['some.alt', 3, 'alt'],
  ['printer.local', 3, 'local'],
  ['local', 3, 'local'],
  ['db.internal', 3, 'internal'],
  ['nas.home.arpa', 3, 'home.arpa'],
  ['home.arpa', 0, 'home.arpa'],
  ['1.default.service.arpa', 3, 'default.service.arpa'],
  ['1.2.3.10.in-addr.arpa', 3, '10.in-addr.arpa'],
  ['10.in-addr.arpa', 0, '10.in-addr.arpa'],
  ['1.0.0.127.in-addr.arpa', 3, '127.in-addr.arpa'],
  ['1.1.16.172.in-addr.arpa', 3, '16.172.in-addr.arpa'],
  ['1.1.31.172.in-addr.arpa', 3, '31.172.in-addr.arpa'],
  ['1.1.168.192.in-addr.arpa', 3, '168.192.in-addr.arpa'],
  ['1.1.254.169.in-addr.arpa', 3, '254.169.in-addr.arpa'],
  ['1.1.64.100.in-addr.arpa', 3, '64.100.in-addr.arpa'],
  ['1.1.127.100.in-addr.arpa', 3, '127.100.in-addr.arpa'],
  ['255.255.255.255.in-addr.arpa', 0, '255.255.255.255.in-addr.arpa'],
  ['7.100.51.198.in-addr.arpa', 3, '100.51.198.in-addr.arpa'],
  [`1.${zeros}ip6.arpa`, 0, `1.${zeros}ip6.arpa`],
  ['1.0.d.f.ip6.arpa', 3, 'd.f.ip6.arpa'],
  ['b.e.f.ip6.arpa', 0, 'b.e.f.ip6.arpa'],
  ['1.8.e.f.ip6.arpa', 3, '8.e.f.ip6.arpa'],
  ['1.8.b.d.0.1.0.0.2.ip6.arpa', 3, '8.b.d.0.1.0.0.2.ip6.arpa'],
  ['_dns.resolver.arpa', 0, '_dns.resolver.arpa'],
  ['resolver.arpa', 0, 'resolver.arpa'],
  ['x.resolver.arpa', 3, 'resolver.arpa'],
  ['use-application-dns.net', 3, 'use-application-dns.net'],
];

describe('names that stay here', () => {
  for (const [name, rcode, zone] of NEGATIVE) {
    test(`${name} gets response code ${String(rcode)} with the SOA of ${zone}`, () => {
      const harness = new EngineHarness();
      for (const type of ['A', 'PTR', 'TYPE64']) {
        const answer = harness.ask(name, type);
        assert.deepEqual([header(answer).rcode, ...header(answer).counts], [rcode, 1, 0, 1, 0]);
        assert.ok(records(answer, 'authorities')[0]?.startsWith(`${zone} SOA 10800 `));
        assert.ok(header(answer).aa);
      }
      assert.equal(harness.exchange.count, 0);
      assert.deepEqual(
        [harness.sink.last.outcome, harness.sink.last.reason],
        ['local', 'special-name'],
      );
      assert.equal(harness.counter('local'), 3);
    });
  }
});

describe('names that only look special', () => {
  const names = [
    'localhost.example',
    'mylocalhost',
    'xlocal',
    'local.net',
    'invalid.org',
    'arpa',
    'in-addr.arpa',
    '1.1.15.172.in-addr.arpa',
    '1.1.32.172.in-addr.arpa',
    '172.in-addr.arpa',
    '1.1.63.100.in-addr.arpa',
    '1.1.128.100.in-addr.arpa',
    '110.in-addr.arpa',
    '8.8.8.8.in-addr.arpa',
    '1.c.f.ip6.arpa',
    `2.${zeros}ip6.arpa`,
    '10.in-addr.arpa.example',
    'xhome.arpa',
    'application-dns.net',
    '.',
  ];
  for (const name of names) {
    test(`${name} is forwarded`, () => {
      const harness = new EngineHarness();
      harness.resolve(name, 'A', (query) => replyTo(query, { answers: [a(5)] }));
      assert.equal(harness.sink.last.outcome, 'forwarded');
    });
  }
});

test('the browser canary cannot be allowed by lists or rules, but ends with filtering', () => {
  const name = 'use-application-dns.net';
  const harness = new EngineHarness({
    rules: table([], [`${name}@0`]),
    lists: table([name], [name]),
  });
  assert.equal(header(harness.ask(name, 'A')).rcode, 3);
  harness.engine.setPolicy(policy({ filtering: false, version: 2 }));
  harness.resolve(name, 'A', (query) => replyTo(query, { answers: [a(5)] }));
  assert.equal(header(harness.ask('x.onion', 'A')).rcode, 3, 'others stay, as the RFCs say');
});

describe('probe names of the takeover', () => {
  const mine = 'c0ffee.probe.sluice.internal';
  const settings = { probe: probeZone('c0ffee') };

  for (const name of [mine, `12ab.${mine}`, '12AB.C0ffee.PROBE.sluice.internal']) {
    test(`${name} comes from this instance, is no question, and is not logged`, () => {
      for (const filtering of [true, false]) {
        const harness = new EngineHarness({ ...settings, filtering });
        assert.deepEqual(records(harness.ask(name, 'A'), 'answers'), [`${name} A 0 127.0.0.1`]);
        assert.deepEqual(records(harness.ask(name, 'AAAA'), 'answers'), [`${name} AAAA 0 ::1`]);
        const other = harness.ask(name, 'TXT');
        assert.deepEqual([header(other).rcode, ...header(other).counts], [0, 1, 0, 1, 0]);
        const counts = (['received', 'probes', 'answered', 'local', 'logged'] as const).map(
          (counter) => harness.counter(counter),
        );
        assert.deepEqual(counts, [3, 3, 0, 0, 0]);
      }
    });
  }

  for (const name of [
    'probe.sluice.internal',
    'other.probe.sluice.internal',
    'x.other.probe.sluice.internal',
    `a.b.${mine}`,
    'xc0ffee.probe.sluice.internal',
    'sluice.internal',
  ]) {
    test(`${name} does not exist`, () => {
      const harness = new EngineHarness(settings);
      assert.equal(header(harness.ask(name, 'A')).rcode, 3);
      assert.equal(harness.counter('local'), 1);
    });
  }

  test('without an instance there are none', () => {
    assert.equal(header(new EngineHarness().ask(`12ab.${mine}`, 'A')).rcode, 3);
  });

  test('they come first where "internal" has servers of its own', () => {
    const harness = new EngineHarness({ ...settings, suffixes: new SuffixSet(['internal']) });
    assert.equal(header(harness.ask(`12ab.${mine}`, 'A')).counts[1], 1);
    assert.equal(harness.exchange.count, 0);
  });
});
