/** Looking into the cache, flushing names, and keeping answers over a restart. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { a, header, question, records, replyTo, soa } from '../support/dns-wire.ts';
import { EngineHarness, policy } from '../support/engine-fakes.ts';

const oneA = (query: Uint8Array) => replyTo(query, { answers: [a(300, 192, 0, 2, 1)], ad: true });

function filled(): EngineHarness {
  const harness = new EngineHarness();
  harness.resolve('www.site.example', 'A', (query) =>
    replyTo(query, {
      answers: [
        { type: 'CNAME', ttl: 300, data: [3, ...Buffer.from('cdn'), 0xc0, 16] },
        { name: 'cdn.site.example', type: 'A', ttl: 300, data: [192, 0, 2, 1] },
      ],
    }),
  );
  harness.resolve('www.site.example', 'AAAA', (query) =>
    replyTo(query, {
      answers: [
        { type: 'AAAA', ttl: 300, data: [0x20, 1, 0xd, 0xb8, ...Array<number>(11).fill(0), 1] },
      ],
    }),
  );
  harness.resolve('site.example', 'A', oneA, { cd: true, edns: { dnssecOk: true } });
  harness.resolve('no.site.example', 'A', (query) =>
    replyTo(query, { rcode: 3, authorities: [soa(300, 300)] }),
  );
  harness.send(question('dead.example', 'A'));
  harness.exchange.fail();
  return harness;
}

describe('inspect', () => {
  test('tells what is kept of a name, in words', () => {
    const harness = filled();
    harness.clock.pass(100);
    const items = harness.engine.inspectCache('WWW.site.example.');
    items.sort((left, right) => left.type - right.type);
    assert.deepEqual(
      items.map(({ type, ageSeconds, leftSeconds, records }) => ({
        type,
        ageSeconds,
        leftSeconds,
        records,
      })),
      [
        {
          ...{ type: 1, ageSeconds: 100, leftSeconds: 200 },
          records: [
            { owner: 'www.site.example', type: 5, ttl: 300, data: 'cdn.site.example' },
            { owner: 'cdn.site.example', type: 1, ttl: 300, data: '192.0.2.1' },
          ],
        },
        {
          ...{ type: 28, ageSeconds: 100, leftSeconds: 200 },
          records: [{ owner: 'www.site.example', type: 28, ttl: 300, data: '2001:db8::1' }],
        },
      ],
    );
    const [other] = harness.engine.inspectCache('site.example');
    assert.deepEqual([other?.dnssecOk, other?.checkingDisabled], [true, true]);
    assert.deepEqual(
      harness.engine.inspectCache('no.site.example').map(({ type, rcode }) => [type, rcode]),
      [[0, 3]],
    );
    assert.equal(harness.engine.inspectCache('x.example').length, 0);
    assert.equal(harness.engine.inspectCache('a..b').length, 0);
  });

  test('a failure is one', () => {
    const [item] = filled().engine.inspectCache('dead.example');
    assert.deepEqual([item?.rcode, item?.failure, item?.records], [2, 8, []]);
  });
});

describe('flush', () => {
  test('a name, with what lies below it or without', () => {
    const harness = filled();
    assert.equal(harness.counter('cacheEntries'), 5);
    assert.equal(harness.engine.flushCacheOf('site.example', false), 1);
    assert.equal(harness.engine.flushCacheOf('ite.example', true), 0);
    assert.equal(harness.engine.flushCacheOf('site.example', true), 3);
    assert.equal(harness.counter('cacheEntries'), 1);
    assert.equal(harness.send(question('www.site.example', 'A')), 'later');
    assert.equal(harness.engine.flushCacheOf('.', true), 1);
    assert.equal(harness.counter('cacheBytes'), 0);
  });
});

describe('keeping answers over a restart', () => {
  test('they come back older by the time between, wire for wire', () => {
    const before = filled();
    before.clock.pass(100);
    const image = before.engine.saveCache();
    const after = new EngineHarness();
    after.clock.us = 77;
    after.clock.ms = before.clock.ms + 50_000;
    assert.equal(after.engine.restoreCache(image), 4);
    before.clock.pass(50);
    for (const [name, type, options] of [
      ['www.site.example', 'A', {}],
      ['www.site.example', 'AAAA', {}],
      ['no.site.example', 'TXT', {}],
      ['below.no.site.example', 'A', {}],
      ['site.example', 'A', { cd: true, ad: true, edns: { dnssecOk: true } }],
    ] as const) {
      const answer = after.ask(name, type, options);
      assert.deepEqual(answer, before.ask(name, type, options), name);
    }
    assert.match(records(after.ask('www.site.example', 'A'), 'answers')[0] ?? '', / 150 /);
    assert.equal(after.exchange.count, 0);
  });

  test('a new block acts on them', () => {
    const image = filled().engine.saveCache();
    const after = new EngineHarness({ rules: policy().rules });
    after.engine.restoreCache(image);
    assert.equal(header(after.ask('www.site.example', 'A')).counts[1], 2);
  });

  test('nothing comes back that has expired, nor from a clock that went back', () => {
    const before = filled();
    const image = before.engine.saveCache();
    const late = new EngineHarness({ cache: { staleSecondsMax: 0 } });
    late.clock.ms = before.clock.ms + 301_000;
    assert.equal(late.engine.restoreCache(image), 0);
    const early = new EngineHarness();
    early.clock.ms = 0;
    assert.equal(early.engine.restoreCache(image), 0);
  });

  test('answers that other rebinding rules left are refused', () => {
    const image = filled().engine.saveCache();
    const after = new EngineHarness({ rebinding: { allow: ['plex.direct'] } });
    assert.equal(after.engine.restoreCache(image), 0);
  });

  test('any damage is met with an empty cache, never with an exception', () => {
    const image = filled().engine.saveCache();
    fc.assert(
      fc.property(
        fc.nat({ max: image.length - 1 }),
        fc.integer({ min: 1, max: 255 }),
        fc.boolean(),
        (at, change, isCut) => {
          const damaged = isCut ? image.slice(0, at) : image.slice();
          if (!isCut) damaged[at] = (damaged[at] ?? 0) ^ change;
          const after = new EngineHarness();
          assert.equal(after.engine.restoreCache(damaged), 0);
        },
      ),
      { numRuns: 500 },
    );
  });

  test('a forged image with a right checksum is walked with care', () => {
    const good = filled().engine.saveCache();
    const sum = (bytes: Uint8Array): void => {
      let value = 0x811c9dc5 | 0;
      for (let at = 8; at < bytes.length; at++) {
        if (at < 28 || at >= 32) value = Math.imul(value ^ (bytes[at] ?? 0), 0x01000193);
      }
      new DataView(bytes.buffer).setInt32(28, value, true);
    };
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 32, max: good.length - 1 }), fc.nat({ max: 255 })), {
          minLength: 1,
          maxLength: 4,
        }),
        (changes) => {
          const forged = good.slice();
          for (const [at, value] of changes) forged[at] = value;
          sum(forged);
          const after = new EngineHarness();
          after.engine.restoreCache(forged);
          for (const name of ['www.site.example', 'x.no.site.example']) {
            after.send(question(name, 'A'));
          }
          after.engine.inspectCache('www.site.example');
        },
      ),
      { numRuns: 1_000 },
    );
  });

  test('an empty cache is a file too', () => {
    const image = new EngineHarness().engine.saveCache();
    assert.equal(image.length, 32);
    assert.equal(new EngineHarness().engine.restoreCache(image), 0);
  });
});

describe('a question in flight while answers are forgotten', () => {
  const other = (query: Uint8Array) => replyTo(query, { answers: [a(300, 198, 51, 100, 9)] });

  for (const [title, forget] of [
    ['below a suffix', (harness) => harness.engine.flushCacheOf('corp.example', true)],
    ['of all names', (harness) => harness.engine.flushCache()],
  ] as [string, (harness: EngineHarness) => unknown][]) {
    test(`${title}: its answer is given, but neither kept nor shared`, () => {
      const harness = new EngineHarness();
      assert.equal(harness.send(question('host.corp.example', 'A')), 'later');
      forget(harness);
      // The servers are others now: whoever asks from here on gets their answer.
      assert.equal(harness.send(question('host.corp.example', 'A')), 'later');
      assert.equal(harness.exchange.count, 2);
      harness.exchange.answer(oneA);
      harness.exchange.answer(other);
      const given = harness.client.late.map((answer) => records(answer, 'answers')[0]);
      assert.deepEqual(given, [
        'host.corp.example A 300 192.0.2.1',
        'host.corp.example A 300 198.51.100.9',
      ]);
      const kept = harness.engine.inspectCache('host.corp.example');
      assert.deepEqual(
        kept.map((item) => item.records[0]?.data),
        ['198.51.100.9'],
      );
    });

    test(`${title}: its failure is not remembered`, () => {
      const harness = new EngineHarness();
      assert.equal(harness.send(question('host.corp.example', 'A')), 'later');
      forget(harness);
      harness.exchange.fail();
      assert.equal(header(harness.client.late.pop() as Uint8Array).rcode, 2);
      const answer = harness.resolve('host.corp.example', 'A', other);
      assert.equal(header(answer).counts[1], 1);
      assert.equal(harness.counter('pending'), 0);
    });
  }
});
