/** How the load tools judge what they measured (bench/load). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertSent } from '../../bench/load/dnsperf.ts';
import { lastThirdOverFirst, slopePerMinute } from '../../bench/load/slope.ts';
import { failuresOf } from '../../bench/load/soak.ts';
import { breakOf, kneeOf, sameCeiling, saturatedResource } from '../../bench/load/verdict.ts';
import type { Step } from '../../bench/load/verdict.ts';

const SECONDS = 10;

function step(change: Partial<Step>): Step {
  return {
    path: 'blocked',
    offered: 1_000,
    sent: 10_000,
    answered: 10_000,
    qps: 1_000,
    clientP50Us: 100,
    clientP99Us: 400,
    engineP50Us: 3,
    engineP99Us: 9,
    cpuSeconds: 1,
    busiestThread: 0.1,
    machineBusy: 0.3,
    rssBytes: 1e8,
    anonymousBytes: 5e7,
    logDropped: 0,
    socketDropped: 0,
    pendingDropped: 0,
    ...change,
  };
}

test('a step breaks by loss, by latency, or when the rate is not reached', () => {
  assert.equal(breakOf(step({}), SECONDS), null);
  assert.equal(breakOf(step({ answered: 9_989 }), SECONDS), 'loss');
  assert.equal(breakOf(step({ clientP99Us: 5_001 }), SECONDS), 'latency');
  assert.equal(
    breakOf(step({ sent: 9_000, answered: 9_000 }), SECONDS),
    'offered rate not reached',
  );
});

test('the knee is the last step that held', () => {
  const steps = [
    step({ qps: 1_000 }),
    step({ offered: 2_000, sent: 20_000, answered: 20_000, qps: 2_000 }),
    step({ offered: 4_000, sent: 40_000, answered: 30_000, qps: 3_000, busiestThread: 0.97 }),
  ];
  const knee = kneeOf(steps, SECONDS);
  assert.deepEqual(knee, {
    path: 'blocked',
    qps: 2_000,
    broke: 'loss',
    saturated: 'data-plane thread (one core)',
  });
});

test('the saturated resource is the first that was used up', () => {
  assert.match(saturatedResource(step({ machineBusy: 0.99 })), /CPU of the machine/);
  assert.match(saturatedResource(step({ pendingDropped: 1 })), /in flight/);
  assert.match(saturatedResource(step({ socketDropped: 1 })), /receive buffer/);
  assert.match(saturatedResource(step({ logDropped: 1 })), /log writer/);
  assert.match(saturatedResource(step({})), /waits/);
});

test('one ceiling on several paths with idle CPU is flagged, and only that', () => {
  const knee = (qps: number): ReturnType<typeof kneeOf> => ({
    path: 'x',
    qps,
    broke: 'loss',
    saturated: '',
  });
  const idle = step({ busiestThread: 0.2, machineBusy: 0.3 });
  const busy = step({ busiestThread: 0.95, machineBusy: 0.9 });
  assert.equal(sameCeiling([knee(500), knee(520)], [idle, idle]), true);
  assert.equal(sameCeiling([knee(500), knee(5_000)], [idle, idle]), false);
  assert.equal(sameCeiling([knee(500), knee(520)], [busy, busy]), false);
  assert.equal(sameCeiling([{ ...knee(500), broke: 'nothing' }, knee(520)], [idle, idle]), false);
});

test('a generator that sent nothing is an error that says so', () => {
  assert.throws(() => assertSent(0, 5_000, ''), /sent 0, expected 5000/);
  assert.doesNotThrow(() => assertSent(1, 5_000, ''));
});

test('a climb is told from a sawtooth', () => {
  const climb = Array.from({ length: 60 }, (_, at) => ({ atSeconds: at, bytes: 1e8 + at * 1e5 }));
  const teeth = Array.from({ length: 60 }, (_, at) => ({
    atSeconds: at,
    bytes: 1e8 + (at % 10) * 1e6,
  }));
  assert.equal(Math.round(slopePerMinute(climb)), 6_000_000);
  assert.ok(slopePerMinute(teeth) < slopePerMinute(climb) / 3);
  assert.ok(lastThirdOverFirst(climb) > 1.03);
  assert.equal(lastThirdOverFirst(teeth), 1);
});

test('a soak fails by name: too few sent, lost, wrong, climbing', () => {
  const good = {
    seconds: 10,
    rate: 100,
    sent: 1_000,
    answered: 1_000,
    wrongRcodes: 0,
    p50Us: 1,
    p99Us: 1,
    rss: { firstBytes: 1, minBytes: 1, maxBytes: 1, lastBytes: 1 },
    slopeBytesPerMinute: 0,
    lastThirdOverFirst: 1,
    cpuSecondsPerMillion: 1,
    logDropped: 0,
  };
  assert.deepEqual(failuresOf(good), []);
  assert.match(failuresOf({ ...good, sent: 900 })[0] ?? '', /sent 900, expected 1000/);
  assert.match(failuresOf({ ...good, answered: 990 })[0] ?? '', /answered 990 of 1000/);
  assert.match(failuresOf({ ...good, wrongRcodes: 3 })[0] ?? '', /3 wrong answers/);
  const climbing = { ...good, slopeBytesPerMinute: 2e6, lastThirdOverFirst: 1.2 };
  assert.match(failuresOf(climbing)[0] ?? '', /memory climbs/);
});
