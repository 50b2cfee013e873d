/**
 * A table is in memory once: those before it are let go, also by threads that allocate nothing and
 * so would never collect them.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { DataPlane } from '../../main/dataplane/data-plane.ts';
import type { PolicyMessage } from '../../main/dataplane/messages.ts';
import type { RuleBuffers } from '../../main/engine/filter/rule-set.ts';
import { parseList } from '../../main/lists/compile/parse-list.ts';
import { RuleSetBuilder } from '../../main/lists/compile/rule-set-builder.ts';
import { compileRules } from '../../main/lists/compile/rules.ts';
import { LogRing } from '../../main/log/ring.ts';
import { collectStartGarbage } from '../../main/net/garbage.ts';
import { loadUdpAddon } from '../../main/net/native/native-udp-addon.ts';
import { trimMemory, limitArenas } from '../../main/net/native/process-memory.ts';

const TABLES = 8;
const DEADLINE_MS = 10_000;

/** About 16 MiB, for few names. */
function largeTable(round: number): RuleBuffers {
  const filler = Array.from({ length: 3 }, () => 'x'.repeat(63)).join('.');
  const lines = Array.from(
    { length: 64_000 },
    (_, index) => `n${String(index)}.${filler}.example\n`,
  );
  const builder = new RuleSetBuilder();
  builder.beginList(1);
  parseList(new Uint8Array(Buffer.from(lines.join(''))), { format: 'domains' }, builder);
  return builder.finish(new Uint8Array(32).fill(round));
}

function policy(version: number): PolicyMessage {
  return {
    version,
    filtering: true,
    blockingAnswer: 'null-address',
    blockingTtlSeconds: 10,
    rules: compileRules([]),
    lists: largeTable(version),
    cache: {
      entriesMax: 1_000,
      ttlMinSeconds: 0,
      ttlMaxSeconds: 86_400,
      staleSecondsMax: 0,
      staleOff: [],
      prefetch: true,
      persist: false,
    },
    rebinding: { enabled: false, sharedSpace: false, allow: [] },
    access: { allow: [{ bytes: new Uint8Array(16), bits: 0 }], exempt: [], queriesPerSecond: 0 },
    logMode: 'full',
  };
}

const { addon, reason } = loadUdpAddon({});
const skip = addon === null ? `freed memory stays with the process: ${reason}` : false;

test('memory after many tables is that of one', { skip }, async (t) => {
  limitArenas();
  const faults: string[] = [];
  const plane = await DataPlane.start({
    listen: ['127.0.0.1:0'],
    upstreams: ['127.0.0.1:9'],
    threads: 1,
    rings: [LogRing.createBuffer(1_024)],
    policy: policy(1),
    onFault: (reason) => faults.push(reason),
  });
  t.after(() => plane.close());
  collectStartGarbage();
  trimMemory();
  const before = process.memoryUsage.rss();
  let tableBytes = 0;
  for (let version = 2; version <= TABLES; version++) {
    const next = policy(version);
    tableBytes = next.lists.table.byteLength;
    plane.setPolicy(next);
    await plane.upstreamStates(); // the thread has read what was posted before
  }
  t.diagnostic(`before ${String(before)}, table ${String(tableBytes)}`);
  const bound = before + tableBytes * 3;
  const giveUpAt = performance.now() + DEADLINE_MS;
  let resident = Infinity;
  while (resident > bound && performance.now() < giveUpAt) {
    await wait(200); // the thread collects a while after the last table
    collectStartGarbage();
    trimMemory();
    resident = process.memoryUsage.rss();
  }
  assert.deepEqual(faults, []);
  assert.ok(resident <= bound, `${String(resident)} bytes, more than ${String(bound)}`);
});
