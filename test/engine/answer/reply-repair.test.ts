/**
 * What is made of replies that are not well-formed (main/engine/answer/reply-repair.ts). What the client gets
 * in the end is in test/net/odd-replies.test.ts.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ReplyReader } from '../../../main/engine/answer/answer.ts';
import { Query } from '../../../main/engine/query/query.ts';
import { checkReply, REPLY_MALFORMED, REPLY_OK } from '../../../main/dns/reply-check.ts';
import { repairReply } from '../../../main/engine/answer/reply-repair.ts';
import { mutate, mutations } from '../../fuzz/mutations.ts';
import {
  a,
  header,
  POINTER,
  question,
  replyTo,
  soa,
  u16,
  wireName,
} from '../../support/dns-wire.ts';
import type { RecordOptions, ReplyOptions } from '../../support/dns-wire.ts';
import { ODD_REPLIES } from '../../support/odd-replies.ts';

const query = question('wWw.eXample', 'A', { id: 7, edns: {} });
const questionEnd = query.length - 11;
const data = (type: string, ...bytes: (number | readonly number[])[]): RecordOptions => ({
  ...{ type, ttl: 60, data: bytes.flat() },
});
const zeros = (count: number): number[] => new Array<number>(count).fill(0);

function repaired(options: ReplyOptions): Buffer {
  const reply = replyTo(query, options);
  assert.equal(checkReply(reply, reply.length, query, query.length), REPLY_MALFORMED);
  const made = repairReply(reply, questionEnd) ?? assert.fail('of no use');
  assert.equal(checkReply(made, made.length, query, query.length), REPLY_OK);
  return made;
}

/** RDATA, written out, of the records that RFC 3597 §4 and later lets nobody compress. */
const own = wireName('wWw.eXample');
const NEVER_COMPRESSED: readonly (readonly [RecordOptions, number[]])[] = [
  [data('SRV', zeros(6), POINTER), [...zeros(6), ...own]],
  [data('TYPE39', POINTER), own],
  [data('TYPE17', POINTER, [1, 0x61], POINTER), [...own, 1, 0x61, ...own]],
  [data('TYPE35', zeros(4), [0, 0, 0], POINTER), [...zeros(7), ...own]],
  [data('TYPE18', u16(1), POINTER), [...u16(1), ...own]],
  [data('RRSIG', zeros(18), POINTER, [9, 9]), [...zeros(18), ...own, 9, 9]],
  [data('TYPE47', POINTER, [0, 1, 0x40]), [...own, 0, 1, 0x40]],
  [data('TYPE64', u16(1), POINTER), [...u16(1), ...own]],
  [
    data('HTTPS', u16(1), [1, 0x61], POINTER, u16(1), u16(3), [2, 104, 50]),
    [...u16(1), 1, 0x61, ...own, ...u16(1), ...u16(3), 2, 104, 50],
  ],
];
for (const [record, expected] of NEVER_COMPRESSED) {
  test(`names in ${record.type} are written out`, () => {
    const made = repaired({ answers: [record, a(60)], edns: {} });
    const at = questionEnd + 2;
    assert.equal(made.readUInt16BE(at + 8), expected.length);
    assert.deepEqual([...made.subarray(at + 10, at + 10 + expected.length)], expected);
    assert.deepEqual(header(made).counts, [1, 2, 0, 1]);
  });
}

test('names in types of RFC 1035 may stay compressed', () => {
  for (const record of [
    data('MX', u16(5), POINTER),
    data('TYPE12', POINTER),
    data('NS', POINTER),
  ]) {
    const reply = replyTo(query, { answers: [record] });
    assert.equal(checkReply(reply, reply.length, query, query.length), REPLY_OK);
  }
});

test('AD is lost with a record that it spoke of, not with an additional one', () => {
  const bad = data('TXT', [9]);
  const flags = (options: ReplyOptions): boolean => header(repaired({ ...options, ad: true })).ad;
  assert.equal(flags({ answers: [a(60)], additionals: [bad] }), true);
  assert.equal(flags({ answers: [a(60)], authorities: [bad] }), false);
  assert.equal(flags({ answers: [a(60), bad] }), false);
});

test('a pointer that leads over a record that is left out still leads to its name', () => {
  const alias = data('CNAME', wireName('long.target'));
  const opt = { ...data('OPT'), name: [0] };
  // Behind the question: the owner (2), the fixed part (10), and there the target.
  const target = u16(0xc000 + questionEnd + 12);
  const made = repaired({
    answers: [alias, opt, { ...a(60), name: target }],
    authorities: [soa(1, 1)],
  });
  const reader = new ReplyReader();
  const asked = new Query();
  asked.read(query, 0, query.length);
  assert.ok(reader.read(made, asked, { ttlMinSeconds: 0, ttlMaxSeconds: 60 }));
  assert.deepEqual(header(made).counts, [1, 2, 1, 0]);
  assert.ok(made.includes(Buffer.from(wireName('long.target')), questionEnd + 25));
});

test('whatever comes: well-formed, or of no use', () => {
  const base = fc.constantFrom(...ODD_REPLIES).map(({ udp }) => udp(query));
  fc.assert(
    fc.property(base, mutations, (reply, steps) => {
      const mutated = mutate(reply, steps, 12);
      if (mutated.length < questionEnd) return;
      query.subarray(12, questionEnd).forEach((byte, index) => (mutated[12 + index] = byte));
      mutated.writeUInt16BE(7, 0);
      mutated.writeUInt16BE(1, 4);
      mutated[2] = 0x81;
      const made = repairReply(mutated, questionEnd);
      if (made === null) return;
      assert.equal(checkReply(made, made.length, query, query.length), REPLY_OK);
      assert.ok(made.length <= 65_535);
    }),
    { numRuns: 3_000 },
  );
});

test('64 KiB of records with pointers is done with quickly, whatever it would grow to', () => {
  const long = [...Array.from({ length: 120 }, () => [1, 0x61]).flat(), 0];
  const wide = question(Array.from({ length: 120 }, () => 'a').join('.'), 'SRV', { id: 7 });
  assert.equal(wide.length, 12 + long.length + 4);
  const answers = Array.from({ length: 2_500 }, () => data('SRV', zeros(6), POINTER));
  const reply = replyTo(wide, { answers });
  const startedMs = performance.now();
  assert.equal(repairReply(reply, wide.length), null, 'it does not fit a message');
  assert.ok(performance.now() - startedMs < 500);
});
