/** Every answer is counted once and logged once (main/engine/state/accounting.ts). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  COUNTERS,
  HISTOGRAM_BUCKETS,
  histogramBucket,
  type CounterName,
} from '../../../main/contract/counters.ts';
import { OUTCOMES } from '../../../main/contract/outcome.ts';
import { a, question, replyTo } from '../../support/dns-wire.ts';
import { EngineHarness, FakeClient, policy, table } from '../../support/engine-fakes.ts';

const lists = table(['ads.example']);
const oneA = (query: Uint8Array): Uint8Array => replyTo(query, { answers: [a(60)] });

function histogram(harness: EngineHarness, which: 0 | 1): Map<number, number> {
  const from = COUNTERS.length + which * HISTOGRAM_BUCKETS;
  const buckets = harness.slots.subarray(from, from + HISTOGRAM_BUCKETS);
  return new Map([...buckets.entries()].filter(([, count]) => count > 0));
}

test('one of each: outcomes add up to the answers', () => {
  const harness = new EngineHarness({ lists });
  harness.ask('ads.example', 'A');
  harness.ask('localhost', 'A');
  harness.ask('x.example', 'AXFR');
  harness.resolve('x.example', 'A', oneA);
  harness.ask('x.example', 'A');
  harness.clock.pass(70);
  harness.send(question('x.example', 'A'));
  harness.exchange.fail();
  harness.send(question('y.example', 'A'));
  harness.exchange.fail();
  harness.send(Uint8Array.of(1, 2, 3));
  for (const outcome of OUTCOMES) assert.equal(harness.counter(outcome), 1, outcome);
  const expected: Partial<Record<CounterName, number>> = {
    received: 8,
    ignored: 1,
    answered: 7,
    logged: 7,
  };
  for (const [name, count] of Object.entries(expected)) {
    assert.equal(harness.counter(name as CounterName), count, name);
  }
  assert.deepEqual(
    harness.sink.records.map(({ outcome }) => outcome),
    ['blocked', 'local', 'rejected', 'forwarded', 'cached', 'stale', 'failed'],
  );
});

test('a record says who asked what, when, and what came of it', () => {
  const harness = new EngineHarness({ lists });
  harness.ask('X.Ads.Example', 'HTTPS');
  assert.deepEqual(harness.sink.last, {
    timeMs: 1_700_000_000_000,
    address: '00000000000000000000ffffc000024d',
    transport: 'udp',
    name: 'x.ads.example',
    nameLength: 14,
    type: 65,
    qclass: 1,
    rcode: 0,
    outcome: 'blocked',
    reason: 'list',
    listId: 1,
    matchedLabels: 2,
    matched: '.',
    matchedLength: 0,
    upstream: -1,
    durationUs: 0,
  });
});

test('a full sink is counted', () => {
  const harness = new EngineHarness({ lists });
  harness.sink.isFull = true;
  harness.ask('ads.example', 'A');
  assert.deepEqual([harness.counter('logged'), harness.counter('logDropped')], [0, 1]);
});

describe('log modes', () => {
  const v6 = new FakeClient();
  v6.address.set(Buffer.from('20010db8123456789abcdef011223344', 'hex'));

  test('anonymous keeps /24 and /48', () => {
    const harness = new EngineHarness({ lists, logMode: 'anonymous' });
    harness.ask('ads.example', 'A');
    assert.equal(harness.sink.last.address, '00000000000000000000ffffc0000200');
    harness.send(question('ads.example', 'A'), v6);
    assert.equal(harness.sink.last.address, '20010db8123400000000000000000000');
    assert.equal(Buffer.from(v6.address).toString('hex'), '20010db8123456789abcdef011223344');
  });

  test('off logs nothing, also what was asked before and is answered later', () => {
    const harness = new EngineHarness({ lists });
    harness.send(question('x.example', 'A'));
    harness.engine.setPolicy(policy({ lists, logMode: 'off', version: 2 }));
    harness.ask('ads.example', 'A');
    harness.exchange.answer(oneA);
    assert.equal(harness.sink.records.length, 0);
    assert.deepEqual([harness.counter('answered'), harness.counter('logged')], [2, 0]);
  });
});

test('durations: answers made here and answers that needed an upstream are apart', () => {
  const harness = new EngineHarness({ lists });
  const nowUs = harness.clock.nowUs.bind(harness.clock);
  // Each look at the clock takes 3.5 µs.
  harness.clock.nowUs = () => (harness.clock.us += 3.5) && nowUs();
  harness.ask('ads.example', 'A');
  assert.deepEqual([...histogram(harness, 0)], [[3, 1]]);
  harness.send(question('x.example', 'A'));
  harness.clock.pass(0.037);
  harness.exchange.answer(oneA);
  const [entry] = [...histogram(harness, 1)];
  assert.deepEqual(entry, [histogramBucket(37_007), 1]);
  assert.equal(harness.sink.last.durationUs, 37_007);
  assert.deepEqual([...histogram(harness, 0)], [[3, 1]]);
});

test('in a batch, latency counts from the arrival of all, and its end is read now and then', () => {
  const harness = new EngineHarness({ lists });
  harness.engine.beginBatch();
  const durations: number[] = [];
  for (let index = 0; index < 20; index++) {
    harness.clock.us += 100;
    harness.ask('ads.example', 'A');
    durations.push(harness.sink.last.durationUs);
  }
  harness.engine.endBatch();
  assert.equal(durations[0], 100, 'the first answer is exact');
  for (const [index, durationUs] of durations.entries()) {
    const exact = (index + 1) * 100;
    assert.ok(
      durationUs <= exact && durationUs > exact - 800,
      `${String(index)}: ${String(durationUs)}`,
    );
  }
  assert.equal(durations[16], 1_700);
  harness.ask('ads.example', 'A');
  assert.equal(harness.sink.last.durationUs, 0, 'outside a batch each packet has its own time');
});
