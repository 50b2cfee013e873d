/** Policies, services and clients in the engine: what is answered to whom. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { a, decode, header, question, readOpt, records, replyTo } from '../support/dns-wire.ts';
import { EngineHarness, FakeClient, table } from '../support/engine-fakes.ts';
import { filtersOf, type Settings } from '../support/filters.ts';

const lists = table(['listed.example@7', 'ads.example@8']);

async function harness(settings: Settings): Promise<EngineHarness> {
  return new EngineHarness({ ...(await filtersOf(settings)), lists });
}

/** What becomes of a name: outcome and reason as the log has them. */
function outcome(engine: EngineHarness, name: string, client?: FakeClient): string {
  const answer = engine.send(question(name, 'A'), client);
  if (answer === 'later') engine.exchange.answer((query) => replyTo(query, { answers: [a(60)] }));
  const { outcome: what, reason } = engine.sink.last;
  return `${what} ${reason}`;
}

describe('policies', () => {
  test('a name blocks itself and what is below, *.name only what is below', async () => {
    const engine = await harness({
      policies: [{ name: 'p', action: 'block', domains: ['one.example', '*.two.example'] }],
    });
    assert.equal(outcome(engine, 'one.example'), 'blocked policy');
    assert.equal(outcome(engine, 'a.b.one.example'), 'blocked policy');
    assert.equal(outcome(engine, 'two.example'), 'forwarded none');
    assert.equal(outcome(engine, 'WWW.two.example'), 'blocked policy');
    assert.equal(outcome(engine, 'notone.example'), 'forwarded none');
    assert.deepEqual([engine.sink.last.listId, engine.sink.records[0]?.listId], [65_535, 60_000]);
  });

  test('the larger priority decides, however specific the names are', async () => {
    const engine = await harness({
      policies: [
        { name: 'low', action: 'allow', domains: ['x.wide.example'], priority: 10 },
        { name: 'high', action: 'block', domains: ['wide.example'], priority: 500 },
      ],
    });
    assert.equal(outcome(engine, 'x.wide.example'), 'blocked policy');
  });

  test('at equal priority allow comes before redirect and redirect before block', async () => {
    const redirect = { addresses: ['10.0.0.1'] };
    const engine = await harness({
      policies: [
        { name: 'b', action: 'block', domains: ['x.example'] },
        { name: 'r', action: 'redirect', domains: ['x.example'], redirect },
        { name: 'a', action: 'allow', domains: ['both.x.example'] },
      ],
    });
    assert.equal(outcome(engine, 'both.x.example'), 'forwarded policy');
    assert.deepEqual(records(engine.ask('x.example'), 'answers'), ['x.example A 10 10.0.0.1']);
  });

  test('a policy comes before lists and after rules; a disabled one is as if not there', async () => {
    const engine = await harness({
      rules: ['@@||mine.example^'],
      policies: [
        { name: 'allow', action: 'allow', domains: ['listed.example'] },
        { name: 'block', action: 'block', domains: ['mine.example'] },
        { name: 'off', action: 'block', domains: ['off.example'], enabled: false },
      ],
    });
    assert.equal(outcome(engine, 'listed.example'), 'forwarded policy');
    assert.equal(outcome(engine, 'mine.example'), 'forwarded none');
    assert.equal(outcome(engine, 'off.example'), 'forwarded none');
    assert.equal(outcome(engine, 'ads.example'), 'blocked list');
  });

  test('a regular expression is searched for in the name', async () => {
    const engine = await harness({
      policies: [
        { name: 'r', action: 'block', regex: ['^ad[0-9]+\\.', 'track(er|ing)'], priority: 200 },
        { name: 'a', action: 'allow', domains: ['ad1.example'], priority: 300 },
      ],
    });
    assert.equal(outcome(engine, 'ad7.example'), 'blocked policy');
    assert.equal(outcome(engine, 'x.Tracking.example'), 'blocked policy');
    assert.equal(outcome(engine, 'ad1.example'), 'forwarded policy');
    assert.equal(outcome(engine, 'had7.example'), 'forwarded none');
  });

  test('an alias that leads to a blocked policy name is blocked', async () => {
    const engine = await harness({
      policies: [{ name: 'p', action: 'block', domains: ['hidden.example'] }],
    });
    const target = [6, ...Buffer.from('hidden'), 7, ...Buffer.from('example'), 0];
    const answer = engine.resolve('front.example', 'A', (query) =>
      replyTo(query, { answers: [{ type: 'CNAME', ttl: 60, data: target }] }),
    );
    assert.deepEqual(records(answer, 'answers'), ['front.example A 10 0.0.0.0']);
    assert.equal(engine.sink.last.reason, 'cname');
  });
});

