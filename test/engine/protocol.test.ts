/** What the engine says to good and bad packets: header bits, EDNS, refusals, silence. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  decode,
  header,
  question,
  questionLength,
  readOpt,
  replyTo,
  a,
  records,
  typeOf,
  u16,
  wireName,
  type QuestionOptions,
} from '../support/dns-wire.ts';
import { EngineHarness, FakeClient, table } from '../support/engine-fakes.ts';
import { FLAWED_PACKETS } from '../packets/flawed.ts';

const BLOCKING = { lists: table(['blocked.example']) };

describe('flawed packets', () => {
  for (const { name, bytes, expect } of FLAWED_PACKETS) {
    test(`${name}: ${expect}`, () => {
      const harness = new EngineHarness(BLOCKING);
      const answer = harness.send(bytes);
      assert.notEqual(answer, 'later');
      assert.equal(harness.exchange.count, 0);
      if (expect === 'silence') {
        assert.equal(answer, null);
        assert.equal(harness.counter('ignored'), 1);
        assert.equal(harness.sink.records.length, 0);
        return;
      }
      assert.ok(answer instanceof Uint8Array);
      const seen = header(answer);
      const rcode = seen.rcode | ((readOpt(answer)?.extendedRcode ?? 0) << 4);
      assert.equal(rcode, { formerr: 1, notimp: 4, refused: 5, badvers: 16 }[expect]);
      assert.equal(seen.id, (bytes[0] ?? 0) * 256 + (bytes[1] ?? 0));
      assert.ok(seen.qr && seen.ra && !seen.aa && !seen.tc);
      assert.equal(seen.opcode, ((bytes[2] ?? 0) >> 3) & 15);
      assert.deepEqual(seen.counts.slice(1, 3), [0, 0]);
      const asked = seen.counts[0] === 1 ? questionLength(answer) : 0;
      assert.ok(answer.length <= 12 + asked + 11, 'never longer than header, question and OPT');
      assert.equal(harness.sink.last.outcome, 'rejected');
      assert.equal(harness.sink.last.rcode, rcode);
      assert.equal(harness.counter('rejected'), 1);
      assert.equal(harness.counter('answered'), 1);
    });
  }

  test('a packet from port 0 is met with silence', () => {
    const harness = new EngineHarness(BLOCKING);
    const client = new FakeClient();
    client.port = 0;
    assert.equal(harness.send(question('blocked.example', 'A'), client), null);
    assert.equal(harness.counter('received'), 1);
    assert.equal(harness.counter('ignored'), 1);
  });

  test('a UDP packet above 4,096 bytes is not read, the same over TCP is', () => {
    const harness = new EngineHarness(BLOCKING);
    const padding = [...u16(12), ...u16(4_200), ...new Array<number>(4_200).fill(0)];
    const long = question('blocked.example', 'A', { edns: { options: padding } });
    assert.equal(harness.send(long), null);
    harness.client.transport = 'tcp';
    assert.ok(harness.send(long) instanceof Uint8Array);
  });
});

describe('header bits', () => {
  for (const rd of [false, true]) {
    for (const cd of [false, true]) {
      test(`RD ${String(rd)} and CD ${String(cd)} are copied, RA is set, AA and AD are not`, () => {
        const harness = new EngineHarness(BLOCKING);
        const { counts, ...seen } = header(
          harness.ask('blocked.example', 'A', { rd, cd, ad: true }),
        );
        const fixed = { qr: true, opcode: 0, aa: false, tc: false, ra: true, z: false, ad: false };
        assert.deepEqual(seen, { id: 0x1234, rd, cd, rcode: 0, ...fixed });
        assert.deepEqual(counts, [1, 1, 0, 0]);
      });
    }
  }

  test('a query with RD clear is forwarded all the same, with RD set upstream', () => {
    const harness = new EngineHarness();
    const answer = harness.resolve(
      'x.example',
      'A',
      (query) => {
        assert.ok(header(query).rd);
        return replyTo(query, { answers: [a(60)] });
      },
      { rd: false },
    );
    assert.equal(header(answer).rd, false);
    assert.deepEqual(header(answer).counts, [1, 1, 0, 0]);
  });

  test('letter case of the question is preserved byte for byte, in every kind of answer', () => {
    const harness = new EngineHarness(BLOCKING);
    for (const name of ['bLoCkEd.ExAmPlE', 'A.LOCALHOST', 'No.SUCH.LocaL']) {
      const answer = harness.ask(name, 'A');
      assert.deepEqual([...answer.subarray(12, 13 + name.length + 1)], wireName(name));
    }
  });

  test('AD reaches only clients that set AD or DO', () => {
    const make = (query: Uint8Array) => replyTo(query, { answers: [a(60)], ad: true, edns: {} });
    const cases: [QuestionOptions, boolean][] = [
      [{}, false],
      [{ edns: {} }, false],
      [{ ad: true }, true],
      [{ edns: { dnssecOk: true } }, true],
    ];
    for (const [options, expected] of cases) {
      const harness = new EngineHarness();
      assert.equal(header(harness.resolve('s.example', 'A', make, options)).ad, expected);
      assert.equal(header(harness.ask('s.example', 'A', options)).ad, expected, 'from the cache');
    }
  });

  test('AD of a cached answer is there for a later client that wants it', () => {
    const harness = new EngineHarness();
    const make = (query: Uint8Array) => replyTo(query, { answers: [a(60)], ad: true });
    assert.equal(header(harness.resolve('s.example', 'A', make)).ad, false);
    assert.equal(header(harness.ask('s.example', 'A', { ad: true })).ad, true);
  });
});

describe('EDNS', () => {
  test('OPT is in the answer exactly when it is in the query; DO is copied', () => {
    const harness = new EngineHarness(BLOCKING);
    assert.equal(readOpt(harness.ask('blocked.example', 'TXT')), null);
    for (const dnssecOk of [false, true]) {
      const opt = readOpt(harness.ask('localhost', 'A', { edns: { dnssecOk, size: 4_096 } }));
      assert.deepEqual(opt, { size: 1_232, extendedRcode: 0, version: 0, dnssecOk, ede: null });
    }
  });

  test('an upstream OPT is not relayed to a client without EDNS', () => {
    const harness = new EngineHarness();
    const make = (query: Uint8Array) => replyTo(query, { answers: [a(60)], edns: {} });
    assert.deepEqual(header(harness.resolve('x.example', 'A', make)).counts, [1, 1, 0, 0]);
    assert.equal(readOpt(harness.ask('x.example', 'A')), null);
  });

  test('nothing of the client but the question goes upstream', () => {
    const harness = new EngineHarness();
    const subnet = [...u16(8), ...u16(7), 0, 1, 24, 0, 198, 51, 100];
    const cookie = [...u16(10), ...u16(8), 1, 2, 3, 4, 5, 6, 7, 8];
    const edns = { size: 4_096, dnssecOk: true, options: [...subnet, ...cookie] };
    const packet = question('Www.Example.COM', 'HTTPS', { id: 0xbeef, cd: true, edns });
    assert.equal(harness.send(packet), 'later');
    const { query } = harness.exchange.take();
    const expected = question('www.example.com', 'HTTPS', {
      id: 0,
      cd: true,
      ad: true,
      edns: { dnssecOk: true },
    });
    assert.deepEqual(query, expected);
  });

  test('a UDP answer fits what the client can take, else TC with the question only', () => {
    const sizes: [QuestionOptions['edns'] | undefined, number][] = [
      [undefined, 512],
      [{ size: 100 }, 512],
      [{ size: 900 }, 900],
      [{ size: 4_096 }, 1_232],
    ];
    for (const [edns, limit] of sizes) {
      const options = edns ? { edns } : {};
      const overhead = 12 + questionLength(question('t.example', 'TXT')) + 12 + (edns ? 11 : 0);
      for (const excess of [0, 1]) {
        const harness = new EngineHarness();
        const size = limit - overhead + excess;
        const make = (query: Uint8Array) =>
          replyTo(query, {
            answers: [{ type: 'TYPE999', ttl: 60, data: new Array<number>(size).fill(7) }],
          });
        for (const answer of [
          harness.resolve('t.example', 'TYPE999', make, options),
          harness.ask('t.example', 'TYPE999', options),
        ]) {
          const seen = header(answer);
          assert.equal(seen.tc, excess === 1);
          assert.equal(seen.rcode, 0);
          const opt = edns ? 1 : 0;
          assert.deepEqual(seen.counts, excess === 1 ? [1, 0, 0, opt] : [1, 1, 0, opt]);
          assert.equal(answer.length, excess === 1 ? overhead - 12 : limit);
        }
        assert.equal(harness.counter('truncated'), excess === 1 ? 2 : 0);
      }
    }
  });

  test('over TCP the whole answer is sent', () => {
    const harness = new EngineHarness();
    harness.client.transport = 'tcp';
    const data = new Array<number>(60_000).fill(1);
    const make = (query: Uint8Array) =>
      replyTo(query, { answers: [{ type: 'TYPE999', ttl: 60, data }] });
    const answer = harness.resolve('t.example', 'TYPE999', make);
    assert.equal(header(answer).tc, false);
    assert.ok(answer.length > 60_000);
  });
});

describe('kinds of questions', () => {
  test('ANY gets HINFO, as RFC 8482 says, and is not asked upstream', () => {
    const harness = new EngineHarness();
    const answer = harness.ask('big.example', 'ANY');
    const hinfo = decode(answer).answers?.[0];
    assert.ok(hinfo?.type === 'HINFO');
    assert.deepEqual(hinfo.data, { cpu: 'RFC8482', os: '' });
    assert.equal(harness.sink.last.outcome, 'local');
  });

  test('ANY of a blocked name is blocked', () => {
    const harness = new EngineHarness(BLOCKING);
    harness.ask('blocked.example', 'ANY');
    assert.equal(harness.sink.last.outcome, 'blocked');
  });

  const foreign: [string, string, number, number][] = [
    ['version.bind', 'TXT', 3, 5],
    ['version.bind', 'A', 3, 4],
    ['x.example', 'A', 4, 4],
    ['x.example', 'A', 254, 4],
    ['x.example', 'A', 255, 4],
    ['x.example', 'AXFR', 1, 5],
    ['x.example', 'TYPE253', 1, 4],
    ['x.example', 'TKEY', 1, 1],
    ['x.example', 'OPT', 1, 1],
  ];
  for (const [name, type, qclass, rcode] of foreign) {
    test(`${name} ${type} of class ${String(qclass)} gets response code ${String(rcode)}`, () => {
      const harness = new EngineHarness();
      assert.equal(header(harness.ask(name, type, { qclass })).rcode, rcode);
    });
  }

  test('IXFR with its SOA is refused, not a format error', () => {
    const packet = [...question('x.example', 'IXFR')];
    packet[9] = 1;
    const data = [...wireName('a'), ...wireName('b'), ...new Array<number>(20).fill(0)];
    packet.push(0xc0, 12, ...u16(6), ...u16(1), 0, 0, 0, 0, ...u16(data.length), ...data);
    const answer = new EngineHarness().send(Uint8Array.from(packet));
    assert.ok(answer instanceof Uint8Array);
    assert.equal(header(answer).rcode, 5);
  });

  test('an unknown class is forwarded as it is, unfiltered', () => {
    const harness = new EngineHarness(BLOCKING);
    const answer = harness.resolve(
      'blocked.example',
      'TYPE1234',
      (query) =>
        replyTo(query, { answers: [{ type: 'TYPE1234', ttl: 9, data: [1, 2], recordClass: 7 }] }),
      { qclass: 7 },
    );
    assert.deepEqual(
      [...answer.subarray(-14)],
      [0xc0, 12, ...u16(1_234), 0, 7, 0, 0, 0, 9, 0, 2, 1, 2],
    );
  });

  test('records of unknown types and compressed names pass untouched', () => {
    const harness = new EngineHarness();
    const answers = [
      { type: 'CNAME', ttl: 60, data: [3, 0x77, 0x77, 0x77, 0xc0, 12] },
      { name: [0xc0, 41], type: 'HTTPS', ttl: 60, data: [0, 1, 0, 0, 1, 0, 3, 2, 0x68, 0x32] },
    ];
    const make = (query: Uint8Array) => replyTo(query, { answers });
    const bytes = harness.resolve('cdn.example', 'HTTPS', make);
    const expected = replyTo(question('cdn.example', 'HTTPS'), { answers });
    assert.deepEqual(bytes, expected);
    assert.deepEqual(harness.ask('cdn.example', 'HTTPS'), expected, 'from the cache');
  });

  test('the root can be asked', () => {
    const harness = new EngineHarness();
    const answer = harness.resolve('.', 'NS', (query) =>
      replyTo(query, { answers: [{ type: 'NS', ttl: 99, data: wireName('a.root.example') }] }),
    );
    assert.deepEqual(records(answer, 'answers'), ['. NS 99 a.root.example']);
    assert.equal(harness.sink.last.name, '.');
    assert.equal(harness.ask('.', 'NS').length, answer.length);
    assert.equal(harness.sink.last.outcome, 'cached');
  });
});

test('a packet is not written to, nor the buffer beyond the answer', () => {
  const harness = new EngineHarness(BLOCKING);
  const packet = question('blocked.example', 'A', { edns: {} });
  const before = packet.slice();
  const answer = harness.ask('blocked.example', 'A', { edns: {} });
  assert.deepEqual(packet, before);
  assert.ok(harness.out.subarray(0, 7).every((byte) => byte === 0xaa));
  assert.ok(harness.out.subarray(7 + answer.length).every((byte) => byte === 0xaa));
});

test('types have the numbers that the tests believe', () => {
  assert.equal(typeOf('HTTPS'), 65);
  assert.equal(typeOf('TYPE999'), 999);
});
