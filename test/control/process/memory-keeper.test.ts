/** The memory keeper: when it collects, when it trims, and when it leaves the process alone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryKeeper } from '../../../main/control/process/memory-keeper.ts';

const MIB = 1024 * 1024;

function watched() {
  const process = { bytes: 100 * MIB, did: [] as string[] };
  const keeper = new MemoryKeeper({
    collect: () => process.did.push('collect'),
    trim: () => {
      process.did.push('trim');
      process.bytes -= MIB;
    },
    resident: () => process.bytes,
  });
  return { process, keeper };
}

test('a start or compilation that is over is followed by one collection', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const { process, keeper } = watched();
  keeper.start();
  t.mock.timers.tick(1_500);
  keeper.settle();
  t.mock.timers.tick(1_500);
  assert.deepEqual(process.did, [], 'a second one puts it off');
  t.mock.timers.tick(500);
  assert.deepEqual(process.did, ['collect', 'trim']);
  t.mock.timers.tick(60_000);
  assert.equal(process.did.length, 2, 'a process that does not grow is left alone');
});

test('a process that has grown is trimmed, once for each growth', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const { process, keeper } = watched();
  keeper.start();
  t.mock.timers.tick(2_000);
  process.did.length = 0;
  process.bytes += 3 * MIB;
  t.mock.timers.tick(20_000);
  assert.deepEqual(process.did, [], 'a little is not worth it');
  process.bytes += 3 * MIB;
  t.mock.timers.tick(20_000);
  assert.deepEqual(process.did, ['trim']);
});
