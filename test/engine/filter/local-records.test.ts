/** Local records: what is answered here and never asked upstream. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { a, header, question, readOpt, records, replyTo } from '../../support/dns-wire.ts';
import { EngineHarness, table } from '../../support/engine-fakes.ts';
import { filtersOf } from '../../support/filters.ts';

const settings = {
  records: [
    { name: 'nas.example', type: 'A', value: '192.168.1.10' },
    { name: 'nas.example', type: 'AAAA', value: 'fd00::10', ttlSeconds: 60 },
    { name: 'Alias.example', type: 'CNAME', value: 'nas.example' },
    { name: '*.dev.example', type: 'A', value: '192.168.1.11' },
    { name: 'own.dev.example', type: 'A', value: '192.168.1.12' },
    { name: 'out.example', type: 'CNAME', value: 'site.example' },
    { name: 'loop1.example', type: 'CNAME', value: 'loop2.example' },
    { name: 'loop2.example', type: 'CNAME', value: 'loop1.example' },
    { name: 'host.home.arpa', type: 'A', value: '192.168.1.13' },
    { name: 'mail.example', type: 'MX', value: '10 nas.example' },
    { name: 'mail.example', type: 'TXT', value: '"v=spf1 -all"' },
    { name: '_x._tcp.example', type: 'SRV', value: '0 5 443 nas.example' },
  ],
} as const;

async function harness(): Promise<EngineHarness> {
  const filters = await filtersOf({ records: settings.records.map((record) => ({ ...record })) });
  return new EngineHarness({ ...filters, lists: table(['nas.example', 'site.example']) });
}

test('addresses are answered with AA, before the filter', async () => {
  const engine = await harness();
  const answer = engine.ask('NAS.example');
  assert.equal((answer[2] ?? 0) & 0x04, 0x04);
  assert.deepEqual(records(answer, 'answers'), ['NAS.example A 300 192.168.1.10']);
  assert.deepEqual([engine.sink.last.outcome, engine.sink.last.reason], ['local', 'local-record']);
  assert.deepEqual(records(engine.ask('nas.example', 'AAAA'), 'answers'), [
    'nas.example AAAA 60 fd00::10',
  ]);
});

test('another type of a local name has no data and is not asked', async () => {
  const engine = await harness();
  const answer = engine.ask('nas.example', 'HTTPS');
  assert.deepEqual([header(answer).rcode, header(answer).counts[1]], [0, 0]);
  assert.equal(records(answer, 'authorities').length, 1);
  assert.equal(engine.exchange.count, 0);
});

test('an alias comes with the records of its target', async () => {
  const engine = await harness();
  assert.deepEqual(records(engine.ask('alias.example'), 'answers'), [
    'alias.example CNAME 300 nas.example',
    'nas.example A 300 192.168.1.10',
  ]);
  const answer = engine.ask('alias.example', 'TXT');
  assert.deepEqual(records(answer, 'answers'), ['alias.example CNAME 300 nas.example']);
});

test('an alias that leads outside is followed there', async () => {
  const engine = await harness();
  const answer = engine.resolve('out.example', 'A', (query) =>
    replyTo(query, { answers: [a(60, 192, 0, 2, 8)] }),
  );
  assert.deepEqual(records(answer, 'answers'), [
    'out.example CNAME 300 site.example',
    'site.example A 60 192.0.2.8',
  ]);
});

test('a wildcard stands for names that have no records of their own', async () => {
  const engine = await harness();
  assert.deepEqual(records(engine.ask('a.b.dev.example'), 'answers'), [
    'a.b.dev.example A 300 192.168.1.11',
  ]);
  assert.deepEqual(records(engine.ask('own.dev.example'), 'answers'), [
    'own.dev.example A 300 192.168.1.12',
  ]);
  assert.equal(engine.send(question('dev.example', 'A')), 'later');
  assert.equal(engine.send(question('x.own.dev.example', 'A')), 'later');
});

test('the reverse names of addresses are there', async () => {
  const engine = await harness();
  assert.deepEqual(records(engine.ask('10.1.168.192.in-addr.arpa', 'PTR'), 'answers'), [
    '10.1.168.192.in-addr.arpa PTR 300 nas.example',
  ]);
  const v6 = `0.1.${'0.'.repeat(27)}d.f.ip6.arpa`.replace('0.d.f', '0.0.d.f');
  assert.deepEqual(records(engine.ask(v6, 'PTR'), 'answers'), [`${v6} PTR 60 nas.example`]);
});

test('a name in a special zone is answered, what is beside it stays special', async () => {
  const engine = await harness();
  assert.deepEqual(records(engine.ask('host.home.arpa'), 'answers'), [
    'host.home.arpa A 300 192.168.1.13',
  ]);
  assert.equal(header(engine.ask('other.home.arpa')).rcode, 3);
});

test('aliases that lead in a circle are told as a failure', async () => {
  const engine = await harness();
  const answer = engine.ask('loop1.example', 'A', { edns: {} });
  assert.deepEqual([header(answer).rcode, readOpt(answer)?.ede], [2, 0]);
  assert.equal(engine.sink.last.outcome, 'failed');
});

test('other types are written as they are', async () => {
  const engine = await harness();
  assert.equal(header(engine.ask('mail.example', 'MX')).counts[1], 1);
  assert.equal(header(engine.ask('mail.example', 'TXT')).counts[1], 1);
  assert.equal(header(engine.ask('_x._tcp.example', 'SRV')).counts[1], 1);
});

test('local records are answered while filtering is off', async () => {
  const filters = await filtersOf({ records: settings.records.map((record) => ({ ...record })) });
  const engine = new EngineHarness({ ...filters, filtering: false });
  assert.equal(records(engine.ask('nas.example'), 'answers').length, 1);
});

test('wildcards end at the closest name that exists (RFC 4592)', async () => {
  const list = [
    ['a.b.home.example', '192.168.1.1'],
    ['*.home.example', '192.168.1.2'],
    ['*.w.home.example', '192.168.1.3'],
    ['x.y.plain.example', '192.168.1.4'],
  ] as const;
  const filters = await filtersOf({
    records: list.map(([name, value]) => ({ name, type: 'A' as const, value })),
  });
  const engine = new EngineHarness(filters);
  const addressOf = (name: string): string => {
    const answer = engine.ask(name);
    assert.deepEqual([header(answer).rcode, engine.exchange.count], [0, 0], name);
    return records(answer, 'answers').join().split(' ').at(-1) ?? '';
  };
  assert.equal(addressOf('a.b.home.example'), '192.168.1.1');
  assert.equal(addressOf('b.home.example'), '', 'an empty name has no data');
  assert.equal(addressOf('w.home.example'), '', 'so has the name of a wildcard');
  assert.equal(addressOf('c.home.example'), '192.168.1.2');
  assert.equal(addressOf('d.c.home.example'), '192.168.1.2');
  assert.equal(addressOf('z.w.home.example'), '192.168.1.3');
  for (const name of ['c.b.home.example', 'x.a.b.home.example', 'y.plain.example']) {
    const before = engine.exchange.count;
    engine.resolve(name, 'A', (query) => replyTo(query, { answers: [a(60)] }));
    assert.equal(engine.exchange.count, before + 1, `${name} is not ours`);
  }
});
