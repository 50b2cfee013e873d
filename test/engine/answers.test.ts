/** The cache as clients see it: ageing, negative answers, what is not kept, stale answers. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  a,
  header,
  question,
  readOpt,
  records,
  replyTo,
  soa,
  wireName,
  type ReplyOptions,
} from '../support/dns-wire.ts';
import { EngineHarness, FakeClient, policy } from '../support/engine-fakes.ts';

const reply = (options: ReplyOptions) => (query: Uint8Array) => replyTo(query, options);
const outcome = (harness: EngineHarness): string => harness.sink.last.outcome;

/** Whether a second question within `seconds` is answered from the cache. */
function isKept(options: ReplyOptions, type = 'A', seconds = 0): boolean {
  const harness = new EngineHarness();
  harness.resolve('x.example', type, reply(options));
  harness.clock.pass(seconds);
  return harness.send(question('x.example', type)) !== 'later';
}

describe('positive answers', () => {
  test('TTLs age by whole seconds, to 1, then the question goes upstream again', () => {
    const harness = new EngineHarness();
    const answers = [a(10), a(20, 192, 0, 2, 2)];
    const first = harness.resolve('x.example', 'A', reply({ answers }));
    assert.deepEqual(records(first, 'answers'), [
      'x.example A 10 192.0.2.1',
      'x.example A 20 192.0.2.2',
    ]);
    for (const [pass, ttls] of [
      [0, [10, 20]],
      [3, [7, 17]],
      [6, [1, 11]],
    ] as const) {
      harness.clock.pass(pass);
      const seen = records(harness.ask('X.example', 'A'), 'answers');
      assert.deepEqual(seen, [
        `X.example A ${String(ttls[0])} 192.0.2.1`,
        `X.example A ${String(ttls[1])} 192.0.2.2`,
      ]);
      assert.equal(outcome(harness), 'cached');
    }
    harness.clock.pass(1);
    assert.equal(harness.send(question('x.example', 'A')), 'later');
    assert.equal(harness.exchange.count, 2);
    assert.equal(harness.counter('cacheMisses'), 2);
  });

  test('a stepped wall clock does not age the cache', () => {
    const harness = new EngineHarness();
    harness.resolve('x.example', 'A', reply({ answers: [a(10)] }));
    harness.clock.ms -= 1e12;
    assert.deepEqual(records(harness.ask('x.example', 'A'), 'answers'), [
      'x.example A 10 192.0.2.1',
    ]);
  });

  test('TTLs are clamped in the cache and in what is forwarded', () => {
    const harness = new EngineHarness({ cache: { ttlMinSeconds: 30, ttlMaxSeconds: 100 } });
    const answers = [a(5), a(60, 192, 0, 2, 2), a(0xffff_ffff, 192, 0, 2, 3)];
    const first = harness.resolve('x.example', 'A', reply({ answers }));
    const ttls = (bytes: Uint8Array) =>
      records(bytes, 'answers').map((text) => Number(text.split(' ')[2]));
    assert.deepEqual(ttls(first), [30, 60, 100]);
    harness.clock.pass(29);
    assert.deepEqual(ttls(harness.ask('x.example', 'A')), [1, 31, 71]);
  });

  test('TTL 0 is forwarded as 0 and not kept, whatever the minimum', () => {
    const harness = new EngineHarness({ cache: { ttlMinSeconds: 30 } });
    const first = harness.resolve('x.example', 'A', reply({ answers: [a(0)] }));
    assert.deepEqual(records(first, 'answers'), ['x.example A 0 192.0.2.1']);
    assert.equal(harness.send(question('x.example', 'A')), 'later');
  });

  test('type, class, DO and CD are different questions; RD, AD, ID, case and size are not', () => {
    const harness = new EngineHarness();
    harness.resolve('x.example', 'A', reply({ answers: [a(60)] }));
    for (const options of [{ rd: false }, { ad: true }, { id: 9 }, { edns: { size: 600 } }]) {
      harness.ask('X.EXAMPLE', 'A', options);
    }
    for (const [type, options] of [
      ['AAAA', {}],
      ['A', { qclass: 9 }],
      ['A', { edns: { dnssecOk: true } }],
      ['A', { cd: true }],
      ['A', { cd: true, edns: { dnssecOk: true } }],
    ] as const) {
      assert.equal(harness.send(question('x.example', type, options)), 'later');
    }
    assert.equal(harness.counter('joined'), 0);
  });

  test('OPT and what follows it are cut off; glue before it stays, TTLs of all sections age', () => {
    const ns = { type: 'NS', ttl: 100, data: wireName('ns.example') };
    const glue = { name: 'ns.example', type: 'A', ttl: 100, data: [192, 0, 2, 53] };
    for (const optLast of [true, false]) {
      const harness = new EngineHarness();
      const options = {
        answers: [a(100)],
        authorities: [ns],
        additionals: [glue],
        edns: { dnssecOk: true },
        optLast,
      };
      harness.resolve('x.example', 'A', reply(options));
      harness.clock.pass(40);
      const kept = optLast ? [{ ...glue, ttl: 60 }] : [];
      const expected = replyTo(question('x.example', 'A'), {
        answers: [a(60)],
        authorities: [{ ...ns, ttl: 60 }],
        additionals: kept,
      });
      assert.deepEqual(harness.ask('x.example', 'A'), expected);
    }
  });

  test('an answer above 16 KiB is forwarded but not kept', () => {
    const big = { type: 'TYPE999', ttl: 60, data: new Array<number>(16_384).fill(0) };
    const small = { ...big, data: new Array<number>(16_000).fill(0) };
    const harness = new EngineHarness();
    harness.client.transport = 'tcp';
    harness.resolve('small.example', 'TYPE999', reply({ answers: [small] }));
    assert.ok(harness.ask('small.example', 'TYPE999').length > 16_000);
    assert.ok(harness.resolve('big.example', 'TYPE999', reply({ answers: [big] })).length > 16_384);
    harness.client.transport = 'tcp';
    assert.equal(harness.send(question('big.example', 'TYPE999'), harness.client), 'later');
  });

  test('entriesMax 0 keeps nothing', () => {
    const harness = new EngineHarness({ cache: { entriesMax: 0 } });
    harness.resolve('x.example', 'A', reply({ answers: [a(60)] }));
    assert.equal(harness.send(question('x.example', 'A')), 'later');
  });

  test('flushCache forgets everything', () => {
    const harness = new EngineHarness();
    harness.resolve('x.example', 'A', reply({ answers: [a(60)] }));
    assert.equal(harness.counter('cacheEntries'), 1);
    assert.ok(harness.counter('cacheBytes') > 0);
    harness.engine.flushCache();
    assert.equal(harness.counter('cacheEntries') + harness.counter('cacheBytes'), 0);
    assert.equal(harness.send(question('x.example', 'A')), 'later');
  });
});

