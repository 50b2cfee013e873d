/** Prefetch and serve-stale (RFC 8767): when the cache asks for itself, and when old will do. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../../main/contract/limits.ts';
import { a, header, question, readOpt, records, replyTo, soa } from '../support/dns-wire.ts';
import { EngineHarness } from '../support/engine-fakes.ts';

const first = (query: Uint8Array) => replyTo(query, { answers: [a(100, 192, 0, 2, 1)] });
const second = (query: Uint8Array) => replyTo(query, { answers: [a(100, 192, 0, 2, 2)] });
const NAME = 'www.site.example';

function primed(options: ConstructorParameters<typeof EngineHarness>[0] = {}): EngineHarness {
  const harness = new EngineHarness(options);
  harness.resolve(NAME, 'A', first);
  return harness;
}

function ask(harness: EngineHarness, times: number): string {
  let answer: Uint8Array | null = null;
  for (let time = 0; time < times; time++) answer = harness.ask(NAME, 'A');
  return answer === null ? '' : (records(answer, 'answers')[0] ?? '');
}

describe('prefetch', () => {
  test('a popular answer near its end is fetched anew, once, while it is still given', () => {
    const harness = primed();
    ask(harness, 3);
    harness.clock.pass(89);
    assert.equal(harness.exchange.asked.length, 0);
    harness.clock.pass(2);
    assert.equal(ask(harness, 2), `${NAME} A 9 192.0.2.1`);
    assert.equal(harness.exchange.asked.length, 1);
    assert.equal(harness.counter('prefetched'), 1);
    const answered = harness.counter('answered');
    harness.exchange.answer(second);
    assert.equal(harness.counter('answered'), answered, 'nobody waited for it');
    assert.equal(harness.client.late.length, 0);
    harness.clock.pass(50);
    assert.equal(ask(harness, 1), `${NAME} A 50 192.0.2.2`);
    assert.equal(harness.counter('pending'), 0);
  });

  test('not for what is asked rarely, what is short-lived, or when it is off', () => {
    const rare = primed();
    ask(rare, 1);
    rare.clock.pass(95);
    ask(rare, 1);
    assert.equal(rare.exchange.asked.length, 0);
    const short = new EngineHarness();
    short.resolve(NAME, 'A', (query) => replyTo(query, { answers: [a(9)] }));
    ask(short, 4);
    short.clock.pass(8.5);
    ask(short, 2);
    assert.equal(short.exchange.asked.length, 0);
    const off = primed({ cache: { prefetch: false } });
    ask(off, 5);
    off.clock.pass(95);
    ask(off, 2);
    assert.equal(off.exchange.asked.length, 0);
  });

  test('a name that nobody asks for any more is not fetched for ever', () => {
    const harness = primed();
    ask(harness, 3);
    harness.clock.pass(91);
    ask(harness, 1);
    harness.exchange.answer(second);
    harness.clock.pass(95);
    ask(harness, 1);
    assert.equal(harness.exchange.asked.length, 0);
  });

  test('a failed refresh leaves the answer and is not tried again at once', () => {
    const harness = primed();
    ask(harness, 3);
    harness.clock.pass(91);
    ask(harness, 1);
    harness.exchange.fail();
    assert.equal(ask(harness, 3), `${NAME} A 9 192.0.2.1`);
    assert.equal(harness.exchange.asked.length, 0);
    harness.clock.pass(6);
    ask(harness, 1);
    assert.equal(harness.exchange.asked.length, 1);
  });

  test('at most so many at a time', () => {
    const harness = new EngineHarness();
    const names = Array.from(
      { length: LIMITS.prefetchesMax + 5 },
      (_, at) => `n${String(at)}.example`,
    );
    for (const name of names) harness.resolve(name, 'A', first);
    for (const name of names) for (let time = 0; time < 3; time++) harness.ask(name, 'A');
    harness.clock.pass(95);
    for (const name of names) harness.ask(name, 'A');
    assert.equal(harness.exchange.asked.length, LIMITS.prefetchesMax);
    for (const asked of harness.exchange.asked.splice(0)) {
      asked.done({ reply: second(asked.query), failure: null, upstream: 0 });
    }
    harness.ask('n68.example', 'A');
    assert.equal(harness.exchange.asked.length, 1);
  });

  test('a client that asks while a refresh runs after the end joins it', () => {
    const harness = primed({ cache: { staleSecondsMax: 0 } });
    ask(harness, 3);
    harness.clock.pass(95);
    ask(harness, 1);
    harness.clock.pass(10);
    assert.equal(harness.send(question(NAME, 'A')), 'later');
    assert.equal(harness.counter('joined'), 1);
    harness.exchange.answer(second);
    assert.equal(harness.client.late.length, 1);
  });
});

describe('stale answers', () => {
  test('a refresh that is quick is waited for', () => {
    const harness = primed();
    harness.clock.pass(101);
    assert.equal(harness.send(question(NAME, 'A')), 'later');
    assert.deepEqual(
      harness.alarm.set.map(({ ms }) => ms),
      [LIMITS.staleAnswerMs],
    );
    harness.exchange.answer(second);
    assert.match(
      records(harness.client.late[0] as Uint8Array, 'answers')[0] ?? '',
      /192\.0\.2\.2$/,
    );
    harness.alarm.ring();
    assert.equal(harness.client.late.length, 1, 'the alarm finds nobody');
  });

  test('a refresh that takes long: the stale answer after the alarm, to all who wait', () => {
    const harness = primed();
    harness.clock.pass(101);
    const packet = question(NAME, 'A', { edns: {} });
    assert.equal(harness.send(packet), 'later');
    assert.equal(harness.send(packet), 'later');
    harness.clock.pass(1.8);
    harness.alarm.ring();
    assert.equal(harness.client.late.length, 2);
    const [late] = harness.client.late;
    assert.deepEqual(records(late as Uint8Array, 'answers'), [`${NAME} A 30 192.0.2.1`]);
    assert.equal(readOpt(late as Uint8Array)?.ede, 3);
    assert.equal(harness.sink.last.outcome, 'stale');
    // Who asks now need not wait.
    assert.match(records(harness.ask(NAME, 'A'), 'answers')[0] ?? '', / 30 192\.0\.2\.1$/);
    harness.exchange.answer(second);
    assert.equal(harness.client.late.length, 2);
    assert.match(records(harness.ask(NAME, 'A'), 'answers')[0] ?? '', / 100 192\.0\.2\.2$/);
    assert.equal(harness.counter('pending'), 0);
    assert.equal(harness.counter('stale'), 3);
  });

  test('upstreams that cannot be reached: at once, with one refresh behind it', () => {
    const harness = primed();
    harness.resolve('other.example', 'A', first);
    harness.clock.pass(101);
    harness.send(question('x.example', 'A'));
    harness.exchange.fail('offline');
    assert.match(records(harness.ask(NAME, 'A'), 'answers')[0] ?? '', / 30 192\.0\.2\.1$/);
    assert.match(records(harness.ask(NAME, 'A'), 'answers')[0] ?? '', / 30 192\.0\.2\.1$/);
    assert.equal(harness.exchange.asked.length, 1);
    harness.exchange.answer(second);
    assert.match(records(harness.ask(NAME, 'A'), 'answers')[0] ?? '', / 100 192\.0\.2\.2$/);
    assert.equal(harness.send(question('other.example', 'A')), 'later', 'they are up again');
  });

  test('other names that nobody answers make no name stale', () => {
    const harness = primed();
    harness.clock.pass(101);
    for (const type of ['A', 'AAAA', 'HTTPS']) {
      harness.send(question('www.dead.example', type));
      harness.exchange.fail('timeout');
    }
    assert.equal(harness.send(question(NAME, 'A')), 'later');
    harness.exchange.answer(second);
    assert.match(
      records(harness.client.late.at(-1) as Uint8Array, 'answers')[0] ?? '',
      / 100 192\.0\.2\.2$/,
    );
  });

  test('NXDOMAIN has its own extended error', () => {
    const harness = new EngineHarness();
    harness.resolve('no.example', 'A', (query) =>
      replyTo(query, { rcode: 3, authorities: [soa(10, 10)] }),
    );
    harness.clock.pass(11);
    harness.send(question('no.example', 'A', { edns: {} }));
    harness.exchange.fail();
    const late = harness.client.late.at(-1) as Uint8Array;
    assert.deepEqual([header(late).rcode, readOpt(late)?.ede], [3, 19]);
  });

  test('names in the exceptions, and what lies below them, are never answered stale', () => {
    const harness = primed({ cache: { staleOff: ['site.example'] } });
    harness.clock.pass(101);
    harness.send(question(NAME, 'A'));
    assert.equal(harness.alarm.set.length, 0);
    harness.exchange.fail();
    assert.equal(header(harness.client.late[0] as Uint8Array).rcode, 2);
  });

  test('after closing, the alarm does nothing', () => {
    const harness = primed();
    harness.clock.pass(101);
    harness.send(question(NAME, 'A'));
    harness.engine.close();
    harness.alarm.ring();
    assert.equal(harness.client.late.length, 0);
  });
});
