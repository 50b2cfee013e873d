/** Answers that come after their question has failed (steps/complete.ts, settleLate). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { a, header, question, records, replyTo } from '../support/dns-wire.ts';
import { EngineHarness, FakeClient, policy } from '../support/engine-fakes.ts';
import type { Asked } from '../support/engine-fakes.ts';

const one = (query: Uint8Array) => replyTo(query, { answers: [a(60, 192, 0, 2, 1)] });
const two = (query: Uint8Array) => replyTo(query, { answers: [a(60, 192, 0, 2, 2)] });
const NAME = 'www.slow.example';

function reply(asked: Asked, make: (query: Uint8Array) => Uint8Array): void {
  asked.done({ reply: make(asked.query), failure: null, upstream: 0 });
}

function addressOf(bytes: Uint8Array | undefined): string {
  return bytes === undefined ? '' : (records(bytes, 'answers')[0]?.split(' ').at(-1) ?? '');
}

describe('a late answer', () => {
  test('is there the next time the name is asked for', () => {
    const harness = new EngineHarness();
    harness.send(question(NAME, 'A'));
    const asked = harness.exchange.fail('timeout');
    assert.equal(header(harness.client.late[0] as Uint8Array).rcode, 2);
    assert.equal(header(harness.ask(NAME, 'A')).rcode, 2, 'remembered for a second');
    harness.clock.pass(0.4);
    reply(asked, one);
    assert.equal(harness.client.late.length, 1, 'nobody waited');
    assert.equal(addressOf(harness.ask(NAME, 'A')), '192.0.2.1');
    assert.equal(harness.exchange.count, 1);
    assert.equal(harness.counter('pending'), 0);
  });

  test('is for all who ask meanwhile, once; the answer of their own exchange is stored', () => {
    const harness = new EngineHarness();
    harness.send(question(NAME, 'A'));
    const first = harness.exchange.fail('timeout');
    harness.clock.pass(1.1);
    const other = new FakeClient(10, 0, 0, 7);
    harness.send(question(NAME, 'A'));
    harness.send(question(NAME, 'A'), other);
    assert.equal(harness.exchange.count, 2, 'it may have been lost, so it is asked again');
    reply(first, one);
    assert.deepEqual([harness.client.late.length, other.late.length], [2, 1]);
    assert.equal(addressOf(harness.client.late[1]), '192.0.2.1');
    assert.equal(addressOf(other.late[0]), '192.0.2.1');
    assert.equal(harness.counter('pending'), 0);
    const answered = harness.counter('answered');
    reply(harness.exchange.take(), two);
    assert.equal(harness.counter('answered'), answered);
    assert.deepEqual([harness.client.late.length, other.late.length], [2, 1]);
    assert.equal(addressOf(harness.ask(NAME, 'A')), '192.0.2.2');
  });

  test("of the second exchange, when the first one brought it: its failure is nobody's", () => {
    const harness = new EngineHarness();
    harness.send(question(NAME, 'A'));
    const first = harness.exchange.fail('timeout');
    harness.clock.pass(1.1);
    harness.send(question(NAME, 'A'));
    reply(first, one);
    harness.exchange.fail('timeout');
    assert.equal(harness.client.late.length, 2);
    assert.equal(addressOf(harness.ask(NAME, 'A')), '192.0.2.1');
  });

  test('replaces a SERVFAIL that is remembered', () => {
    const harness = new EngineHarness();
    harness.send(question(NAME, 'A'));
    const asked = harness.exchange.take();
    reply(asked, (query) => replyTo(query, { rcode: 2 }));
    assert.equal(header(harness.ask(NAME, 'A')).rcode, 2);
    reply(asked, one);
    assert.equal(addressOf(harness.ask(NAME, 'A')), '192.0.2.1');
  });

  test('that says there is no such name is believed as well', () => {
    const harness = new EngineHarness();
    harness.send(question(NAME, 'A'));
    const asked = harness.exchange.fail('timeout');
    harness.clock.pass(1.1);
    harness.send(question(NAME, 'A'));
    reply(asked, (query) => replyTo(query, { rcode: 3 }));
    assert.equal(header(harness.client.late[1] as Uint8Array).rcode, 3);
  });

  test('to a prefetch frees its place once', () => {
    const harness = new EngineHarness();
    harness.resolve(NAME, 'A', (query) => replyTo(query, { answers: [a(100)] }));
    for (let time = 0; time < 3; time++) harness.ask(NAME, 'A');
    harness.clock.pass(92);
    harness.ask(NAME, 'A');
    assert.equal(harness.counter('prefetched'), 1);
    const asked = harness.exchange.fail('timeout');
    reply(asked, two);
    assert.equal(addressOf(harness.ask(NAME, 'A')), '192.0.2.2');
    assert.equal(harness.counter('pending'), 0);
  });

  test('after closing, or after the rules for private addresses changed, does no harm', () => {
    const harness = new EngineHarness({ rebinding: { enabled: false } });
    harness.send(question(NAME, 'A'));
    harness.send(question('x.example', 'A'));
    const asked = harness.exchange.fail('timeout');
    const other = harness.exchange.fail('timeout');
    harness.engine.setPolicy(policy({ rebinding: { enabled: true } }));
    reply(asked, (query) => replyTo(query, { answers: [a(60, 192, 168, 0, 1)] }));
    harness.clock.pass(1.1);
    assert.notEqual(addressOf(harness.ask(NAME, 'A')), '192.168.0.1');
    harness.engine.close();
    reply(other, one);
    assert.equal(harness.client.late.length, 2);
  });
});

test('a time-out is remembered for a second, not for five', () => {
  const harness = new EngineHarness();
  harness.send(question(NAME, 'A'));
  harness.exchange.fail('timeout');
  harness.clock.pass(1.1);
  assert.equal(harness.send(question(NAME, 'A')), 'later');
});
