/**
 * Random and mutated packets to the engine, as queries and as upstream replies: it never throws,
 * never answers more than allowed, and its parent walk agrees with a slow one.
 * SLUICE_FUZZ_RUNS sets the number of runs of each property; fast-check prints the seed.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { checkReply, REPLY_OK } from '../../main/dns/reply-check.ts';
import {
  a,
  header,
  question,
  questionLength,
  replyTo,
  soa,
  u16,
  wireName,
  type QuestionOptions,
} from '../support/dns-wire.ts';
import { EngineHarness, table } from '../support/engine-fakes.ts';
import { FLAWED_PACKETS, ODD_BUT_GOOD } from '../packets/flawed.ts';

const numRuns = Number(process.env['SLUICE_FUZZ_RUNS'] ?? 3_000);

/** Bytes overwritten, inserted, removed or cut off. */
type Mutation = readonly [
  kind: 'set' | 'insert' | 'remove' | 'cut' | 'copy',
  at: number,
  value: number,
];
const mutations = fc.array(
  fc.tuple(
    fc.constantFrom('set', 'insert', 'remove', 'cut', 'copy'),
    fc.nat({ max: 1_000 }),
    fc.oneof(fc.constantFrom(0, 0xc0, 0xff, 12, 41, 1, 63, 64), fc.nat({ max: 255 })),
  ) as fc.Arbitrary<Mutation>,
  { maxLength: 6 },
);

function mutate(packet: Uint8Array, steps: readonly Mutation[]): Uint8Array {
  const bytes = [...packet];
  for (const [kind, at, value] of steps) {
    const index = at % (bytes.length + 1);
    if (kind === 'set') bytes[index] = value;
    else if (kind === 'insert') bytes.splice(index, 0, value);
    else if (kind === 'remove') bytes.splice(index, 1);
    else if (kind === 'cut') bytes.length = index;
    else bytes.splice(index, 0, ...bytes.slice(index, index + value));
  }
  return Uint8Array.from(bytes);
}

const edns = fc.record({
  size: fc.nat({ max: 65_535 }),
  dnssecOk: fc.boolean(),
  version: fc.constantFrom(0, 0, 0, 1),
  options: fc.array(fc.nat({ max: 255 }), { maxLength: 12 }),
});
const name = fc
  .array(fc.constantFrom('ads', 'www', 'a', 'localhost', 'example', 'onion', 'x'.repeat(63)), {
    minLength: 1,
    maxLength: 8,
  })
  .map((labels) => labels.join('.'))
  .filter((text) => text.length < 254);
const query = fc
  .tuple(
    name,
    fc.constantFrom('A', 'AAAA', 'HTTPS', 'ANY', 'AXFR', 'TYPE65280'),
    fc.record({ rd: fc.boolean(), cd: fc.boolean(), ad: fc.boolean(), edns }, { requiredKeys: [] }),
  )
  .map(([text, type, options]) => question(text, type, options as QuestionOptions));
const corpus = fc.constantFrom(...FLAWED_PACKETS, ...ODD_BUT_GOOD).map(({ bytes }) => bytes);

/** Checks what holds for an answer to any packet over UDP. */
function checkAnswer(answer: Uint8Array, packet: Uint8Array, outcome: string): void {
  const seen = header(answer);
  assert.ok(seen.qr && seen.ra && !seen.z);
  assert.equal(seen.id, ((packet[0] ?? 0) << 8) | (packet[1] ?? 0));
  assert.ok(answer.length <= 1_232);
  const asked = seen.counts[0] === 1 ? questionLength(answer) : 0;
  if (outcome === 'rejected') assert.ok(answer.length <= 12 + asked + 11, 'no amplification');
  if (asked > 0 && seen.opcode === 0) {
    assert.deepEqual(answer.subarray(12, 12 + asked), packet.subarray(12, 12 + asked));
    // Every answer parses to its end: the check for upstream replies says so.
    assert.equal(checkReply(answer, answer.length, answer, answer.length), REPLY_OK);
  }
}

test('any packet: an answer within bounds, a forwarded question, or silence', () => {
  const harness = new EngineHarness({ lists: table(['ads.example', 'www.a']) });
  const packets = fc.oneof(query, corpus, fc.uint8Array({ maxLength: 80 }));
  fc.assert(
    fc.property(packets, mutations, (packet, steps) => {
      const mutated = mutate(packet, steps);
      const answer = harness.send(mutated);
      if (answer === 'later') {
        const asked = harness.exchange.take();
        const sent = asked.query;
        assert.equal(questionLength(sent) + 12 + 11, sent.length);
        asked.done({ reply: null, failure: 'full', upstream: 0 });
        checkAnswer(harness.client.late.pop() ?? assert.fail(), mutated, 'failed');
      } else if (answer !== null) {
        checkAnswer(answer, mutated, harness.sink.last.outcome);
      }
    }),
    { numRuns },
  );
  const settled = harness.counter('answered') + harness.counter('ignored');
  assert.equal(settled, harness.counter('received'));
  assert.equal(harness.counter('pending'), 0);
});

