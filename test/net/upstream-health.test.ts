/**
 * What makes a server down and up again, and how long it is waited for; on invented time.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UpstreamHealth } from '../../main/net/upstream-health.ts';

const MS = 1_000;
const SECOND = 1_000_000;

test('the hedge delay follows the measured round trip within its bounds', () => {
  const health = new UpstreamHealth();
  assert.equal(health.hedgeUs, 150 * MS);
  assert.equal(health.resendUs, 400 * MS);
  for (let index = 0; index < 50; index++) health.answered(20 * MS, index * SECOND);
  assert.equal(health.hedgeUs, 150 * MS);
  for (let index = 50; index < 100; index++) health.answered(240 * MS, index * SECOND);
  assert.ok(health.hedgeUs > 200 * MS && health.hedgeUs < 500 * MS, String(health.hedgeUs));
  for (let index = 100; index < 150; index++) health.answered(1_500 * MS, index * SECOND);
  assert.equal(health.hedgeUs, 500 * MS);
});

test('silence makes it down, unless it has answered something since', () => {
  const health = new UpstreamHealth();
  health.answered(20 * MS, 10 * SECOND);
  assert.equal(health.missed(9 * SECOND, 11 * SECOND), false);
  assert.equal(health.isDown, false);
  assert.equal(health.missed(10.5 * SECOND, 11 * SECOND), true);
  assert.equal(health.isDown, true);
  assert.equal(health.answered(900 * MS, 12 * SECOND), true);
  assert.equal(health.isDown, false);
});

test('probes come after 1, 2, 4 ... 30 seconds; many questions in one silence are one failure', () => {
  const health = new UpstreamHealth();
  let nowUs = 100 * SECOND;
  assert.equal(health.takesProbe(nowUs), false);
  for (let index = 0; index < 1_000; index++) health.missed(nowUs - 400 * MS, nowUs);
  const waitsSeconds: number[] = [];
  for (let probe = 0; probe < 8; probe++) {
    const fromUs = nowUs;
    while (!health.takesProbe(nowUs)) nowUs += 100 * MS;
    assert.equal(health.takesProbe(nowUs), false);
    waitsSeconds.push(Math.round((nowUs - fromUs) / SECOND));
    health.missed(nowUs, nowUs + 1);
  }
  assert.deepEqual(waitsSeconds, [1, 2, 4, 8, 16, 30, 30, 30]);
});
