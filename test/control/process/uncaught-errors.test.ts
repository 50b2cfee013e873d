/**
 * Errors that nobody caught: counted, printed once a kind, shown in health; they end nothing.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../../main/contract/limits.ts';
import { UncaughtErrors } from '../../../main/control/process/uncaught-errors.ts';

function setUp() {
  const lines: string[] = [];
  const failures: unknown[] = [];
  const problems: (string | null)[] = [];
  const uncaught = new UncaughtErrors({
    say: (line) => lines.push(line),
    fail: (error) => failures.push(error),
  });
  const listener = { setProblem: (_: string, sentence: string | null) => problems.push(sentence) };
  return { uncaught, lines, failures, problems, listener };
}

function boom(text: string): Error {
  return new Error(text);
}

test('once the program answers, errors of one kind are printed once and all are counted', () => {
  const { uncaught, lines, failures, problems, listener } = setUp();
  uncaught.answers(listener);
  for (let count = 0; count < 50; count++) uncaught.take(boom(`broken ${String(count)}`));
  assert.equal(uncaught.count, 50);
  assert.deepEqual(failures, []);
  assert.match(lines[0] ?? '', /not expected, and DNS goes on: broken 0$/);
  assert.match(lines[1] ?? '', /at boom/);
  assert.equal(lines.filter((line) => line.includes('not expected')).length, 1);
  assert.match(problems.at(-1) ?? '', /50 times, last at .*; DNS goes on: broken 49\./);
  uncaught.take('a text');
  uncaught.take(undefined);
  assert.equal(lines.filter((line) => line.includes('not expected')).length, 3);
});

test('what is printed is bounded, however many kinds there are', () => {
  const { uncaught, lines, listener } = setUp();
  uncaught.answers(listener);
  for (let count = 0; count < 1_000; count++) uncaught.take(`kind ${String(count)}`);
  assert.equal(lines.length, LIMITS.uncaughtKindsMax);
});

test('before it answers an error ends the start, unless handles or memory are short', () => {
  const { uncaught, failures, problems, listener } = setUp();
  uncaught.take(Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' }));
  assert.deepEqual(failures, []);
  const error = boom('broken');
  uncaught.take(error);
  assert.deepEqual(failures, [error]);
  uncaught.answers(listener);
  assert.match(problems[0] ?? '', /2 times/, 'health tells what came before');
});
