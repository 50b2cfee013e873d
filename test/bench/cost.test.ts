/**
 * The garbage of each kind of answer, against the committed result of `npm run bench:cost`: at most
 * 5 % more. Time is not a gate, since it depends on the machine. And what comparing results means.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { makeKinds } from '../../bench/cost/kinds.ts';
import { compareCosts, spreadOf } from '../../bench/cost/result.ts';
import type { CostFigure, CostResult } from '../../bench/cost/result.ts';
import { summarise } from '../../bench/load/cpu-profile.ts';
import { measureAllocation } from '../support/allocation.ts';

const GROWTH_MAX = 1.05;
/** What an operation may allocate even where nothing is committed; as in test/engine. */
const BYTES_FREE = 16;
const RETRIES = 3;
const LISTED = 2_000;

const file = resolve(import.meta.dirname, '../../bench/results/cost.json');
const committed = JSON.parse(readFileSync(file, 'utf8')) as CostResult;
const kinds = await makeKinds(LISTED);

test('the committed result has every kind, each from six runs or more', () => {
  assert.deepEqual(
    committed.kinds.map(({ title }) => title),
    kinds.map(({ title }) => title),
    'run: npm run bench:cost -- --out bench/results',
  );
});

for (const { title, operation } of kinds) {
  test(`${title}: no more garbage than committed`, async (t) => {
    const before = committed.kinds.find((kind) => kind.title === title)?.bytes ?? 0;
    const most = Math.max(before * GROWTH_MAX, BYTES_FREE);
    let { bytesPerCall, places } = await measureAllocation(operation);
    // On a busy machine the optimising compiler may come late; what really allocates does so again.
    for (let retry = 0; retry < RETRIES && bytesPerCall > most; retry++) {
      ({ bytesPerCall, places } = await measureAllocation(operation));
    }
    t.diagnostic(`${bytesPerCall.toFixed(1)} bytes an operation`);
    const text = `${bytesPerCall.toFixed(1)} bytes, at most ${most.toFixed(1)}: ${places.join(', ')}`;
    assert.ok(bytesPerCall <= most, text);
  });
}

function figure(title: string, times: readonly number[], bytes: number): CostFigure {
  return { title, nanoseconds: spreadOf(times), bytes };
}

test('comparing: overlapping spreads are noise, others are a difference', () => {
  const before = {
    kinds: [figure('a', [100, 90, 110], 0), figure('b', [100, 99, 101], 40), figure('c', [1], 0)],
  };
  const after = { kinds: [figure('b', [50, 49, 51], 10), figure('a', [108, 104, 120], 0)] };
  const [a, b, ...others] = compareCosts(before, after);
  assert.deepEqual(others, [], 'what only one has is left out');
  assert.deepEqual([a?.title, a?.isNoise, a?.ratio.median], ['a', true, 1.08]);
  assert.deepEqual([b?.title, b?.isNoise, b?.ratio.median, b?.bytes], ['b', false, 0.5, -30]);
});

test('a profile is summed up by function, without idle time', () => {
  const frame = (functionName: string, url = '', lineNumber = 0): object => ({
    ...{ functionName, url, lineNumber },
  });
  const profile = {
    nodes: [
      { id: 1, callFrame: frame('(idle)') },
      { id: 2, callFrame: frame('handle', 'file:///x/engine.js', 9) },
      { id: 3, callFrame: frame('handle', 'file:///x/engine.js', 9) },
      { id: 4, callFrame: frame('', 'node:dgram', 4) },
    ],
    samples: [1, 2, 3, 4, 2],
    timeDeltas: [900, 100, 100, 100, 100],
  } as unknown as Parameters<typeof summarise>[0];
  const { thread, busySeconds, rows } = summarise(profile);
  assert.deepEqual([thread, busySeconds], ['engine.js', 0.0004]);
  assert.deepEqual(rows, [
    { name: 'handle', place: 'engine.js:10', selfShare: 0.75 },
    { name: '(anonymous)', place: 'node:dgram:5', selfShare: 0.25 },
  ]);
});
