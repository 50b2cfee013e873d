/** What blocks, what allows, and how a block is answered (main/engine/steps/filter.ts). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { a, header, readOpt, records, replyTo } from '../support/dns-wire.ts';
import { EngineHarness, policy, table } from '../support/engine-fakes.ts';

const lists = table(
  ['ads.example@7', 'deep.ads.example@9', 'shop.example@7'],
  ['good.shop.example@8'],
);

describe('the null-address answer', () => {
  test('A gets 0.0.0.0 and AAAA gets ::, with the blocking TTL', () => {
    const harness = new EngineHarness({ lists, blockingTtlSeconds: 17 });
    const v4 = harness.ask('x.ads.example', 'A');
    assert.deepEqual(records(v4, 'answers'), ['x.ads.example A 17 0.0.0.0']);
    const v6 = harness.ask('ads.example', 'AAAA');
    assert.deepEqual(records(v6, 'answers'), ['ads.example AAAA 17 ::']);
    assert.equal(header(v4).rcode | header(v6).rcode, 0);
  });

  for (const type of ['HTTPS', 'TXT', 'MX', 'PTR', 'SRV', 'NS', 'SOA', 'DS', 'TYPE65535']) {
    test(`${type} gets NODATA with an SOA`, () => {
      const harness = new EngineHarness({ lists, blockingTtlSeconds: 17 });
      const answer = harness.ask('Ads.Example', type, { edns: {} });
      assert.deepEqual(header(answer).counts, [1, 0, 1, 1]);
      assert.equal(header(answer).rcode, 0);
      const [soa = ''] = records(answer, 'authorities');
      assert.match(soa, /^Ads\.Example SOA 17 .*"mname":"localhost","rname":"nobody\.invalid"/);
      assert.match(soa, /"minimum":17/);
      assert.equal(readOpt(answer)?.ede, 15);
    });
  }
});

describe('other blocking answers', () => {
  for (const type of ['A', 'AAAA', 'HTTPS']) {
    test(`nxdomain, nodata and refused for ${type}`, () => {
      const seen = (['nxdomain', 'nodata', 'refused'] as const).map((blockingAnswer) => {
        const harness = new EngineHarness({ lists, blockingAnswer });
        const answer = harness.ask('ads.example', type, { edns: {} });
        assert.equal(readOpt(answer)?.ede, 15);
        assert.equal(harness.sink.last.outcome, 'blocked');
        assert.equal(harness.sink.last.rcode, header(answer).rcode);
        return [header(answer).rcode, ...header(answer).counts.slice(1, 3)];
      });
      assert.deepEqual(seen, [
        [3, 0, 1],
        [0, 0, 1],
        [5, 0, 0],
      ]);
    });
  }
});

describe('which names', () => {
  const blocked = [
    'ads.example',
    'ADS.example',
    'a.b.c.ads.example',
    'deep.ads.example',
    'shop.example',
  ];
  const passed = [
    'example',
    'ads',
    'notads.example',
    'ads.example.org',
    'xads.example',
    'example.ads',
  ];
  for (const name of blocked) {
    test(`${name} is blocked`, () => {
      const harness = new EngineHarness({ lists });
      assert.deepEqual(header(harness.ask(name, 'A')).counts, [1, 1, 0, 0]);
      assert.equal(harness.counter('blocked'), 1);
    });
  }
  for (const name of passed) {
    test(`${name} passes`, () => {
      const harness = new EngineHarness({ lists });
      harness.resolve(name, 'A', (query) => replyTo(query, { answers: [a(5)] }));
      assert.equal(harness.sink.last.reason, 'none');
      assert.equal(harness.sink.last.listId, 65_535);
    });
  }
});

describe('who decides', () => {
  const cases: {
    title: string;
    name: string;
    rules: [string[], string[]];
    outcome: string;
    reason: string;
    listId: number;
    labels: number;
  }[] = [
    {
      title: 'the most specific list entry is named',
      name: 'x.deep.ads.example',
      rules: [[], []],
      outcome: 'blocked',
      reason: 'list',
      listId: 9,
      labels: 3,
    },
    {
      title: 'a rule blocks',
      name: 'x.other.example',
      rules: [['other.example@0'], []],
      outcome: 'blocked',
      reason: 'rule',
      listId: 0,
      labels: 2,
    },
    {
      title: 'a rule is named before a list',
      name: 'x.ads.example',
      rules: [['ads.example@0'], []],
      outcome: 'blocked',
      reason: 'rule',
      listId: 0,
      labels: 2,
    },
    {
      title: 'an allow rule beats a list',
      name: 'x.deep.ads.example',
      rules: [[], ['ads.example@0']],
      outcome: 'forwarded',
      reason: 'allow-rule',
      listId: 0,
      labels: 2,
    },
    {
      title: 'an allow list entry beats a less specific block',
      name: 'good.shop.example',
      rules: [[], []],
      outcome: 'forwarded',
      reason: 'allow-rule',
      listId: 8,
      labels: 3,
    },
    {
      title: "the user's own block beats an allow list entry",
      name: 'good.shop.example',
      rules: [['shop.example@0'], []],
      outcome: 'blocked',
      reason: 'rule',
      listId: 0,
      labels: 2,
    },
    {
      title: 'an allow rule beats a block rule, an allow entry and a block entry',
      name: 'good.shop.example',
      rules: [['good.shop.example@0'], ['shop.example@0']],
      outcome: 'forwarded',
      reason: 'allow-rule',
      listId: 0,
      labels: 2,
    },
    {
      title: 'a less specific allow rule beats a more specific block rule',
      name: 'a.b.example',
      rules: [['a.b.example@0'], ['b.example@0']],
      outcome: 'forwarded',
      reason: 'allow-rule',
      listId: 0,
      labels: 2,
    },
    {
      title: 'an allow rule without a block is no reason',
      name: 'free.example',
      rules: [[], ['free.example@0']],
      outcome: 'forwarded',
      reason: 'none',
      listId: 65_535,
      labels: 0,
    },
  ];
  for (const { title, name, rules, outcome, reason, listId, labels } of cases) {
    test(title, () => {
      const harness = new EngineHarness({ lists, rules: table(...rules) });
      if (outcome === 'blocked') harness.ask(name, 'A');
      else harness.resolve(name, 'A', (query) => replyTo(query, { answers: [a(5)] }));
      const seen = harness.sink.last;
      assert.deepEqual(
        [seen.outcome, seen.reason, seen.listId, seen.matchedLabels],
        [outcome, reason, listId, labels],
      );
    });
  }
});

test('a new block acts at once on a name that is cached', () => {
  const harness = new EngineHarness();
  harness.resolve('x.ads.example', 'A', (query) => replyTo(query, { answers: [a(300)] }));
  assert.deepEqual(records(harness.ask('x.ads.example', 'A'), 'answers'), [
    'x.ads.example A 300 192.0.2.1',
  ]);
  harness.engine.setPolicy(policy({ lists, version: 2 }));
  assert.deepEqual(records(harness.ask('x.ads.example', 'A'), 'answers'), [
    'x.ads.example A 10 0.0.0.0',
  ]);
  harness.engine.setPolicy(policy({ version: 3 }));
  assert.deepEqual(records(harness.ask('x.ads.example', 'A'), 'answers'), [
    'x.ads.example A 300 192.0.2.1',
  ]);
  assert.equal(harness.exchange.count, 1);
});

test('while filtering is off, everything is forwarded transparently and says so', () => {
  const harness = new EngineHarness({ lists, filtering: false });
  const answer = harness.resolve('ads.example', 'A', (query) =>
    replyTo(query, { answers: [a(300)] }),
  );
  assert.deepEqual(records(answer, 'answers'), ['ads.example A 300 192.0.2.1']);
  assert.equal(harness.sink.last.reason, 'paused');
  harness.ask('ads.example', 'A');
  assert.deepEqual([harness.sink.last.outcome, harness.sink.last.reason], ['cached', 'paused']);
});
