/** The hostile test's own honesty: what counts as failed, and what is said of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drawer, expect, runCase, type Setting } from '../../bench/hostile/case.ts';
import { hostileSentence, summarise } from '../../bench/hostile/outcome.ts';

const setting: Setting = { seed: 1, isShort: true, draw: drawer(1), say: () => undefined };
const asked = { questions: () => ({ sent: 4, answered: 3, wrong: 0, worstGapMs: 70 }) };

test('a case in which nothing was asked, or nothing answered, has failed', async () => {
  const silent = await runCase('a', setting, () => Promise.resolve());
  assert.equal(silent.failure, 'no question was sent');
  const unheard = await runCase('b', setting, (_, tell) => {
    tell({ questions: () => ({ sent: 3, answered: 0, wrong: 0, worstGapMs: null }) });
    return Promise.resolve();
  });
  assert.equal(unheard.failure, 'no question was answered');
});

test('a criterion that is not met is the failure, with the questions until then', async () => {
  const result = await runCase('c', setting, (_, tell) => {
    tell(asked);
    expect(1 + 1 === 3, 'arithmetic');
    return Promise.resolve();
  });
  assert.deepEqual([result.failure, result.sent, result.answered], ['arithmetic', 4, 3]);
});

test('sums count kills as runs, and the worst gap of all', async () => {
  const storm = await runCase('d', setting, (_, tell) => {
    tell({ ...asked, figures: () => ({ kills: 160 }) });
    return Promise.resolve();
  });
  const other = { ...storm, figures: {}, worstGapMs: 90, failure: 'x' };
  const part = summarise({ name: 'storm', criterion: 'none' }, [storm, other], 12.4);
  assert.deepEqual(
    [part.runs, part.failed, part.questionsSent, part.worstGapMs, part.seconds],
    [161, 1, 8, 90, 12],
  );
  assert.equal(
    hostileSentence({ seed: 5, parts: [part], failed: 1 }, 'npm run test:hostile'),
    'Hostile test of the built program: storm: 161 runs, 1 failed, 6 of 8 questions answered, ' +
      'never longer than 90 ms without an answer. Seed 5, `npm run test:hostile`.',
  );
});
