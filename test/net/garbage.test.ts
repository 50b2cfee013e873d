/**
 * The memory that starting took comes back.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectStartGarbage } from '../../main/net/garbage.ts';

test('garbage is collected at once', () => {
  const kept = new WeakRef(Array.from({ length: 1_000_000 }, (_, index) => ({ index })));
  const { heapUsed } = process.memoryUsage();
  return new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
    collectStartGarbage();
    assert.equal(kept.deref(), undefined);
    assert.ok(process.memoryUsage().heapUsed < heapUsed - 10_000_000);
  });
});
