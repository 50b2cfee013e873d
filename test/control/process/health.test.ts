/**
 * Health: what makes the program degraded, in plain sentences, and when that is over.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ListStatus } from '../../../main/contract/methods/methods.ts';
import { Health, LATELY_MS, type HealthInput } from '../../../main/control/process/health.ts';
import { NO_UPDATES } from '../../support/list-news.ts';
import { FakeClock, FakeLog, FakePlane } from '../fakes.ts';

const log = new FakeLog().state;

function list(values: Partial<ListStatus>): ListStatus {
  return {
    ...{ name: 'L', url: 'https://l.example/', format: 'auto', enabled: true, names: 0 },
    ...{ ignored: [], updatedAtMs: null, checkedAtMs: 1, state: 'ok', error: '' },
    ...NO_UPDATES,
    ...values,
  };
}

function report(health: Health, input: Partial<HealthInput> = {}) {
  return health.report({ log, lists: [], blockedNames: 1, lastDenied: '', ...input });
}

test('well without problems', () => {
  assert.deepEqual(report(new Health(new FakeClock())), {
    ...{ health: 'ok', degradedReasons: [], notices: [] },
  });
});

test('upstreams of which none ever answered are told after two failures', () => {
  const clock = new FakeClock();
  const health = new Health(clock);
  const { counts } = new FakePlane();
  health.sample({ ...counts, failed: 0, upstreamAnswered: 0 });
  clock.advance(5_000);
  health.sample({ ...counts, failed: 2, upstreamAnswered: 0 });
  assert.match(report(health).degradedReasons.join(), /No upstream server answered .* 2 questions/);
});

test('upstreams that all fail for a while, and their recovery', () => {
  const clock = new FakeClock();
  const health = new Health(clock);
  const { counts } = new FakePlane();
  const after = (ms: number, failed: number, upstreamAnswered: number) => {
    clock.advance(ms);
    health.sample({ ...counts, failed, upstreamAnswered });
    return report(health).degradedReasons;
  };
  assert.deepEqual(after(0, 10, 100), [], 'failures before the first sample do not count');
  assert.deepEqual(after(5_000, 12, 100), [], 'two failures may be anything');
  assert.deepEqual(after(5_000, 13, 100), [
    'No upstream server answered in the last minute; 3 questions failed.',
  ]);
  assert.deepEqual(after(5_000, 20, 101), [], 'one answer ends it');
  for (let at = 0; at < LATELY_MS; at += 5_000) after(5_000, 20, 101);
  assert.equal(after(5_000, 25, 101).length, 1);
  for (let at = 0; at < LATELY_MS; at += 5_000) after(5_000, 25, 101);
  assert.deepEqual(after(5_000, 25, 101), [], 'without questions nothing is known to fail');
});

test('a degraded log tells its reasons, and one without reasons says so itself', () => {
  const health = new Health(new FakeClock());
  const degraded = { ...log, state: 'degraded' } as const;
  const told = report(health, { log: { ...degraded, reasons: ['The disk is full.'] } });
  assert.deepEqual(told.degradedReasons, ['The disk is full.']);
  assert.equal(report(health, { log: degraded }).degradedReasons.length, 1);
});

test('a failing list degrades only while nothing is blocked', () => {
  const health = new Health(new FakeClock());
  const failed = list({ state: 'failed', error: 'status 404' });
  const alone = report(health, { lists: [failed], blockedNames: 0 });
  assert.deepEqual(alone.degradedReasons, ['Nothing is blocked: the list "L" failed: status 404.']);
  const beside = report(health, { lists: [failed], blockedNames: 5 });
  assert.deepEqual(
    [beside.health, beside.notices],
    ['ok', ['The list "L" is not in use: status 404.']],
  );
  const old = report(health, { lists: [{ ...failed, updatedAtMs: 1 }], blockedNames: 5 });
  assert.match(old.notices[0] ?? '', /last good copy is in use: status 404\./);
  const off = report(health, { lists: [{ ...failed, enabled: false }], blockedNames: 0 });
  assert.equal(off.health, 'ok');
});

test('a fault of the data plane is shown for ten minutes', () => {
  const clock = new FakeClock();
  const health = new Health(clock);
  health.fault('data-plane thread 1 ended and is started again: boom');
  assert.equal(report(health).health, 'degraded');
  clock.advance(11 * 60_000);
  assert.equal(report(health).health, 'ok');
});

test('problems and notices come and go by name, and are bounded', () => {
  const health = new Health(new FakeClock());
  health.setProblem('http', 'The HTTP door is closed.');
  health.setNotice('restart', 'Later.');
  assert.deepEqual(report(health).degradedReasons, ['The HTTP door is closed.']);
  health.setProblem('http', null);
  health.setNotice('restart', null);
  assert.equal(report(health).health, 'ok');
  for (let index = 0; index < 100; index++) health.setProblem(String(index), 'x.');
  assert.equal(report(health).degradedReasons.length, 32);
});

test('dropped log records are told while they are recent', () => {
  const clock = new FakeClock();
  const health = new Health(clock);
  const { counts } = new FakePlane();
  health.sample(counts);
  clock.advance(5_000);
  health.sample({ ...counts, logDropped: 42 });
  assert.match(report(health).notices[0] ?? '', /^42 log records were dropped/);
});