describe('clients', () => {
  const phone = new FakeClient(192, 168, 1, 20);
  const tablet = new FakeClient(192, 168, 1, 21);
  const other = new FakeClient(10, 1, 2, 3);

  test('policies for a network, a client, a group', async () => {
    const engine = await harness({
      groups: [{ name: 'kids' }],
      clients: [
        { name: 'phone', ids: ['192.168.1.20'], group: 'kids' },
        { name: 'lan', ids: ['192.168.0.0/16'] },
      ],
      policies: [
        { name: 'g', action: 'block', domains: ['kids.example'], clients: ['kids'] },
        { name: 'l', action: 'block', domains: ['lan.example'], clients: ['lan'] },
        { name: 'n', action: 'block', domains: ['net.example'], clients: ['192.168.1.0/24'] },
      ],
    });
    const seen = ['kids.example', 'lan.example', 'net.example'].map((name) =>
      [phone, tablet, other].map((client) => outcome(engine, name, client).split(' ')[0]),
    );
    assert.deepEqual(seen[0], ['blocked', 'forwarded', 'cached']);
    assert.deepEqual(seen[1], ['forwarded', 'blocked', 'cached']);
    assert.deepEqual(seen[2], ['blocked', 'blocked', 'forwarded']);
  });

  test('rules, services and lists of a group', async () => {
    const settings: Settings = {
      lists: [
        { name: 'Seven', url: 'https://lists.example/7' },
        { name: 'Eight', url: 'https://lists.example/8' },
      ],
      groups: [
        {
          name: 'kids',
          lists: ['Eight'],
          rules: ['||own.example^', '@@||ads.example^'],
          services: ['tiktok'],
        },
        { name: 'free', filtering: false },
      ],
      clients: [
        { name: 'phone', ids: ['192.168.1.20'], group: 'kids' },
        { name: 'tablet', ids: ['192.168.1.21'], group: 'free' },
      ],
      services: ['facebook'],
    };
    const listNames = new Map([
      [7, 'Seven'],
      [8, 'Eight'],
    ]);
    const engine = new EngineHarness({ ...(await filtersOf(settings, { listNames })), lists });
    assert.equal(outcome(engine, 'own.example', phone), 'blocked rule');
    assert.equal(outcome(engine, 'ads.example', phone), 'forwarded allow-rule');
    assert.equal(outcome(engine, 'listed.example', phone), 'forwarded none');
    assert.equal(outcome(engine, 'www.tiktok.com', phone), 'blocked service');
    assert.equal(outcome(engine, 'm.facebook.com', phone), 'blocked service');
    assert.equal(outcome(engine, 'www.tiktok.com', other), 'forwarded none');
    assert.equal(outcome(engine, 'listed.example', other), 'blocked list');
    assert.equal(outcome(engine, 'facebook.com', other), 'blocked service');
    assert.equal(outcome(engine, 'facebook.com', tablet), 'forwarded paused');
  });

  test('what one client may see, another one is not shown from the cache', async () => {
    const engine = await harness({
      groups: [{ name: 'free', filtering: false }],
      clients: [{ name: 'tablet', ids: ['192.168.1.21'], group: 'free' }],
    });
    const target = [3, ...Buffer.from('ads'), 7, ...Buffer.from('example'), 0];
    engine.send(question('front.example', 'A'), tablet);
    engine.exchange.answer((query) =>
      replyTo(query, {
        answers: [
          { type: 'CNAME', ttl: 60, data: target },
          { name: 'ads.example', type: 'A', ttl: 60, data: [192, 0, 2, 1] },
        ],
      }),
    );
    assert.equal(outcome(engine, 'front.example', tablet), 'cached paused');
    assert.equal(outcome(engine, 'front.example', other), 'blocked cname');
    assert.equal(outcome(engine, 'front.example', tablet), 'cached paused');
  });

  test('a neighbour is known by its MAC address, unless its address has a client', async () => {
    const neighbours = new Map([['aabbccddeeff', [phone.address, tablet.address]]]);
    const settings: Settings = {
      clients: [
        { name: 'mac', ids: ['AA:BB:CC:DD:EE:FF'] },
        { name: 'exact', ids: ['192.168.1.21'] },
      ],
      policies: [{ name: 'p', action: 'block', domains: ['x.example'], clients: ['mac'] }],
    };
    const engine = new EngineHarness({ ...(await filtersOf(settings, { neighbours })), lists });
    assert.equal(outcome(engine, 'x.example', phone), 'blocked policy');
    assert.equal(outcome(engine, 'x.example', tablet), 'forwarded none');
  });
});