describe('negative answers', () => {
  const zone = 'example';
  const cname = { type: 'CNAME', ttl: 40, data: wireName('y.example') };
  const cases: [string, ReplyOptions, number, number][] = [
    ['NXDOMAIN by the MINIMUM', { rcode: 3, authorities: [soa(900, 60, zone)] }, 60, 60],
    ['NXDOMAIN by the SOA TTL', { rcode: 3, authorities: [soa(50, 600, zone)] }, 50, 50],
    ['NODATA', { authorities: [soa(900, 60, zone)] }, 60, 60],
    ['NODATA behind a CNAME', { answers: [cname], authorities: [soa(900, 60, zone)] }, 40, 60],
    ['at most three hours', { rcode: 3, authorities: [soa(90_000, 90_000, zone)] }, 10_800, 10_800],
  ];
  for (const [title, options, lifetime, soaTtl] of cases) {
    test(title, () => {
      assert.ok(isKept(options, 'A', lifetime - 1), 'kept to the last second');
      assert.ok(!isKept(options, 'A', lifetime), 'and no longer');
      const harness = new EngineHarness();
      const first = harness.resolve('x.example', 'A', reply(options));
      assert.match(
        records(first, 'authorities')[0] ?? '',
        new RegExp(`^example SOA ${String(soaTtl)} `),
      );
      harness.clock.pass(10);
      const again = harness.ask('x.example', 'A');
      assert.equal(header(again).rcode, options.rcode ?? 0);
      assert.match(
        records(again, 'authorities')[0] ?? '',
        new RegExp(`^example SOA ${String(soaTtl - 10)} `),
      );
    });
  }

  test('the minimum TTL does not lengthen a negative answer', () => {
    const harness = new EngineHarness({ cache: { ttlMinSeconds: 300 } });
    harness.resolve('x.example', 'A', reply({ rcode: 3, authorities: [soa(20, 20, zone)] }));
    harness.clock.pass(20);
    assert.equal(harness.send(question('x.example', 'A')), 'later');
  });

  const unkept: [string, ReplyOptions][] = [
    ['NXDOMAIN without an SOA', { rcode: 3 }],
    ['NODATA without an SOA', {}],
    ['a CNAME that leads nowhere, without an SOA', { answers: [cname] }],
    ['NXDOMAIN with MINIMUM 0', { rcode: 3, authorities: [soa(900, 0, zone)] }],
    ['YXDOMAIN', { rcode: 6, authorities: [soa(900, 60, zone)] }],
    ['an SOA in the wrong section', { rcode: 3, additionals: [soa(900, 60, zone)] }],
  ];
  for (const [title, options] of unkept) {
    test(`not kept: ${title}`, () => {
      assert.ok(!isKept(options));
    });
  }

  test('an SOA that was asked for is a positive answer', () => {
    assert.ok(isKept({ answers: [soa(3_600, 60)] }, 'SOA', 3_599));
  });
});

