/** Which bytes are accepted as the reply to a query (main/dns/reply-check.ts). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  checkReply,
  REPLY_MALFORMED,
  REPLY_MISMATCH,
  REPLY_OK,
} from '../../main/dns/reply-check.ts';
import {
  a,
  question,
  replyTo,
  soa,
  u16,
  u32,
  wireName,
  type RecordOptions,
} from '../support/dns-wire.ts';

const query = question('wWw.ExAmple.com', 'A', { id: 0x4242, edns: {} });
const good = replyTo(query, { answers: [a(60), a(60)], authorities: [soa(1, 1)], edns: {} });
const check = (reply: Uint8Array, to = query): number =>
  checkReply(reply, reply.length, to, to.length);

function patched(at: number, ...values: number[]): Uint8Array {
  const copy = good.slice();
  copy.set(values, at);
  return copy;
}

const withData = (type: string, ...data: (number | readonly number[])[]): Uint8Array =>
  replyTo(query, { answers: [{ type, ttl: 1, data: data.flat() }] });
const withRecord = (record: RecordOptions): Uint8Array => replyTo(query, { answers: [record] });
const text = (value: string): number[] => [value.length, ...Buffer.from(value)];
const zeros = (count: number): number[] => new Array<number>(count).fill(0);

describe('replies that are right', () => {
  const cases: [string, Uint8Array][] = [
    ['records in every section', good],
    ['no records', replyTo(query)],
    ['an error', replyTo(query, { rcode: 2 })],
    ['OPT before other additional records', replyTo(query, { edns: {}, additionals: [a(1)] })],
    [
      'OPT with options',
      replyTo(query, { edns: { options: [0, 10, 0, 1, 7, 0, 15, 0, 2, 0, 22] } }),
    ],
    ['TC, cut inside a record', Uint8Array.from([...patched(2, 0x83)].slice(0, -20))],
    [
      'a pointer into an earlier record',
      replyTo(query, {
        answers: [
          { type: 'CNAME', ttl: 1, data: wireName('a.b.example') },
          { name: [1, 0x63, 0xc0, 47], type: 'A', ttl: 1, data: [1, 2, 3, 4] },
        ],
      }),
    ],
    ['AAAA', withData('AAAA', zeros(16))],
    ['A of another class', withRecord({ type: 'A', ttl: 1, recordClass: 3, data: [1, 2] })],
    ['TXT', withData('TXT', text('a'), text(''), text('b'))],
    ['HINFO', withData('HINFO', text('x'), text(''))],
    ['MX', withData('MX', u16(5), [0xc0, 12])],
    ['SRV', withData('SRV', zeros(6), wireName('a.example'))],
    ['NAPTR', withData('TYPE35', zeros(4), text('u'), text('E2U'), text(''), [0])],
    ['RP', withData('TYPE17', wireName('a.b'), [0])],
    ['RRSIG', withData('RRSIG', zeros(18), wireName('example.com'), zeros(64))],
    ['NSEC', withData('TYPE47', wireName('a.example'), [0, 1, 0x40])],
    ['HTTPS', withData('HTTPS', u16(1), [0], u16(1), u16(3), text('h2'))],
    ['DNAME', withData('TYPE39', wireName('a.example'))],
    ['an unknown type of any length', withData('TYPE64000', zeros(300))],
    ['an unknown type without data', withData('TYPE64000')],
  ];
  for (const [title, reply] of cases)
    test(title, () => {
      assert.equal(check(reply), REPLY_OK);
    });
});

describe("somebody else's messages", () => {
  const cases: [string, Uint8Array][] = [
    ['nothing', new Uint8Array(0)],
    ['shorter than the question', good.slice(0, 32)],
    ['another ID, first byte', patched(0, 0x43)],
    ['another ID, second byte', patched(1, 0x43)],
    ['a query', patched(2, 0x01)],
    ['another opcode', patched(2, 0x81 | (4 << 3))],
    ['no question', patched(4, 0, 0)],
    ['two questions', patched(4, 0, 2)],
    ['another letter case', patched(13, 'W'.charCodeAt(0))],
    ['another name', patched(13, 'x'.charCodeAt(0))],
    ['another type', patched(30, 28)],
    ['another class', patched(32, 3)],
    ['a longer name', replyTo(question('wWw.ExAmple.com.x', 'A', { id: 0x4242 }))],
    [
      'a question by pointer',
      Uint8Array.from([...good.slice(0, 12), 0xc0, 12, 0, 1, 0, 1, ...zeros(30)]),
    ],
  ];
  for (const [title, reply] of cases)
    test(title, () => {
      assert.equal(check(reply), REPLY_MISMATCH);
    });
});

describe('replies that do not parse to their end', () => {
  const chain = Array.from({ length: 127 }, (_, index) => [0xc0, 12 + 2 * index]).flat();
  const opt: RecordOptions = { name: [0], type: 'OPT', ttl: 0, data: [] };
  const long = [...Array.from({ length: 4 }, () => [63, ...zeros(63)]).flat(), 0];
  const cases: [string, Uint8Array][] = [
    ['a trailing byte', Uint8Array.from([...good, 0])],
    ['cut by a byte', good.slice(0, -1)],
    ['an answer too few', patched(6, 0, 1)],
    ['an answer too many', patched(6, 0, 3)],
    ['counts of 65,535', patched(6, 255, 255, 255, 255, 255, 255)],
    ['an owner that points to itself', withRecord({ ...a(1), name: [0xc0, 33] })],
    ['an owner that points forward', withRecord({ ...a(1), name: [0xc0, 60] })],
    ['an owner that points into the header', withRecord({ ...a(1), name: [0xc0, 2] })],
    ['an owner that loops over a label', withRecord({ ...a(1), name: [1, 0x61, 0xc0, 33] })],
    ['label type 01', withRecord({ ...a(1), name: [0x41, ...zeros(65), 0] })],
    ['label type 10', withRecord({ ...a(1), name: [0x81, ...zeros(65), 0] })],
    ['an owner of more than 255 bytes', withRecord({ ...a(1), name: long })],
    [
      'an owner that grows beyond 255 bytes through pointers',
      withRecord({
        ...a(1),
        name: [...Array.from({ length: 120 }, () => [1, 0x61]).flat(), 0xc0, 12],
      }),
    ],
    [
      'a pointer into data that ends nowhere',
      withRecord({ type: 'TYPE65000', ttl: 1, data: chain, name: [0xc0, 200] }),
    ],
    ['A of 3 bytes', withData('A', zeros(3))],
    ['A of 5 bytes', withData('A', zeros(5))],
    ['A of none', withData('A')],
    ['AAAA of 4 bytes', withData('AAAA', zeros(4))],
    ['CNAME behind which a byte follows', withData('CNAME', wireName('a'), [0])],
    ['CNAME cut', withData('CNAME', [5, 0x61])],
    ['CNAME without data', withData('CNAME')],
    ['NS that points forward', withData('NS', [0xc0, 250])],
    ['PTR that points to itself', withData('PTR', [0xc0, 45])],
    ['SOA cut', withData('SOA', wireName('a'), wireName('b'), zeros(19))],
    ['SOA with one name', withData('SOA', wireName('a'), u32(1))],
    ['MX without a name', withData('MX', u16(5))],
    ['SRV too short', withData('SRV', zeros(5))],
    ['TXT without a string', withData('TXT')],
    ['TXT whose string is too long', withData('TXT', [5, 1, 2])],
    ['HINFO with one string', withData('HINFO', text('x'))],
    ['HINFO with three', withData('HINFO', text('x'), text('y'), text('z'))],
    ['NAPTR cut', withData('TYPE35', zeros(4), text('u'), text('E2U'))],
    ['RRSIG with a compressed signer', withData('RRSIG', zeros(18), [0xc0, 12])],
    [
      'HTTPS with a parameter that is cut off',
      withData('HTTPS', u16(1), [0], u16(4), u16(8), zeros(4)),
    ],
    [
      'SVCB with half a parameter',
      withData('TYPE64', u16(1), [0], u16(4), u16(4), zeros(4), [0, 1]),
    ],
    ['HTTPS with a compressed target', withData('HTTPS', u16(1), [0xc0, 12])],
    ['DNSKEY of 2 bytes', withData('TYPE48', [1, 1])],
    ['two OPTs', replyTo(query, { edns: {}, additionals: [opt] })],
    ['OPT among the answers', withRecord(opt)],
    ['OPT that is not at the root', replyTo(query, { additionals: [{ ...opt, name: 'a' }] })],
    ['OPT whose option is too long', replyTo(query, { edns: { options: [0, 10, 0, 2, 7] } })],
  ];
  for (const [title, reply] of cases)
    test(title, () => {
      assert.equal(check(reply), REPLY_MALFORMED);
    });
});

test('any bytes get a verdict, in bounded time', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 600 }), fc.boolean(), (tail, keepsQuestion) => {
      const reply = keepsQuestion ? Uint8Array.from([...good.slice(0, 33), ...tail]) : tail;
      assert.ok([REPLY_OK, REPLY_MISMATCH, REPLY_MALFORMED].includes(check(reply) as 0 | 1 | 2));
    }),
    { numRuns: 2_000 },
  );
});

test('a reply of 64 KiB made of pointers to pointers is judged quickly', () => {
  const name = [...Array.from({ length: 120 }, () => [1, 0x61]).flat(), 0];
  const wide = question(Array.from({ length: 120 }, () => 'a').join('.'), 'A', { id: 1 });
  assert.equal(name.length + 12 + 4, wide.length);
  const answers: RecordOptions[] = [];
  for (let index = 0; index < 5_000; index++) answers.push({ type: 'TYPE65000', ttl: 1, data: [] });
  const reply = replyTo(wide, { answers });
  const started = performance.now();
  assert.equal(check(reply, wide), REPLY_OK);
  assert.ok(performance.now() - started < 500);
});
