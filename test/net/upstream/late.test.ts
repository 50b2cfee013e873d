/**
 * Answers that come after the asker was told that nobody answers: they are taken, for the cache and
 * for whoever asks again, within bounds. Time is a clock that is set forward, or runs five times as
 * fast as the real one.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../../main/contract/limits.ts';
import { systemClock } from '../../../main/net/clock.ts';
import { readAnswer } from '../../support/dns-client.ts';
import { certificates } from '../../support/certificates.ts';
import { FakeSecureUpstream } from '../../support/fake-secure-upstream.ts';
import {
  addressOfName,
  answerByName,
  answerCode,
  byTransport,
  delayed,
  FakeUpstream,
  held,
  silent,
  truncatedAnswer,
} from '../../support/fake-upstream.ts';
import { ask, openPool } from '../../support/net-fakes.ts';
import type { Outcome } from '../../support/net-fakes.ts';

const SERVFAIL = 2;
/** So much faster is the clock of these tests. */
const HASTE = 5;
const clock = { nowUs: () => systemClock.nowUs() * HASTE, wallMs: () => systemClock.wallMs() };

function addressIn({ reply, failure }: Outcome): string {
  assert.notEqual(reply, null, `a reply instead of ${String(failure)}`);
  const [answer] = readAnswer(reply as Buffer).answers ?? [];
  return answer?.type === 'A' ? answer.data : 'no address';
}

/** A server that takes so long on the clock of these tests. */
const after = (ms: number) => delayed(ms / HASTE, answerByName);

test('2.4 s is within the time that a question has', async (t) => {
  const server = await FakeUpstream.open(t, after(2_400));
  const { pool } = openPool(t, [server], { clock });
  assert.equal(addressIn(await ask(pool, 'slow.example')), addressOfName('slow.example'));
});

for (const [ms, timeoutMs] of [
  [2_400, 2_000],
  [5_500, 5_000],
  [7_000, 5_000],
  [7_000, 500],
  [28_000, 20_000],
] as const) {
  test(`${String(ms)} ms is too late for ${String(timeoutMs)} ms, and still taken`, async (t) => {
    const server = await FakeUpstream.open(t, held(answerByName));
    let aheadUs = 0;
    const { pool } = openPool(t, [server], {
      clock: { ...systemClock, nowUs: () => systemClock.nowUs() + aheadUs },
      timeoutMs,
    });
    const asking = ask(pool, 'slow.example');
    await server.asked(1);
    aheadUs = timeoutMs * 1_000;
    const outcome = await asking;
    assert.equal(outcome.failure, 'timeout');
    aheadUs = ms * 1_000;
    server.release();
    assert.equal(addressIn(await outcome.late), addressOfName('slow.example'));
    assert.notEqual(pool.states[0]?.state, 'down');
  });
}

for (const protocol of ['tls', 'https'] as const) {
  test(`a late answer over ${protocol}`, async (t) => {
    const { good, authority } = await certificates();
    const server = await FakeSecureUpstream.open(t, protocol, good, after(3_500));
    const options = { clock, timeoutMs: 1_500, authorities: [authority] };
    const { pool } = openPool(t, [server.text()], options);
    const outcome = await ask(pool, 'slow.example');
    assert.equal(outcome.failure, 'timeout');
    assert.equal(addressIn(await outcome.late), addressOfName('slow.example'));
  });
}

test('a late answer that is truncated is fetched over TCP', async (t) => {
  const server = await FakeUpstream.open(
    t,
    byTransport(delayed(3_500 / HASTE, truncatedAnswer), answerByName),
  );
  const { pool } = openPool(t, [server], { clock, timeoutMs: 1_500 });
  const outcome = await ask(pool, 'big.example');
  assert.equal(outcome.failure, 'timeout');
  assert.equal(addressIn(await outcome.late), addressOfName('big.example'));
});

test('after SERVFAIL of one server the answer of a slow one is taken', async (t) => {
  const failing = await FakeUpstream.open(t, answerCode(SERVFAIL));
  const slow = await FakeUpstream.open(t, after(4_000));
  const { pool } = openPool(t, [failing, slow], { clock });
  const outcome = await ask(pool, 'slow.example');
  assert.equal(readAnswer(outcome.reply as Buffer).rcode, 'SERVFAIL');
  const late = await outcome.late;
  assert.equal(addressIn(late), addressOfName('slow.example'));
  assert.equal(late.upstream, 1);
});

test('a late SERVFAIL is told to nobody', async (t) => {
  const server = await FakeUpstream.open(t, delayed(2_000 / HASTE, answerCode(SERVFAIL)));
  const { pool, counters } = openPool(t, [server], { clock, timeoutMs: 1_000 });
  const outcome = await ask(pool, 'bad.example');
  assert.equal(outcome.failure, 'timeout');
  let isTold = false;
  void outcome.late.then(() => (isTold = true));
  while (counters.get('upstreamAnswered') === 0) await new Promise((done) => setTimeout(done, 10));
  await new Promise((done) => setTimeout(done, 50));
  assert.equal(isTold, false);
});

test('a reset or the end of the pool ends the listening', async (t) => {
  const server = await FakeUpstream.open(t, silent);
  const { pool } = openPool(t, [server], { clock, timeoutMs: 1_000 });
  const outcome = await ask(pool, 'a.example');
  assert.equal(outcome.failure, 'timeout');
  assert.equal(pool.listening, 1);
  const heard = server.queries.length;
  pool.reset();
  assert.equal(pool.listening, 0);
  assert.equal((await ask(pool, 'b.example')).failure, 'timeout');
  assert.ok(
    server.queries.slice(heard).every(({ name }) => /^b/i.test(name)),
    'not sent again',
  );
  pool.close();
});

test('listening has an end and a bound', async (t) => {
  const server = await FakeUpstream.open(t, silent);
  let aheadUs = 0;
  const { pool } = openPool(t, [server], {
    clock: { ...systemClock, nowUs: () => systemClock.nowUs() + aheadUs },
    timeoutMs: 500,
  });
  const count = LIMITS.upstreamListenersMax + 100;
  const names = Array.from({ length: count }, (_, at) => `n${String(at)}.example`);
  await Promise.all(names.map((name) => ask(pool, name)));
  assert.equal(pool.listening, LIMITS.upstreamListenersMax);
  aheadUs = LIMITS.upstreamListenMs * 1_000;
  const isListening = (): boolean => pool.listening > 0;
  while (isListening()) await new Promise((done) => setTimeout(done, 10));
  assert.equal(pool.unfinished, 0);
});