describe('redirects', () => {
  test('addresses: each family has its own, other types have no data', async () => {
    const redirect = { addresses: ['10.0.0.1', '10.0.0.2', 'fd00::1'] };
    const engine = await harness({
      policies: [{ name: 'r', action: 'redirect', domains: ['x.example'], redirect }],
    });
    assert.deepEqual(records(engine.ask('www.x.example'), 'answers'), [
      'www.x.example A 10 10.0.0.1',
      'www.x.example A 10 10.0.0.2',
    ]);
    assert.deepEqual(records(engine.ask('x.example', 'AAAA'), 'answers'), [
      'x.example AAAA 10 fd00::1',
    ]);
    const https = engine.ask('x.example', 'HTTPS', { edns: {} });
    assert.deepEqual([header(https).rcode, header(https).counts[1]], [0, 0]);
    assert.equal(readOpt(https)?.ede, 4);
    assert.deepEqual([engine.sink.last.outcome, engine.sink.last.reason], ['local', 'policy']);
  });

  test('a name: its alias and the addresses of the target, which are cached', async () => {
    const engine = await harness({
      policies: [
        { name: 'r', action: 'redirect', domains: ['x.example'], redirect: { name: 'y.example' } },
      ],
    });
    const first = engine.resolve('x.example', 'A', (query) => {
      assert.equal(decode(query).questions?.[0]?.name, 'y.example');
      return replyTo(query, { answers: [a(300, 192, 0, 2, 5)] });
    });
    const expected = ['x.example CNAME 10 y.example', 'y.example A 300 192.0.2.5'];
    assert.deepEqual(records(first, 'answers'), expected);
    assert.deepEqual(records(engine.ask('x.example'), 'answers'), expected);
    assert.deepEqual(records(engine.ask('y.example'), 'answers'), ['y.example A 300 192.0.2.5']);
    assert.equal(engine.exchange.count, 1);
  });

  test('the name that it leads to is let through', async () => {
    const redirect = { name: 'WWW.ads.example.' };
    const engine = await harness({
      policies: [{ name: 'r', action: 'redirect', domains: ['ads.example'], redirect }],
    });
    const reply = (query: Uint8Array) => replyTo(query, { answers: [a(300, 192, 0, 2, 5)] });
    const expected = 'www.ads.example A 300 192.0.2.5';
    assert.deepEqual(records(engine.resolve('ads.example', 'A', reply), 'answers'), [
      'ads.example CNAME 10 www.ads.example',
      expected,
    ]);
    assert.deepEqual(records(engine.ask('www.ads.example'), 'answers'), [expected]);
    assert.equal(records(engine.ask('ww2.ads.example'), 'answers').length, 2);
    assert.deepEqual(
      records(engine.ask('xwww.ads.example'), 'answers')[0],
      'xwww.ads.example CNAME 10 www.ads.example',
    );
  });

  test('a target that is in flight is joined, and joins', async () => {
    const engine = await harness({
      policies: [
        { name: 'r', action: 'redirect', domains: ['x.example'], redirect: { name: 'y.example' } },
      ],
    });
    assert.equal(engine.send(question('x.example', 'A')), 'later');
    assert.equal(engine.send(question('y.example', 'A')), 'later');
    assert.equal(engine.send(question('www.x.example', 'A')), 'later');
    assert.equal(engine.exchange.count, 1);
    engine.exchange.answer((query) => replyTo(query, { answers: [a(300, 192, 0, 2, 5)] }));
    assert.deepEqual(
      engine.client.late.map((answer) => records(answer, 'answers').join(' | ')),
      [
        'x.example CNAME 10 y.example | y.example A 300 192.0.2.5',
        'y.example A 300 192.0.2.5',
        'www.x.example CNAME 10 y.example | y.example A 300 192.0.2.5',
      ],
    );
  });

  test('a chain of the target with compressed names comes out whole', async () => {
    const engine = await harness({
      policies: [
        {
          name: 'r',
          action: 'redirect',
          domains: ['a.b.example'],
          redirect: { name: 'y.example' },
        },
      ],
    });
    const answer = engine.resolve('a.b.example', 'A', (query) =>
      replyTo(query, {
        answers: [
          // "cdn" and a pointer to "example" in the question
          { type: 'CNAME', ttl: 60, data: [3, ...Buffer.from('cdn'), 0xc0, 14] },
          { name: 'cdn.example', type: 'A', ttl: 60, data: [192, 0, 2, 6] },
        ],
      }),
    );
    assert.deepEqual(records(answer, 'answers'), [
      'a.b.example CNAME 10 y.example',
      'y.example CNAME 60 cdn.example',
      'cdn.example A 60 192.0.2.6',
    ]);
  });

  test('a target that does not exist, and one that cannot be asked', async () => {
    const engine = await harness({
      policies: [
        { name: 'r', action: 'redirect', domains: ['x.example'], redirect: { name: 'y.example' } },
        { name: 's', action: 'redirect', domains: ['z.example'], redirect: { name: 'w.example' } },
      ],
    });
    const none = engine.resolve('x.example', 'A', (query) => replyTo(query, { rcode: 3 }));
    assert.equal(header(none).rcode, 3);
    assert.deepEqual(records(none, 'answers'), ['x.example CNAME 10 y.example']);
    assert.equal(engine.send(question('z.example', 'A', { edns: {} })), 'later');
    engine.exchange.fail();
    const failed = engine.client.late.pop() ?? new Uint8Array(12);
    assert.equal(header(failed).rcode, 2);
    assert.equal(readOpt(failed)?.ede, 22);
    assert.deepEqual(
      [engine.sink.last.outcome, engine.sink.last.reason],
      ['failed', 'upstream-timeout'],
    );
    const again = engine.ask('z.example', 'A', { edns: {} });
    assert.deepEqual([header(again).rcode, readOpt(again)?.ede], [2, 13]);
  });

  test('CNAME is answered with the alias alone', async () => {
    const engine = await harness({
      policies: [
        { name: 'r', action: 'redirect', domains: ['x.example'], redirect: { name: 'y.example' } },
      ],
    });
    assert.deepEqual(records(engine.ask('x.example', 'CNAME'), 'answers'), [
      'x.example CNAME 10 y.example',
    ]);
  });
});

