/**
 * The question's bytes on their way upstream and back.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decode } from 'dns-packet';
import fc from 'fast-check';
import { CryptoRandom } from '../../../main/net/random.ts';
import { questionEnd } from '../../../main/dns/wire.ts';
import { copyQuery, fitOf, restoreQuestion } from '../../../main/net/upstream/message.ts';
import { question } from '../../support/dns-client.ts';

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
      assert.equal(fitOf(reply, copy, end), 'same');
      assert.match(fitOf(reply, query, end), /^(same|other-case)$/);
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
  assert.equal(fitOf(reply, query, end), 'same');
  let matches = 0;
  for (let bit = 0; bit < end * 8; bit++) {
    const at = bit >> 3;
    // Flags of the reply and the counts of its records are its own.
    if (at === 2 || at === 3 || (at >= 6 && at < 12)) continue;
    const flipped = Buffer.from(reply);
    flipped[at] = (flipped[at] ?? 0) ^ (1 << (bit & 7));
    const fit = fitOf(flipped, query, end);
    assert.notEqual(fit, 'same');
    if (fit === 'other-case') matches++;
  }
  assert.equal(matches, 'mixedexample'.length);
  assert.equal(fitOf(reply.subarray(0, end - 1), query, end), 'foreign');
});

test('an error without a question has our ID and QR, and nothing else to know it by', () => {
  const query = question('a.example', 'A', { id: 0x1234 });
  const end = questionEnd(query, query.length);
  const bare = (...bytes: number[]): Buffer => Buffer.concat([Buffer.from(bytes), Buffer.alloc(8)]);
  const fit = (...bytes: number[]): string => fitOf(bare(...bytes), query, end);
  for (const rcode of [1, 2, 4, 5])
    assert.equal(fit(0x12, 0x34, 0x81, 0x80 | rcode), 'no-question');
  for (const rcode of [0, 3, 6]) assert.equal(fit(0x12, 0x34, 0x80, rcode), 'foreign');
  assert.equal(fit(0x12, 0x35, 0x80, 0x01), 'foreign');
  assert.equal(fit(0x12, 0x34, 0x00, 0x01), 'foreign');
  assert.equal(fit(0x12, 0x34, 0x90, 0x01), 'foreign', 'another opcode');
  assert.equal(fitOf(query, query, end), 'foreign');
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
