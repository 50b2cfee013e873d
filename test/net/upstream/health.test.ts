/**
 * What makes a server down and up again, and how long it is waited for; on invented time.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RANK_SLOW, RANK_UP, UpstreamHealth } from '../../../main/net/upstream/health.ts';

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

test('one slow name changes neither the rank nor much of the time', () => {
  const health = new UpstreamHealth();
  for (let index = 0; index < 20; index++) health.answered(20 * MS, index * SECOND);
  for (const tookMs of [2_400, 5_500]) health.answered(tookMs * MS, 30 * SECOND);
  assert.equal(health.rank, RANK_UP);
  assert.ok(health.roundTripUs < 150 * MS, String(health.roundTripUs));
  health.answered(20 * MS, 31 * SECOND);
  health.answered(20 * MS, 31 * SECOND);
  assert.ok(health.roundTripUs < 90 * MS, String(health.roundTripUs));
});

test('a server that was slow at first is believed to be quick after some quick answers', () => {
  const health = new UpstreamHealth();
  health.answered(1_500 * MS, SECOND);
  assert.equal(health.rank, RANK_SLOW);
  for (let index = 0; index < 7; index++) health.answered(20 * MS, 2 * SECOND);
  assert.equal(health.rank, RANK_UP);
});

/** A server that was silent about these zones while another answered, every 0.7 s. */
function silentFor(zones: readonly string[]): UpstreamHealth {
  const health = new UpstreamHealth();
  health.answered(20 * MS, 10 * SECOND);
  zones.forEach((zone, index) => {
    const sentUs = (11 + 0.7 * index) * SECOND;
    health.missed(zone, sentUs);
    health.outdone(zone, sentUs, sentUs + 150 * MS);
  });
  return health;
}

test('silence for one zone, however often, makes no server down', () => {
  const health = silentFor(Array.from({ length: 100 }, () => 'dead.example'));
  assert.equal(health.isDown, false);
  assert.equal(health.isInDoubt, true);
  assert.equal(health.isSilentAt(200 * SECOND), false);
  assert.equal(silentFor(['dead.example', 'lame.example']).isDown, false);
});

test('silence for several zones that others answer for makes it down once it has lasted', () => {
  const health = new UpstreamHealth();
  for (const zone of ['a', 'b', 'c', 'd', 'e', 'f']) {
    health.missed(zone, SECOND);
    health.outdone(zone, SECOND, 1.15 * SECOND);
  }
  assert.equal(health.isDown, false, 'a satellite is as slow');
  assert.equal(health.isInDoubt, true);
  assert.equal(health.outdone('a', SECOND, 2.6 * SECOND), true);
  assert.equal(health.isDown, true);
});

test('what nobody answers makes no server down; of many zones it is a sign of being offline', () => {
  const health = new UpstreamHealth();
  for (const zone of ['a', 'b', 'c', 'd']) health.missed(zone, SECOND);
  assert.equal(health.isSilentAt(100 * SECOND), false, 'four zones');
  health.missed('e', 2 * SECOND);
  assert.equal(health.isDown, false);
  assert.equal(health.isInDoubt, true);
  assert.equal(health.isSilentAt(3.9 * SECOND), false);
  assert.equal(health.isSilentAt(4 * SECOND), true);
});

test('the first reply ends it, and silence of what was asked before that says nothing', () => {
  const health = silentFor(['a', 'b', 'c', 'd', 'e', 'f']);
  assert.equal(health.isDown, true);
  assert.equal(health.isSilentAt(20 * SECOND), true);
  assert.equal(health.answered(5_500 * MS, 21 * SECOND), true);
  assert.equal(health.isDown, false);
  assert.equal(health.isInDoubt, false);
  health.missed('g', 20.9 * SECOND);
  assert.equal(health.outdone('g', 20.9 * SECOND, 22 * SECOND), false);
  assert.equal(health.isInDoubt, false);
});

test('a closed port makes it down at once; the system having no route is told apart', () => {
  const health = new UpstreamHealth();
  health.answered(20 * MS, 10 * SECOND);
  assert.equal(health.failed('server', 9 * SECOND, 11 * SECOND), false);
  assert.equal(health.isDown, false, 'it has answered something since');
  assert.equal(health.failed('server', 11 * SECOND, 11 * SECOND), true);
  assert.equal(health.isDown, true);
  assert.equal(health.isCutOff, false);
  health.failed('network', 12 * SECOND, 12 * SECOND);
  assert.equal(health.isCutOff, true);
  health.answered(20 * MS, 13 * SECOND);
  assert.equal(health.rank, RANK_UP);
});

test('probes come after 1, 2, 4 ... 30 seconds, however many questions meet with silence', () => {
  const health = new UpstreamHealth();
  let nowUs = 100 * SECOND;
  assert.equal(health.takesProbe(nowUs), false);
  for (let index = 0; index < 1_000; index++)
    health.outdone(`z${String(index)}`, nowUs - 2e6, nowUs);
  const waitsSeconds: number[] = [];
  for (let probe = 0; probe < 8; probe++) {
    const fromUs = nowUs;
    while (!health.takesProbe(nowUs)) nowUs += 100 * MS;
    assert.equal(health.takesProbe(nowUs), false);
    waitsSeconds.push(Math.round((nowUs - fromUs) / SECOND));
    health.outdone('z', nowUs, nowUs + 1);
  }
  assert.deepEqual(waitsSeconds, [1, 2, 4, 8, 16, 30, 30, 30]);
});
