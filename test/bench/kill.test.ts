/** The kill test's plan and what it sums up; the runs themselves are `npm run bench:kill`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RunResult } from '../../bench/kill/inside.ts';
import { killSentence, summarise } from '../../bench/kill/outcome.ts';
import { drawRuns, MOMENTS, VICTIMS } from '../../bench/kill/plan.ts';

test('a seed draws the same runs again, and every pair before any comes twice', () => {
  const all = VICTIMS.length * MOMENTS.length;
  const runs = drawRuns(7, all + 5);
  assert.deepEqual(drawRuns(7, all + 5), runs);
  assert.notDeepEqual(drawRuns(8, all + 5), runs);
  const pairs = runs.slice(0, all).map(({ victim, moment }) => `${victim} ${moment}`);
  assert.equal(new Set(pairs).size, all);
});

test('longest times by who gave back; a run without an answer counts as failed', () => {
  const run = (rest: Partial<RunResult>): RunResult => ({
    ...{ flavour: 'networkmanager', victim: 'app killed', moment: 'running', index: 0 },
    ...{ by: 'guardian', resolvedMs: 100, restoredMs: 150, failure: '' },
    ...rest,
  });
  const outcome = summarise(
    [
      run({}),
      run({ resolvedMs: 300, restoredMs: 900, by: 'next start' }),
      run({ resolvedMs: 400, restoredMs: null, by: 'app', flavour: 'resolvconf' }),
      run({ resolvedMs: NaN, restoredMs: null, failure: 'no name was found' }),
    ],
    7,
  );
  assert.deepEqual(
    [outcome.runs, outcome.failed, outcome.failures.length, outcome.seed],
    [4, 1, 1, 7],
  );
  assert.deepEqual(
    [outcome.resolvedMsMost, outcome.restoredMsMost, outcome.nextStartMsMost],
    [400, 150, 900],
  );
  assert.deepEqual(
    outcome.owners.map(({ owner, runs, failed }) => [owner, runs, failed]),
    [
      ['networkmanager', 3, 1],
      ['resolvconf', 1, 0],
    ],
  );
  assert.match(
    killSentence(outcome, 'npm run it'),
    /^Kill test: 4 runs .* 1 failed\. .*`npm run it`/,
  );
});