describe('rewrites of rules', () => {
  test('records, an alias, a code, silence', async () => {
    const engine = await harness({
      rules: [
        '||a.example^$dnsrewrite=10.0.0.7',
        '||c.example^$dnsrewrite=target.example',
        '||n.example^$dnsrewrite=NXDOMAIN',
        '||r.example^$dnsrewrite=REFUSED',
      ],
    });
    assert.deepEqual(records(engine.ask('a.example'), 'answers'), ['a.example A 10 10.0.0.7']);
    const answer = engine.resolve('c.example', 'A', (query) =>
      replyTo(query, { answers: [a(60, 192, 0, 2, 3)] }),
    );
    assert.deepEqual(records(answer, 'answers'), [
      'c.example CNAME 10 target.example',
      'target.example A 60 192.0.2.3',
    ]);
    assert.equal(header(engine.ask('n.example')).rcode, 3);
    assert.deepEqual([engine.sink.last.outcome, engine.sink.last.reason], ['blocked', 'rule']);
    assert.equal(header(engine.ask('r.example')).rcode, 5);
  });

  test('a dropped name gets no answer, and is logged', async () => {
    const rewrite = { rcode: 0, cname: '', records: [], drop: true };
    const filters = await filtersOf({
      policies: [{ name: 'p', action: 'block', domains: ['d.example'] }],
    });
    const entry = filters.policies?.entries[0];
    assert.ok(entry);
    Object.assign(entry, { rewrite });
    const engine = new EngineHarness({ ...filters, lists });
    assert.equal(engine.send(question('d.example', 'A')), null);
    assert.deepEqual([engine.sink.last.name, engine.sink.last.outcome], ['d.example', 'blocked']);
    assert.equal(engine.send(question('d.example', 'ANY')), null);
  });
});