describe('failures', () => {
  const failures: [string, (harness: EngineHarness) => void, string, number, number][] = [
    [
      'a timeout',
      (h) => {
        h.exchange.fail('timeout', 1);
      },
      'upstream-timeout',
      2,
      22,
    ],
    [
      'upstreams that refuse',
      (h) => {
        h.exchange.fail('refused', 1);
      },
      'upstream-refused',
      2,
      22,
    ],
    [
      'SERVFAIL',
      (h) => {
        h.exchange.answer(reply({ rcode: 2 }), 1);
      },
      'upstream-refused',
      2,
      22,
    ],
    [
      'REFUSED',
      (h) => {
        h.exchange.answer(reply({ rcode: 5 }), 1);
      },
      'upstream-refused',
      5,
      22,
    ],
    [
      'SERVFAIL with a reason',
      (h) => {
        h.exchange.answer(reply({ rcode: 2, edns: { options: [0, 15, 0, 3, 0, 6, 0x78] } }), 1);
      },
      'upstream-refused',
      2,
      6,
    ],
    [
      'an extended response code',
      (h) => {
        h.exchange.answer(reply({ rcode: 7, edns: { extendedRcode: 1 } }), 1);
      },
      'upstream-refused',
      2,
      22,
    ],
    [
      'OPT among the answers',
      (h) => {
        const opt = { name: [0], type: 'OPT', ttl: 0, data: [] };
        h.exchange.answer(reply({ answers: [opt] }), 1);
      },
      'upstream-refused',
      2,
      22,
    ],
    [
      'a reply to something else',
      (h) => {
        h.exchange.answer(() => replyTo(question('y.example', 'A'), { answers: [a(5)] }), 1);
      },
      'upstream-refused',
      2,
      22,
    ],
  ];
  for (const [title, act, reason, rcode, ede] of failures) {
    // Without any reply it is the network's fault or a server's, and may be over soon.
    const seconds = title === 'a timeout' || title === 'upstreams that refuse' ? 1 : 5;
    test(`${title}: answered at once, remembered for ${String(seconds)} s`, () => {
      const harness = new EngineHarness();
      assert.equal(harness.send(question('x.example', 'A', { edns: {} })), 'later');
      act(harness);
      const answer = harness.client.late[0];
      assert.ok(answer);
      assert.deepEqual([header(answer).rcode, readOpt(answer)?.ede], [rcode, ede]);
      const { outcome: seen, reason: why, rcode: logged, upstream } = harness.sink.last;
      assert.deepEqual([seen, why, logged, upstream], ['failed', reason, rcode, 1]);
      harness.clock.pass(seconds - 0.1);
      const again = harness.ask('x.example', 'A', { edns: {} });
      assert.deepEqual([header(again).rcode, readOpt(again)?.ede], [rcode, 13]);
      assert.deepEqual([outcome(harness), harness.sink.last.reason], ['failed', reason]);
      harness.clock.pass(0.2);
      harness.resolve('x.example', 'A', reply({ answers: [a(60)] }));
      assert.equal(header(harness.ask('x.example', 'A')).rcode, 0);
    });
  }

  test('a full queue of ours is not remembered', () => {
    const harness = new EngineHarness();
    harness.send(question('x.example', 'A', { edns: {} }));
    harness.exchange.fail('full', -1);
    assert.equal(readOpt(harness.client.late[0] as Uint8Array)?.ede, 23);
    assert.equal(harness.sink.last.reason, 'upstream-full');
    assert.equal(harness.send(question('x.example', 'A')), 'later');
  });

  test('TC from upstream: TC to UDP clients without its records, SERVFAIL over TCP', () => {
    const harness = new EngineHarness();
    const tcp = new FakeClient();
    tcp.transport = 'tcp';
    harness.send(question('x.example', 'A'));
    harness.send(question('x.example', 'A'), tcp);
    harness.exchange.answer(reply({ answers: [a(60)], tc: true }));
    const [udpAnswer] = harness.client.late;
    const [tcpAnswer] = tcp.late;
    assert.ok(udpAnswer && tcpAnswer);
    assert.ok(header(udpAnswer).tc);
    assert.deepEqual(header(udpAnswer).counts, [1, 0, 0, 0]);
    assert.deepEqual([header(tcpAnswer).tc, header(tcpAnswer).rcode], [false, 2]);
    assert.equal(harness.send(question('x.example', 'A')), 'later', 'not kept');
  });
});

