/** Questions in flight: joining, bounds, late answers, closing (steps/forward.ts, complete.ts). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../../main/contract/limits.ts';
import { a, header, question, readOpt, records, replyTo, wireName } from '../support/dns-wire.ts';
import { EngineHarness, FakeClient, table } from '../support/engine-fakes.ts';

const oneA = (query: Uint8Array): Uint8Array => replyTo(query, { answers: [a(60)], ad: true });

describe('joining', () => {
  test('equal questions share an exchange; each client gets what is its own', () => {
    const harness = new EngineHarness();
    const first = new FakeClient(10, 0, 0, 1);
    const second = new FakeClient(10, 0, 0, 2);
    const third = new FakeClient(10, 0, 0, 3);
    third.transport = 'tcp';
    harness.send(question('x.example', 'A', { id: 1 }), first);
    harness.clock.pass(0.1);
    harness.send(question('X.Example', 'A', { id: 2, rd: false, ad: true }), second);
    harness.clock.pass(0.1);
    harness.send(question('x.EXAMPLE', 'A', { id: 3, edns: { size: 700 } }), third);
    assert.equal(harness.exchange.count, 1);
    assert.equal(harness.counter('pending'), 1);
    assert.equal(harness.counter('joined'), 2);
    assert.equal(harness.counter('answered'), 0);
    harness.clock.pass(0.1);
    harness.exchange.answer(oneA, 2);

    const answers = [first, second, third].map(({ late }) => {
      assert.equal(late.length, 1);
      return late[0] as Uint8Array;
    });
    assert.deepEqual(
      answers.map((bytes) => header(bytes).id),
      [1, 2, 3],
    );
    assert.deepEqual(
      answers.map((bytes) => header(bytes).rd),
      [true, false, true],
    );
    assert.deepEqual(
      answers.map((bytes) => header(bytes).ad),
      [false, true, false],
    );
    assert.deepEqual(
      answers.map((bytes) => readOpt(bytes) !== null),
      [false, false, true],
    );
    const names = ['x.example', 'X.Example', 'x.EXAMPLE'];
    assert.deepEqual(
      answers.map((bytes) => [...bytes.subarray(12, 23)]),
      names.map((name) => wireName(name)),
    );
    const logged = harness.sink.records.map((record) => [
      record.address.slice(-8),
      record.transport,
      record.outcome,
      record.upstream,
      Math.round(record.durationUs / 1e5),
      record.timeMs - harness.clock.ms,
    ]);
    assert.deepEqual(logged, [
      ['0a000001', 'udp', 'forwarded', 2, 3, -300],
      ['0a000002', 'udp', 'forwarded', 2, 2, -200],
      ['0a000003', 'tcp', 'forwarded', 2, 1, -100],
    ]);
    assert.equal(harness.counter('pending'), 0);
    assert.equal(harness.counter('forwarded'), 3);
  });

  test('a client object that is reused for other packets does not change a late answer', () => {
    const harness = new EngineHarness();
    const packet = question('x.example', 'A');
    harness.send(packet);
    packet.fill(0xff);
    harness.client.address.fill(9);
    harness.client.transport = 'tcp';
    harness.ask('localhost', 'A', { edns: {} });
    harness.exchange.answer(oneA);
    assert.deepEqual(records(harness.client.late[0] as Uint8Array, 'answers'), [
      'x.example A 60 192.0.2.1',
    ]);
    const { address, transport, name } = harness.sink.last;
    assert.deepEqual([address.slice(-8), transport, name], ['c000024d', 'udp', 'x.example']);
  });

  test('different questions are asked each, and may be answered in any order', () => {
    const harness = new EngineHarness();
    harness.send(question('x.example', 'A', { id: 1 }));
    harness.send(question('y.example', 'A', { id: 2 }));
    harness.send(question('x.example', 'AAAA', { id: 3 }));
    harness.send(question('x.example', 'A', { id: 4, cd: true }));
    harness.send(question('x.example', 'A', { id: 5, edns: { dnssecOk: true } }));
    assert.equal(harness.exchange.count, 5);
    const asked = [2, 0, 1, 4, 3].map((index) => harness.exchange.asked[index]);
    for (const one of asked) {
      assert.ok(one);
      one.done({ reply: oneA(one.query), failure: null, upstream: 0 });
    }
    assert.deepEqual(
      harness.client.late.map((bytes) => header(bytes).id),
      [3, 1, 2, 5, 4],
    );
    assert.equal(harness.counter('pending'), 0);
  });

  test("a failure is everybody's", () => {
    const harness = new EngineHarness();
    for (const id of [1, 2, 3]) harness.send(question('x.example', 'A', { id }));
    harness.exchange.fail();
    assert.deepEqual(
      harness.client.late.map((bytes) => header(bytes).rcode),
      [2, 2, 2],
    );
    assert.equal(harness.counter('failed'), 3);
  });

  test('what the filter said is logged with the late answer', () => {
    const harness = new EngineHarness({ lists: table(['x.example@5'], ['good.x.example@6']) });
    harness.send(question('good.x.example', 'A'));
    harness.ask('x.example', 'A');
    harness.exchange.answer(oneA);
    const { outcome, reason, listId, matchedLabels } = harness.sink.last;
    assert.deepEqual([outcome, reason, listId, matchedLabels], ['forwarded', 'allow-rule', 6, 3]);
  });
});

describe('bounds', () => {
  test('one question too many is answered SERVFAIL with EDE 23, the others stay', () => {
    const harness = new EngineHarness();
    for (let index = 0; index < LIMITS.pendingQuestionsMax; index++) {
      assert.equal(harness.send(question(`n${String(index)}.example`, 'A')), 'later');
    }
    const refused = harness.ask('more.example', 'A', { edns: {} });
    assert.deepEqual([header(refused).rcode, readOpt(refused)?.ede], [2, 23]);
    assert.deepEqual(
      [harness.sink.last.outcome, harness.sink.last.reason],
      ['failed', 'upstream-full'],
    );
    assert.equal(harness.counter('pendingDropped'), 1);
    assert.equal(harness.send(question('n7.example', 'A')), 'later', 'joining is still possible');
    harness.exchange.answer(oneA);
    assert.equal(harness.send(question('more.example', 'A')), 'later');
    assert.equal(harness.counter('pending'), LIMITS.pendingQuestionsMax);
  });

  test('one waiter too many for a question is answered SERVFAIL', () => {
    const harness = new EngineHarness();
    for (let index = 0; index < LIMITS.waitersPerQuestionMax; index++) {
      assert.equal(harness.send(question('x.example', 'A')), 'later');
    }
    assert.equal(header(harness.ask('x.example', 'A')).rcode, 2);
    harness.exchange.answer(oneA);
    assert.equal(harness.client.late.length, LIMITS.waitersPerQuestionMax);
  });

  test('waiters in all are bounded', () => {
    const harness = new EngineHarness();
    const questions = Math.ceil(LIMITS.waitersMax / LIMITS.waitersPerQuestionMax);
    let held = 0;
    for (let index = 0; index < questions * LIMITS.waitersPerQuestionMax; index++) {
      const name = `n${String(index % questions)}.example`;
      if (harness.send(question(name, 'A')) === 'later') held++;
    }
    assert.equal(held, LIMITS.waitersMax);
    assert.equal(header(harness.ask('n0.example', 'A')).rcode, 2);
    assert.equal(header(harness.ask('new.example', 'A')).rcode, 2);
  });

  test('when too much is in flight, a stale answer is better than none', () => {
    const harness = new EngineHarness();
    harness.resolve('x.example', 'A', oneA);
    harness.clock.pass(61);
    for (let index = 0; index < LIMITS.pendingQuestionsMax; index++) {
      harness.send(question(`n${String(index)}.example`, 'A'));
    }
    assert.deepEqual(records(harness.ask('x.example', 'A'), 'answers'), [
      'x.example A 30 192.0.2.1',
    ]);
    assert.equal(harness.sink.last.outcome, 'stale');
  });
});

test('after close, packets are ignored and late replies go nowhere', () => {
  const harness = new EngineHarness();
  harness.send(question('x.example', 'A'));
  harness.engine.close();
  harness.engine.close();
  harness.exchange.answer(oneA);
  assert.equal(harness.client.late.length, 0);
  assert.equal(harness.send(question('localhost', 'A')), null);
  assert.equal(harness.counter('answered'), 0);
});