describe('safe search and bypass', () => {
  test('a search engine is an alias to its safe form, names beside it are left alone', async () => {
    const engine = await harness({ safeSearch: { enabled: true, youtube: 'strict' } });
    const answer = engine.resolve('www.google.co.uk', 'A', (query) =>
      replyTo(query, { answers: [a(300, 216, 239, 38, 120)] }),
    );
    assert.deepEqual(records(answer, 'answers'), [
      'www.google.co.uk CNAME 10 forcesafesearch.google.com',
      'forcesafesearch.google.com A 300 216.239.38.120',
    ]);
    assert.deepEqual([engine.sink.last.outcome, engine.sink.last.reason], ['local', 'safe-search']);
    assert.equal(outcome(engine, 'mail.google.com'), 'forwarded none');
    assert.deepEqual(records(engine.ask('www.youtube.com', 'CNAME'), 'answers'), [
      'www.youtube.com CNAME 10 restrict.youtube.com',
    ]);
  });

  test('HTTPS of a search engine has no data and is not asked', async () => {
    const engine = await harness({ safeSearch: { enabled: true } });
    const answer = engine.ask('www.google.com', 'HTTPS');
    assert.deepEqual([header(answer).rcode, header(answer).counts[1]], [0, 0]);
    assert.equal(engine.exchange.count, 0);
  });

  test('a blocked service comes before safe search', async () => {
    const engine = await harness({ safeSearch: { enabled: true }, services: ['youtube'] });
    assert.equal(outcome(engine, 'www.youtube.com'), 'blocked service');
  });

  test('public encrypted DNS is blocked, relays get the negative answer they ask for', async () => {
    const engine = await harness({ bypass: { block: true } });
    assert.equal(outcome(engine, 'dns.google'), 'blocked bypass');
    assert.equal(outcome(engine, 'mozilla.cloudflare-dns.com'), 'blocked bypass');
    assert.equal(header(engine.ask('mask.icloud.com')).rcode, 3);
    assert.equal(header(engine.ask('mask-h2.icloud.com', 'HTTPS')).rcode, 3);
    assert.equal(engine.sink.last.reason, 'bypass');
  });
});