test('any upstream reply: an answer within bounds; what is kept is answered alike', () => {
  const harness = new EngineHarness({}, 64 * 1024);
  const replies = fc
    .record({
      answers: fc.array(fc.constantFrom(a(60), a(0), a(0xffff_ffff), soa(9, 9)), { maxLength: 40 }),
      authorities: fc.array(fc.constantFrom(soa(60, 30), a(7)), { maxLength: 3 }),
      additionals: fc.array(fc.constant(a(5)), { maxLength: 3 }),
      rcode: fc.nat({ max: 15 }),
      ad: fc.boolean(),
      tc: fc.boolean(),
      edns,
    })
    .map((options) => (sent: Uint8Array) => replyTo(sent, options));
  fc.assert(
    fc.property(name, replies, mutations, fc.boolean(), (text, make, steps, hasEdns) => {
      const options = hasEdns ? { edns: {} } : {};
      const packet = question(text, 'TYPE1', options);
      const first = harness.send(packet);
      if (first !== 'later') return;
      const asked = harness.exchange.take();
      const sent = asked.query;
      const reply = mutate(make(sent), steps);
      asked.done({ reply, failure: null, upstream: 0 });
      const late = harness.client.late.pop() ?? assert.fail();
      const isVerified = checkReply(reply, reply.length, sent, sent.length) === REPLY_OK;
      if (isVerified) checkAnswer(late, packet, harness.sink.last.outcome);
      const again = harness.send(packet);
      if (again === 'later') harness.exchange.answer((next) => replyTo(next, { rcode: 3 }));
      else if (harness.sink.last.outcome === 'cached') assert.deepEqual(again, late);
      harness.engine.flushCache();
      harness.client.late.length = 0;
    }),
    { numRuns },
  );
  assert.ok(harness.counter('cached') > 0, 'some were kept');
});

test('the parent walk agrees with a slow one, through real packets', () => {
  const label = fc.constantFrom('a', 'b', 'c', 'ads', 'x-y', '1');
  const names = fc.array(label, { minLength: 1, maxLength: 127 }).map((labels) => labels.join('.'));
  const short = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join('.'));
  // A top-level domain gets into a table only when that is confirmed: test/lists/compile/rules.test.ts.
  const hasDot = (text: string) => text.includes('.');
  const cases = fc.array(fc.boolean(), { minLength: 8, maxLength: 8 });
  fc.assert(
    fc.property(
      fc.array(fc.oneof(short, names).filter(hasDot), { maxLength: 20 }),
      fc.array(short.filter(hasDot), { maxLength: 3 }),
      fc.array(fc.tuple(names, short, cases), { minLength: 1, maxLength: 10 }),
      (block, allow, asked) => {
        const fits = (text: string) => wireName(text).length <= 255;
        const harness = new EngineHarness({ lists: table(block.filter(fits), allow) });
        for (const [head, tail, upper] of asked) {
          const text = `${head}.${tail}`;
          if (!fits(text)) continue;
          const mixed = text.replace(/./g, (char, index: number) =>
            upper[index % 8] === true ? char.toUpperCase() : char,
          );
          const answer = harness.send(question(mixed, 'A'));
          assert.equal(answer !== 'later', slowWalk(text, block, allow), mixed);
          if (answer !== 'later') assert.equal(harness.sink.last.name, text);
        }
      },
    ),
    { numRuns: Math.ceil(numRuns / 10) },
  );
});

/** The rule in plain words: a listed suffix of two labels or more blocks, an allowed one does not. */
function slowWalk(text: string, block: readonly string[], allow: readonly string[]): boolean {
  const labels = text.split('.');
  const suffixes = labels.map((_, index) => labels.slice(index).join('.')).slice(0, -1);
  const has = (list: readonly string[]) => suffixes.some((suffix) => list.includes(suffix));
  return has(block) && !has(allow);
}

test('every one of 65,536 types and every opcode gets an answer or goes upstream', () => {
  const harness = new EngineHarness({ logMode: 'off' });
  for (let type = 0; type < 65_536; type++) {
    const packet = question('x.example', 'A');
    packet.set(u16(type), packet.length - 4);
    packet[2] = ((type & 15) << 3) | 1;
    const answer = harness.send(packet);
    if (answer === 'later') {
      assert.equal(type & 15, 0);
      harness.exchange.take().done({ reply: null, failure: 'full', upstream: 0 });
      harness.client.late.length = 0;
    } else assert.ok(answer !== null);
  }
});
