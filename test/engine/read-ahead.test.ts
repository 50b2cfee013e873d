/** Packets that are read ahead get the answers that they get one by one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { COUNTER, COUNTER_BLOCK_SLOTS } from '../../main/contract/counters.ts';
import { Engine } from '../../main/engine/engine.ts';
import { AHEAD } from '../../main/engine/read-ahead.ts';
import { a, question, replyTo } from '../support/dns-wire.ts';
import {
  FakeClient,
  FakeClock,
  FakeExchange,
  FakeRandom,
  policy,
  table,
} from '../support/engine-fakes.ts';

const STRIDE = 4_160;
const LISTED = Array.from({ length: 500 }, (_, index) => `ads${String(index)}.example`);

function makeEngine() {
  const slots = new Float64Array(COUNTER_BLOCK_SLOTS);
  const exchange = new FakeExchange();
  const engine = new Engine({
    ...{ clock: new FakeClock(), random: new FakeRandom(), exchange, counters: { slots } },
    sink: { push: () => true },
  });
  engine.setPolicy(policy({ lists: table(LISTED, ['ok.ads1.example']) }));
  const client = new FakeClient();
  const out = new Uint8Array(4_096);
  const cached = question('www.site.example', 'A');
  assert.equal(engine.handle(cached, 0, cached.length, client, out, 0), -1);
  exchange.answer((query) => replyTo(query, { answers: [a(3_000)] }));
  return { engine, slots };
}

const NAMES = [
  ...['ads1.example', 'x.y.ads2.example', 'ok.ads1.example', 'www.site.example', 'localhost'],
  ...['WWW.Ads3.EXAMPLE', 'a.b.c.d.e.f.g.h.i.j.ads4.example', 'com', '1.0.0.127.in-addr.arpa'],
];

const wellFormed = fc
  .tuple(fc.constantFrom(...NAMES), fc.constantFrom('A', 'AAAA', 'HTTPS', 'ANY'), fc.boolean())
  .map(([name, type, hasEdns]) =>
    question(name, type, hasEdns ? { edns: { size: 1_232, dnssecOk: false } } : {}),
  );
const packet = fc.oneof(
  { weight: 4, arbitrary: wellFormed },
  {
    weight: 1,
    arbitrary: fc
      .tuple(wellFormed, fc.nat(), fc.nat({ max: 255 }))
      .map(([bytes, at, value]) => bytes.with(at % bytes.length, value)),
  },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 60 }) },
);

test('a batch that is read ahead is answered as its packets one by one', () => {
  fc.assert(
    fc.property(fc.array(packet, { minLength: 1, maxLength: AHEAD }), (batch) => {
      const one = makeEngine();
      const many = makeEngine();
      const packets = new Uint8Array(AHEAD * STRIDE);
      const lengths = Uint32Array.from(batch, (bytes) => bytes.length);
      for (const [index, bytes] of batch.entries()) packets.set(bytes, index * STRIDE);
      many.engine.readAhead(packets, STRIDE, lengths, 0, batch.length);
      for (const [index, bytes] of batch.entries()) {
        const client = new FakeClient();
        const [first, second] = [new Uint8Array(4_096), new Uint8Array(4_096)];
        const expected = one.engine.handle(bytes, 0, bytes.length, client, first, 0);
        assert.equal(many.engine.handleRead(index, client, second, 0), expected);
        assert.deepEqual(second, first);
      }
      assert.deepEqual(many.slots, one.slots);
      assert.equal(many.slots[COUNTER.received], batch.length + 1);
    }),
    { numRuns: 300 },
  );
});

test('a datagram longer than any query is met with silence', () => {
  const { engine } = makeEngine();
  const packets = new Uint8Array(2 * STRIDE);
  packets.set(question('ads1.example', 'A'), STRIDE);
  engine.readAhead(packets, STRIDE, Uint32Array.of(0, STRIDE), 1, 1);
  assert.equal(engine.handleRead(0, new FakeClient(), new Uint8Array(4_096), 0), 0);
});

test('a query that is read ahead goes by the policy of the moment it is answered', () => {
  const { engine } = makeEngine();
  const packets = new Uint8Array(STRIDE);
  const bytes = question('other.example', 'A');
  packets.set(bytes);
  engine.readAhead(packets, STRIDE, Uint32Array.of(bytes.length), 0, 1);
  engine.setPolicy(policy({ lists: table(['other.example']) }));
  const out = new Uint8Array(4_096);
  assert.ok(engine.handleRead(0, new FakeClient(), out, 0) > 0);
  assert.equal(out[7], 1, 'one record: the blocking answer');
});