describe('stale answers', () => {
  function expired(): EngineHarness {
    const harness = new EngineHarness({ cache: { staleSecondsMax: 100 } });
    harness.resolve('x.example', 'A', reply({ answers: [a(10)] }));
    harness.clock.pass(50);
    return harness;
  }
  const stale = ['x.example A 30 192.0.2.1'];

  for (const failure of ['timeout', 'refused', 'full'] as const) {
    test(`when the upstreams fail (${failure}): TTL 30 and EDE 3`, () => {
      const harness = expired();
      assert.equal(harness.send(question('x.example', 'A', { edns: {} })), 'later');
      harness.exchange.fail(failure);
      const answer = harness.client.late[0] as Uint8Array;
      assert.deepEqual(records(answer, 'answers'), stale);
      assert.equal(readOpt(answer)?.ede, 3);
      assert.equal(outcome(harness), 'stale');
      assert.equal(harness.counter('stale'), 1);
    });
  }

  test('at once for five seconds after a failure, then the upstreams are tried again', () => {
    const harness = expired();
    harness.send(question('x.example', 'A'));
    harness.exchange.fail();
    harness.clock.pass(4);
    assert.deepEqual(records(harness.ask('x.example', 'A'), 'answers'), stale);
    harness.clock.pass(2);
    const fresh = harness.resolve('x.example', 'A', reply({ answers: [a(10, 192, 0, 2, 9)] }));
    assert.deepEqual(records(fresh, 'answers'), ['x.example A 10 192.0.2.9']);
    assert.deepEqual(records(harness.ask('x.example', 'A'), 'answers'), [
      'x.example A 10 192.0.2.9',
    ]);
  });

  test('SERVFAIL from upstream gives way to a stale answer, NXDOMAIN does not', () => {
    const harness = expired();
    const answer = harness.resolve('x.example', 'A', reply({ rcode: 2 }));
    assert.deepEqual(records(answer, 'answers'), stale);
    const other = expired();
    assert.equal(header(other.resolve('x.example', 'A', reply({ rcode: 3 }))).rcode, 3);
  });

  test('not beyond the bound, and not at all with bound 0', () => {
    const harness = expired();
    harness.clock.pass(60);
    harness.send(question('x.example', 'A'));
    harness.exchange.fail();
    assert.equal(header(harness.client.late[0] as Uint8Array).rcode, 2);
    const off = expired();
    off.engine.setPolicy(policy({ cache: { staleSecondsMax: 0 } }));
    off.send(question('x.example', 'A'));
    off.exchange.fail();
    assert.equal(header(off.client.late[0] as Uint8Array).rcode, 2);
  });
});
