/**
 * The question's bytes on their way upstream and back.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decode } from 'dns-packet';
import fc from 'fast-check';
import { CryptoRandom } from '../../main/net/random.ts';
import {
  copyQuery,
  isBareRefusal,
  matchesButCase,
  questionEnd,
  restoreQuestion,
} from '../../main/net/upstream-message.ts';
import { question } from '../support/dns-client.ts';

const random = new CryptoRandom();
const label = fc.stringMatching(/^[a-zA-Z0-9-]{1,20}$/);
const name = fc.array(label, { minLength: 1, maxLength: 6 }).map((labels) => labels.join('.'));

test('a copy differs from its query in letter case alone, and matches it so', () => {
  fc.assert(
    fc.property(name, fc.boolean(), fc.boolean(), (text, mixes, keepOpt) => {
      const query = question(text, 'A', { ednsBytes: 1_232 });
      const end = questionEnd(query, query.length);
      const copy = copyQuery(query, end, mixes ? random : null, keepOpt);
      const packet = decode(copy);
      const [asked] = packet.questions ?? [];
      assert.equal(asked?.name.toLowerCase(), text.toLowerCase());
      assert.equal(packet.additionals?.length, keepOpt ? 1 : 0);
      assert.equal(copy.length, keepOpt ? query.length : end);
      if (!mixes) assert.equal(asked.name, text);
      const reply = Buffer.from(copy);
      reply[2] = 0x81;
      assert.ok(matchesButCase(reply, query, end));
      restoreQuestion(reply, query, end);
      assert.deepEqual(reply.subarray(12, end), query.subarray(12, end));
    }),
  );
});

test('one changed bit anywhere but in the case of a letter is no match', () => {
  const query = question('Mixed-1.example', 'A', { ednsBytes: 1_232 });
  const end = questionEnd(query, query.length);
  const reply = Buffer.from(query);
  reply[2] = 0x81;
  assert.ok(matchesButCase(reply, query, end));
  let matches = 0;
  for (let bit = 0; bit < end * 8; bit++) {
    const at = bit >> 3;
    // Flags of the reply and the counts of its records are its own.
    if (at === 2 || at === 3 || (at >= 6 && at < 12)) continue;
    const flipped = Buffer.from(reply);
    flipped[at] = (flipped[at] ?? 0) ^ (1 << (bit & 7));
    if (matchesButCase(flipped, query, end)) matches++;
  }
  assert.equal(matches, 'mixedexample'.length);
  assert.equal(matchesButCase(reply.subarray(0, end - 1), query, end), false);
});

test('a bare refusal has our ID, QR, no question, and FORMERR or NOTIMP', () => {
  const query = question('a.example', 'A', { id: 0x1234 });
  const bare = (...bytes: number[]): Buffer => Buffer.concat([Buffer.from(bytes), Buffer.alloc(8)]);
  assert.ok(isBareRefusal(bare(0x12, 0x34, 0x80, 0x01), query));
  assert.ok(isBareRefusal(bare(0x12, 0x34, 0x81, 0x84), query));
  assert.equal(isBareRefusal(bare(0x12, 0x35, 0x80, 0x01), query), false);
  assert.equal(isBareRefusal(bare(0x12, 0x34, 0x00, 0x01), query), false);
  assert.equal(isBareRefusal(bare(0x12, 0x34, 0x80, 0x02), query), false);
  assert.equal(isBareRefusal(query, query), false);
});

test('random numbers fill their range', () => {
  let or = 0;
  let and = 0xffff;
  for (let index = 0; index < 5_000; index++) {
    const value = random.uint16();
    assert.ok(Number.isInteger(value) && value >= 0 && value <= 0xffff);
    or |= value;
    and &= value;
  }
  assert.deepEqual([or, and], [0xffff, 0]);
});
