/** What the command line says of times. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Status } from '../../../main/contract/methods/methods.ts';
import type { QueryEvent } from '../../../main/contract/query-event.ts';
import { rowText, statusText } from '../../../main/api/cli/text.ts';

const NONE = { p50Us: 0, p95Us: 0, p99Us: 0, p999Us: 0 };

function latencyOf(local: typeof NONE, upstream: typeof NONE): string {
  const status = {
    ...{ version: '1', health: 'ok', degradedReasons: [], notices: [], listening: [] },
    ...{ upstreams: [], blockedNames: 0, startedAtMs: 0, memory: { rssBytes: 0 } },
    totals: {
      ...{ queries: 4, blocked: 0, cached: 0, stale: 0 },
      ...{ forwarded: 4, failed: 0, denied: 0, logDropped: 0 },
    },
    protection: { state: 'on', resumesAtMs: null },
    takeover: { state: 'off' },
    log: { mode: 'full', state: 'ok', stored: 0, bytes: 0 },
    latency: { local, upstream },
  } as unknown as Status;
  return /latency +(.*)/.exec(statusText(status))?.[1] ?? '';
}

test('status shows the latency that was measured', () => {
  const slow = { ...NONE, p50Us: 12_000, p99Us: 40_000 };
  const fast = { ...NONE, p50Us: 40, p99Us: 180 };
  assert.equal(latencyOf(NONE, NONE), 'n/a');
  assert.equal(latencyOf(NONE, slow), 'forwarded p50 12.0 ms, p99 40.0 ms');
  assert.equal(
    latencyOf(fast, slow),
    'answered locally p50 40 µs, p99 180 µs; forwarded p50 12.0 ms, p99 40.0 ms',
  );
});

test('a row names its client, with the address', () => {
  const row = { outcome: 'cached', typeName: 'A', name: 'a.example', client: '::1', durationUs: 9 };
  const text = rowText({ ...row, timeMs: 0, clientName: 'Desk' } as QueryEvent);
  assert.match(text, /a\.example {2}Desk \(::1\) {2}9/);
});

test('a row of another day names the day', () => {
  const row = {
    outcome: 'cached',
    typeName: 'A',
    name: 'a.example',
    client: '::1',
    durationUs: 9,
    clientName: '',
  };
  const textAt = (timeMs: number): string => rowText({ ...row, timeMs } as QueryEvent);
  assert.match(textAt(Date.now()), /^\d\d:\d\d:\d\d\.\d{3} cached/);
  assert.match(
    textAt(Date.now() - 3 * 86_400_000),
    /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} cached/,
  );
});
