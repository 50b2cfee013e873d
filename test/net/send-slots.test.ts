/**
 * The pool of send buffers: none is given out while a socket may still read it.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SendSlots } from '../../main/net/send-slots.ts';
import type { SendSlot } from '../../main/net/send-slots.ts';
import { TestCounters } from '../support/net-fakes.ts';

test('buffers in flight are all different and bounded; a sent one is used again', () => {
  const counters = new TestCounters();
  const slots = new SendSlots(64, 3, counters);
  const taken = [slots.take(), slots.take(), slots.take()] as SendSlot[];
  assert.equal(new Set(taken.map(({ bytes }) => bytes)).size, 3);
  assert.equal(slots.take(), null);
  assert.equal(slots.away, 3);
  taken[1]?.sent(null);
  assert.equal(slots.take(), taken[1]);
  assert.equal(counters.get('sendFailed'), 0);
  taken[2]?.sent(new Error('network is unreachable'));
  assert.equal(counters.get('sendFailed'), 1);
  taken[0]?.sent(null);
  assert.equal(slots.away, 1);
});
