/** What an answer leads to: aliases, service targets, private addresses (issue 6, "Against liars"). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  a,
  decode,
  header,
  POINTER,
  readOpt,
  records,
  replyTo,
  soa,
  u16,
  wireName,
  type RecordOptions,
} from '../../support/dns-wire.ts';
import { EngineHarness, policy, table } from '../../support/engine-fakes.ts';

const lists = table(['tracker.example@7', 'msedge.example@7'], ['good.tracker.example@8']);

function cname(name: RecordOptions['name'], target: string, ttl = 300): RecordOptions {
  return { name: name ?? POINTER, type: 'CNAME', ttl, data: wireName(target) };
}

function address(name: RecordOptions['name'], ...bytes: number[]): RecordOptions {
  return { name: name ?? POINTER, type: bytes.length === 4 ? 'A' : 'AAAA', ttl: 300, data: bytes };
}

function https(
  target: string,
  params: readonly [key: number, value: readonly number[]][],
): RecordOptions {
  const data = params.flatMap(([key, value]) => [...u16(key), ...u16(value.length), ...value]);
  return { type: 'HTTPS', ttl: 300, data: [0, 1, ...wireName(target), ...data] };
}

const aliased = (query: Uint8Array): Uint8Array =>
  replyTo(query, {
    answers: [
      cname(POINTER, 'a.tracker.example'),
      cname('a.tracker.example', 'cdn.example'),
      address('cdn.example', 192, 0, 2, 9),
    ],
  });

describe('a blocked name further on', () => {
  test('an alias to it is blocked, with the name that a list names in the log', () => {
    const harness = new EngineHarness({ lists });
    const answer = harness.resolve('shop.example', 'A', aliased, { edns: {} });
    assert.deepEqual(records(answer, 'answers'), ['shop.example A 10 0.0.0.0']);
    assert.equal(readOpt(answer)?.ede, 15);
    const { outcome, reason, listId, matchedLabels, matched } = harness.sink.last;
    assert.deepEqual([outcome, reason, listId], ['blocked', 'cname', 7]);
    assert.deepEqual([matchedLabels, matched], [2, 'tracker.example']);
    harness.ask('shop.example', 'A');
    assert.deepEqual([harness.sink.last.outcome, harness.exchange.count], ['blocked', 1]);
  });

  test('the target of an HTTPS record is looked at', () => {
    const harness = new EngineHarness({ lists });
    const answer = harness.resolve('shop.example', 'HTTPS', (query) =>
      replyTo(query, { answers: [https('x.tracker.example', [])] }),
    );
    assert.deepEqual(header(answer).counts, [1, 0, 1, 0]);
    assert.equal(harness.sink.last.reason, 'cname');
  });

  test('compressed targets are read through their pointers', () => {
    const harness = new EngineHarness({ lists: table(['evil.shop.example@7']) });
    harness.resolve('www.shop.example', 'A', (query) =>
      replyTo(query, {
        // www.shop.example: "shop.example" begins 4 bytes behind the question name's start.
        answers: [{ type: 'CNAME', ttl: 60, data: [4, ...Buffer.from('evil'), 0xc0, 16] }],
      }),
    );
    assert.deepEqual(
      [harness.sink.last.reason, harness.sink.last.matched],
      ['cname', 'evil.shop.example'],
    );
  });

  test('a new block acts on answers that are cached, and its removal too', () => {
    const harness = new EngineHarness();
    harness.resolve('shop.example', 'A', aliased);
    assert.equal(harness.sink.last.outcome, 'forwarded');
    assert.equal(header(harness.ask('shop.example', 'A')).counts[1], 3);
    harness.engine.setPolicy(policy({ version: 2, lists }));
    assert.deepEqual(records(harness.ask('shop.example', 'A'), 'answers'), [
      'shop.example A 10 0.0.0.0',
    ]);
    harness.engine.setPolicy(policy({ version: 3 }));
    assert.equal(header(harness.ask('shop.example', 'A')).counts[1], 3);
    harness.engine.setPolicy(policy({ version: 4, lists, filtering: false }));
    assert.equal(header(harness.ask('shop.example', 'A')).counts[1], 3);
    assert.equal(harness.exchange.count, 1);
  });

  const allowed: [string, Parameters<typeof policy>[0]][] = [
    ['an allow rule for the name asked', { rules: table([], ['shop.example@0']) }],
    ['an allow rule for the target', { rules: table([], ['tracker.example@0']) }],
    [
      'an allow entry of a list for the name asked',
      { lists: table(['tracker.example@7'], ['shop.example@8']) },
    ],
  ];
  for (const [title, options] of allowed) {
    test(`${title} lets it pass`, () => {
      const harness = new EngineHarness({ lists, ...options });
      const answer = harness.resolve('shop.example', 'A', aliased);
      assert.equal(header(answer).counts[1], 3);
      assert.equal(harness.sink.last.outcome, 'forwarded');
    });
  }

  test("the user's block of the target holds against a list's allow of the name", () => {
    const harness = new EngineHarness({
      lists: table([], ['shop.example@8']),
      rules: table(['tracker.example@0']),
    });
    harness.resolve('shop.example', 'A', aliased);
    assert.deepEqual([harness.sink.last.reason, harness.sink.last.listId], ['cname', 0]);
  });
});

describe('connectivity checks', () => {
  const checks = table(['msftncsi.com@7', 'captive.apple.com@7', 'edgesuite.example@7']);
  test('are answered from upstream though a list names them or what they lead to', () => {
    const harness = new EngineHarness({ lists: checks });
    const answer = harness.resolve('www.msftncsi.com', 'A', (query) =>
      replyTo(query, {
        answers: [
          cname(POINTER, 'ncsi.edgesuite.example'),
          address('ncsi.edgesuite.example', 192, 0, 2, 9),
        ],
      }),
    );
    assert.equal(header(answer).counts[1], 2);
    assert.deepEqual(
      [harness.sink.last.outcome, harness.sink.last.reason],
      ['forwarded', 'special-name'],
    );
  });

  test('the unique-local address of dns.msftncsi.com is no rebinding', () => {
    const harness = new EngineHarness();
    const answer = harness.resolve('dns.msftncsi.com', 'AAAA', (query) =>
      replyTo(query, {
        answers: [address(POINTER, ...[0xfd, 0x3e], ...Array<number>(14).fill(1))],
      }),
    );
    assert.equal(header(answer).counts[1], 1);
  });

  test("are blocked by the user's own rule, and names below them by lists", () => {
    const harness = new EngineHarness({ lists: checks, rules: table(['captive.apple.com@0']) });
    harness.ask('captive.apple.com', 'A');
    assert.equal(harness.sink.last.reason, 'rule');
    harness.ask('x.www.msftncsi.com', 'A');
    assert.equal(harness.sink.last.reason, 'list');
  });
});

describe('rebinding', () => {
  const v6 = (...head: number[]): number[] => [...head, ...Array<number>(16 - head.length).fill(0)];
  const mapped = (...v4: number[]): number[] => [...Array<number>(10).fill(0), 0xff, 0xff, ...v4];
  const isPrivate: [string, number[]][] = [
    ['10.1.2.3', [10, 1, 2, 3]],
    ['172.31.0.1', [172, 31, 0, 1]],
    ['192.168.1.1', [192, 168, 1, 1]],
    ['127.0.0.1', [127, 0, 0, 1]],
    ['169.254.1.1', [169, 254, 1, 1]],
    ['0.0.0.0', [0, 0, 0, 0]],
    ['::', v6()],
    ['::1', [...Array<number>(15).fill(0), 1]],
    ['fd00::', v6(0xfd)],
    ['fe80::', v6(0xfe, 0x80)],
    ['::ffff:192.168.0.1', mapped(192, 168, 0, 1)],
    ['64:ff9b::10.0.0.1', [0, 0x64, 0xff, 0x9b, ...Array<number>(8).fill(0), 10, 0, 0, 1]],
  ];
  for (const [title, bytes] of isPrivate) {
    test(`${title} alone becomes NODATA with an SOA`, () => {
      const harness = new EngineHarness();
      const type = bytes.length === 4 ? 'A' : 'AAAA';
      const answer = harness.resolve(
        'evil.example',
        type,
        (query) => replyTo(query, { answers: [address(POINTER, ...bytes)] }),
        { edns: {} },
      );
      assert.deepEqual([header(answer).rcode, ...header(answer).counts], [0, 1, 0, 1, 1]);
      assert.equal(readOpt(answer)?.ede, 15);
      assert.deepEqual(
        [harness.sink.last.outcome, harness.sink.last.reason],
        ['blocked', 'rebinding'],
      );
      harness.clock.pass(100);
      const again = harness.ask('evil.example', type, { edns: {} });
      assert.match(records(again, 'authorities')[0] ?? '', / SOA 200 /);
      assert.equal(harness.sink.last.reason, 'rebinding');
      assert.equal(harness.exchange.count, 1);
    });
  }

  const isPublic: [string, number[]][] = [
    ['172.32.0.1', [172, 32, 0, 1]],
    ['100.64.0.1 by default', [100, 64, 0, 1]],
    ['2001:db8::', v6(0x20, 0x01, 0x0d, 0xb8)],
    ['::ffff:192.0.2.1', mapped(192, 0, 2, 1)],
  ];
  for (const [title, bytes] of isPublic) {
    test(`${title} stays`, () => {
      const harness = new EngineHarness();
      const answer = harness.resolve('x.example', bytes.length === 4 ? 'A' : 'AAAA', (query) =>
        replyTo(query, { answers: [address(POINTER, ...bytes)] }),
      );
      assert.equal(header(answer).counts[1], 1);
      assert.equal(harness.sink.last.reason, 'none');
    });
  }

  test('100.64.0.1 goes when the settings say so', () => {
    const harness = new EngineHarness({ rebinding: { sharedSpace: true } });
    harness.resolve('x.example', 'A', (query) =>
      replyTo(query, { answers: [address(POINTER, 100, 64, 0, 1)] }),
    );
    assert.equal(harness.sink.last.reason, 'rebinding');
  });

  test('of several addresses only the private ones are left out, behind aliases too', () => {
    const harness = new EngineHarness();
    const answer = harness.resolve(
      'evil.example',
      'A',
      (query) =>
        replyTo(query, {
          ad: true,
          answers: [
            cname(POINTER, 'cdn.example'),
            address('cdn.example', 10, 0, 0, 1),
            // Points to the owner of the record that goes: 12 + 18 question + 25 CNAME.
            address([0xc0, 55], 192, 0, 2, 7),
          ],
          authorities: [{ type: 'NS', ttl: 300, data: [2, ...Buffer.from('ns'), 0xc0, 55] }],
          additionals: [address('ns.cdn.example', 192, 168, 0, 1)],
        }),
      { edns: {}, ad: true },
    );
    assert.deepEqual(records(answer, 'answers'), [
      'evil.example CNAME 300 cdn.example',
      'cdn.example A 300 192.0.2.7',
    ]);
    assert.deepEqual(records(answer, 'authorities'), ['evil.example NS 300 ns.cdn.example']);
    assert.deepEqual(header(answer).counts, [1, 2, 1, 1]);
    assert.equal(header(answer).ad, false, 'what was changed is not authentic');
    assert.equal(readOpt(answer)?.ede, 4);
    assert.deepEqual(
      [harness.sink.last.outcome, harness.sink.last.reason],
      ['forwarded', 'rebinding'],
    );
    harness.clock.pass(100);
    assert.deepEqual(records(harness.ask('evil.example', 'A', { edns: {} }), 'answers'), [
      'evil.example CNAME 200 cdn.example',
      'cdn.example A 200 192.0.2.7',
    ]);
  });

  test('address hints go, other parameters stay', () => {
    const harness = new EngineHarness();
    const alpn: [number, number[]] = [1, [2, 104, 50]];
    const answer = harness.resolve('x.example', 'HTTPS', (query) =>
      replyTo(query, {
        answers: [https('.', [alpn, [4, [192, 0, 2, 1, 10, 0, 0, 1]]]), https('.', [alpn])],
      }),
    );
    const data = [0, 1, 0, 0, 1, 0, 3, 2, 104, 50];
    const wire = [0xc0, 12, 0, 65, 0, 1, 0, 0, 1, 44, 0, data.length, ...data];
    assert.deepEqual([...answer.subarray(12 + 15)], [...wire, ...wire]);
  });

  test('a record whose private hint is mandatory goes as a whole', () => {
    const harness = new EngineHarness();
    const answer = harness.resolve('x.example', 'HTTPS', (query) =>
      replyTo(query, {
        answers: [
          https('.', [
            [0, [0, 4]],
            [4, [10, 0, 0, 1]],
          ]),
          https('y.example', []),
        ],
      }),
    );
    assert.equal(header(answer).counts[1], 1);
  });

  test('names in the exemptions keep their addresses, and a change acts at once', () => {
    const harness = new EngineHarness({ rebinding: { allow: ['plex.direct', 'lan'] } });
    const local = (query: Uint8Array) =>
      replyTo(query, { answers: [address(POINTER, 10, 0, 0, 1)] });
    for (const name of ['192-168-1-2.abc.plex.direct', 'nas.lan']) {
      assert.equal(header(harness.resolve(name, 'A', local)).counts[1], 1);
    }
    harness.engine.setPolicy(policy({ version: 2 }));
    harness.resolve('nas.lan', 'A', local);
    assert.equal(harness.sink.last.reason, 'rebinding');
    harness.engine.setPolicy(policy({ version: 3, rebinding: { enabled: false } }));
    assert.equal(header(harness.resolve('nas.lan', 'A', local)).counts[1], 1);
  });

  test('other types and classes are not touched', () => {
    const harness = new EngineHarness();
    const data = [10, 0, 0, 1];
    for (const [type, qclass] of [
      ['TYPE65280', 1],
      ['A', 7],
    ] as const) {
      const answer = harness.resolve(
        'x.example',
        type,
        (query) => replyTo(query, { answers: [{ type, ttl: 5, data, recordClass: qclass }] }),
        { qclass },
      );
      assert.equal(header(answer).counts[1], 1);
    }
  });
});

describe('chains', () => {
  const chain = (length: number): RecordOptions[] =>
    Array.from({ length }, (_, index) =>
      cname(index === 0 ? POINTER : `c${String(index)}.example`, `c${String(index + 1)}.example`),
    );

  test('16 aliases pass, 17 are SERVFAIL', () => {
    const harness = new EngineHarness();
    const good = harness.resolve(
      'c.example',
      'A',
      (query) => replyTo(query, { answers: [...chain(16), address('c16.example', 192, 0, 2, 1)] }),
      { edns: {} },
    );
    assert.equal(header(good).counts[1], 17);
    const bad = harness.resolve(
      'd.example',
      'A',
      (query) => replyTo(query, { answers: [...chain(17), address('c17.example', 192, 0, 2, 1)] }),
      { edns: {} },
    );
    assert.equal(header(bad).rcode, 2);
    assert.equal(readOpt(bad)?.ede, 0);
    assert.equal(harness.counter('answersWrong'), 1);
    harness.ask('d.example', 'A', { edns: {} });
    assert.equal(harness.exchange.count, 2, 'the failure is remembered');
  });

  test('a loop is SERVFAIL', () => {
    const harness = new EngineHarness();
    for (const answers of [
      [cname(POINTER, 'loop.example')],
      [cname(POINTER, 'b.example'), cname('b.example', 'LOOP.example')],
    ]) {
      const answer = harness.resolve('loop.example', 'A', (query) => replyTo(query, { answers }));
      assert.equal(header(answer).rcode, 2);
      harness.clock.pass(10);
    }
  });

  test('records of names that are not in the chain are left out', () => {
    const harness = new EngineHarness();
    const answer = harness.resolve('www.example', 'A', (query) =>
      replyTo(query, {
        answers: [
          address('bank.example', 192, 0, 2, 66),
          // In any order; some servers shuffle.
          address('cdn.example', 192, 0, 2, 1),
          cname(POINTER, 'cdn.example'),
          cname('other.example', 'evil.example'),
        ],
      }),
    );
    assert.deepEqual(records(answer, 'answers'), [
      'cdn.example A 300 192.0.2.1',
      'www.example CNAME 300 cdn.example',
    ]);
    assert.equal(harness.counter('answersCut'), 1);
  });

  test('an answer of strangers only is not kept', () => {
    const harness = new EngineHarness();
    const strange = (query: Uint8Array) =>
      replyTo(query, { answers: [address('bank.example', 192, 0, 2, 66)] });
    assert.equal(header(harness.resolve('www.example', 'A', strange)).counts[1], 0);
    harness.resolve('www.example', 'A', strange);
    assert.equal(harness.exchange.count, 2);
  });

  test('DNAME above a name of the chain stays, elsewhere it goes', () => {
    const harness = new EngineHarness();
    const dname = (name: string): RecordOptions => ({
      ...{ name, type: 'TYPE39', ttl: 300, data: wireName('new.example') },
    });
    const answer = harness.resolve('a.old.example', 'A', (query) =>
      replyTo(query, {
        answers: [
          dname('old.example'),
          dname('stranger.example'),
          cname(POINTER, 'a.new.example'),
          address('a.new.example', 192, 0, 2, 1),
        ],
      }),
    );
    const types = (decode(answer).answers ?? []).map(({ type }) => type);
    assert.deepEqual(types, ['DNAME', 'CNAME', 'A']);
  });
});

describe('NXDOMAIN covers what lies below', () => {
  const nothing = (query: Uint8Array): Uint8Array =>
    replyTo(query, {
      rcode: 3,
      ad: true,
      authorities: [soa(300, 300, [0xc0, 15])],
    });

  test('names below and other types are answered from it, with the SOA made whole', () => {
    const harness = new EngineHarness();
    harness.resolve('no.example', 'A', nothing, { ad: true });
    harness.clock.pass(50);
    for (const [name, type] of [
      ['no.example', 'AAAA'],
      ['www.NO.example', 'A'],
      ['a.b.c.no.example', 'TXT'],
    ] as const) {
      const answer = harness.ask(name, type, { ad: true });
      assert.equal(header(answer).rcode, 3);
      assert.equal(header(answer).ad, true);
      assert.match(records(answer, 'authorities')[0] ?? '', /^example SOA 250 /i);
      assert.equal(harness.sink.last.outcome, 'cached');
    }
    assert.equal(harness.exchange.count, 1);
  });

  test('not names beside or above it, nor other DO and CD, nor after its time', () => {
    const harness = new EngineHarness();
    harness.resolve('no.example', 'A', nothing);
    for (const [name, options] of [
      ['xno.example', {}],
      ['example', {}],
      ['www.no.example', { cd: true }],
    ] as const) {
      harness.resolve(name, 'A', (query) => replyTo(query, { answers: [a(5)] }), options);
    }
    harness.clock.pass(301);
    harness.resolve('www.no.example', 'A', (query) => replyTo(query, { answers: [a(5)] }));
  });

  test('not when the NXDOMAIN speaks of an alias target', () => {
    const harness = new EngineHarness();
    harness.resolve('alias.example', 'A', (query) =>
      replyTo(query, {
        rcode: 3,
        answers: [cname(POINTER, 'gone.example')],
        authorities: [soa(300, 300)],
      }),
    );
    harness.resolve('www.alias.example', 'A', (query) => replyTo(query, { answers: [a(5)] }));
    harness.resolve('alias.example', 'TXT', (query) => replyTo(query, { answers: [a(5)] }));
  });

  test('a later answer for the name itself ends it', () => {
    const harness = new EngineHarness({ cache: { staleSecondsMax: 0 } });
    harness.resolve('no.example', 'A', nothing);
    harness.resolve('no.example', 'A', (query) => replyTo(query, { answers: [a(60)] }), {
      cd: true,
    });
    assert.equal(header(harness.ask('no.example', 'A')).rcode, 3, 'CD is another question');
    harness.clock.pass(301);
    harness.resolve('no.example', 'A', (query) => replyTo(query, { answers: [a(60)] }));
    assert.equal(header(harness.ask('no.example', 'A')).rcode, 0);
    harness.resolve('www.no.example', 'A', (query) => replyTo(query, { answers: [a(5)] }));
  });

  test('type 0 is asked upstream and never kept', () => {
    const harness = new EngineHarness();
    const reply = (query: Uint8Array) =>
      replyTo(query, { answers: [{ type: 'TYPE0', ttl: 60, data: [1] }] });
    harness.resolve('x.example', 'TYPE0', reply);
    harness.resolve('x.example', 'A', (query) => replyTo(query, { answers: [a(60)] }));
    harness.resolve('x.example', 'TYPE0', reply);
  });
});
