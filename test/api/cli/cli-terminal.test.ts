/**
 * Whatever lists, servers and clients send, what the command line prints steers no terminal.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../../../main/contract/errors.ts';
import type { ListStatus } from '../../../main/contract/methods/methods.ts';
import { runCli } from '../../../main/api/cli/cli.ts';
import { Printer } from '../../../main/control/process/printer.ts';
import { NO_UPDATES } from '../../support/list-news.ts';
import { openDoors } from '../open-doors.ts';

/** Clears the screen, sets the title, turns the text round, and fakes a line. */
const EVIL = '\u001b[2J\u001b]0;x\u0007\u009b31m\u202eabc\u2066\r\nsluice: all is well\u0000';

// eslint-disable-next-line no-control-regex -- what must not be there
const UNSAFE = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

test('texts and errors with bytes of others are clean, and break no lines', async (t) => {
  const doors = await openDoors(t);
  const { service, lists, folder } = doors;
  const list: ListStatus = {
    ...{ name: 'Starter', format: 'auto', enabled: true, names: 0 },
    ...{ updatedAtMs: null, checkedAtMs: 1 },
    ...NO_UPDATES,
    ...{ url: '', error: '', state: 'failed', ignored: [] },
  };
  lists.statuses = () => [
    {
      ...list,
      url: `https://x.example/${EVIL}`,
      error: `the server said ${EVIL}`,
      ignored: [{ reason: `not ${EVIL}`, lines: 1, examples: [EVIL] }],
    },
  ];
  service.setProblem('test', `A header says ${EVIL}`);
  service.setNotice('test', EVIL);
  const run = async (...argv: string[]) => {
    let out = '';
    const output = { out: (text: string) => (out += text), err: (text: string) => (out += text) };
    await runCli(['--data-dir', folder, ...argv], output);
    return out;
  };
  const commands = [
    ['status'],
    ['lists'],
    ['lists', 'show', 'Starter'],
    ['lists', 'show', EVIL],
    ['check', EVIL],
    ['rules', 'add', EVIL],
    ['policies', 'remove', EVIL],
    ['records', 'remove', EVIL],
    ['import', `/no/${EVIL}`],
    ['call', EVIL],
    [EVIL],
    ['status', `--${EVIL}`],
    ['pause', EVIL],
    ['lists', 'add', EVIL, EVIL],
  ];
  for (const command of commands) {
    for (const flags of [[], ['--json']]) {
      const out = await run(...flags, ...command.map((part) => part.replaceAll('\0', '')));
      assert.doesNotMatch(out, UNSAFE, `${command.join(' ')}: ${JSON.stringify(out)}`);
      assert.doesNotMatch(out, /^sluice: all is well/m, command.join(' '));
    }
  }
  assert.match(await run('status'), /A header says \ufffd\[2J/);
});

test('rows of the log are clean in every field', async (t) => {
  const { service, clock, folder, controlDoor } = await openDoors(t);
  let out = '';
  const tail = runCli(['--data-dir', folder, 'tail'], {
    out: (text) => (out += text),
    err: (text) => (out += text),
  });
  const depth = async () =>
    (await service.call('status', {})).queues.find(({ name }) => name === 'live subscribers')
      ?.depth;
  while ((await depth()) !== 1) await new Promise((resolve) => setTimeout(resolve, 5));
  const row = { timeMs: 0, outcome: 'blocked', typeName: 'A', durationUs: 1 };
  const fields = { name: EVIL, client: EVIL, list: EVIL, matchedName: EVIL };
  service.rowsLogged([{ ...row, ...fields } as never], 0);
  clock.advance(250);
  while (!out.includes('blocked')) await new Promise((resolve) => setTimeout(resolve, 5));
  await controlDoor.close();
  await tail;
  assert.doesNotMatch(out, UNSAFE);
  assert.equal(out.trimEnd().split('\n').length, 1, JSON.stringify(out));
});

test('lines of progress and the ready line are clean', (t) => {
  const written: string[] = [];
  for (const stream of [process.stdout, process.stderr]) {
    t.mock.method(stream, 'write', (text: string) => {
      written.push(text);
      return true;
    });
  }
  const printer = new Printer();
  printer.say(new AppError('LIST_UNREACHABLE', `it said ${EVIL}`).message);
  printer.tell(EVIL);
  t.mock.restoreAll();
  const lines = written.filter((text) => text.includes('[2J'));
  assert.equal(lines.length, 2);
  for (const line of lines) {
    assert.doesNotMatch(line, UNSAFE);
    assert.equal(line.indexOf('\n'), line.length - 1);
  }
});
