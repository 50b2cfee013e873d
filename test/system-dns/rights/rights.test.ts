/** Rights of the ladder: what is run is what is shown, and a refusal is told in plain words. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { AppError } from '../../../main/contract/errors.ts';
import { CommandError, type RunCommand } from '../../../main/system/command.ts';
import {
  portLadder,
  type LadderFacts,
  type Rung,
} from '../../../main/system-dns/rights/port-ladder.ts';
import { changeRight, rightCommand } from '../../../main/system-dns/rights/rights.ts';

const FACTS: LadderFacts = {
  ...{ lowestFreePort: 1024, isRoot: false, mayBind: false, ownerTakesPort: true },
  ...{ hasSystemd: true, isService: false, hasRule: false, hasLowPorts: false },
  ...{ userName: "o'neil", command: 'node headless.js', changeable: '', installer: '' },
};

function rungOf(id: Rung['id'], facts: Partial<LadderFacts> = {}): Rung {
  const rung = portLadder({ ...FACTS, ...facts }).find((one) => one.id === id);
  assert.ok(rung);
  return rung;
}

const nobody: RunCommand = () => Promise.reject(new Error('nothing may be run'));
const refused = (text: string) => (error: unknown) =>
  error instanceof AppError && error.code === 'RIGHT_REFUSED' && error.message.includes(text);

test('what is offered follows from what is there', () => {
  assert.equal(rungOf('low-ports').offers, 'install');
  assert.equal(rungOf('low-ports', { hasLowPorts: true }).offers, 'remove');
  assert.equal(rungOf('low-ports', { isRoot: true }).offers, '');
  assert.equal(rungOf('no-password').offers, 'install');
  assert.equal(rungOf('no-password', { hasRule: true }).offers, 'remove');
  assert.equal(rungOf('service').offers, '');
  assert.equal(rungOf('allowed').offers, '');
});

test('one question for a password, then the lines that were shown, without sudo', async () => {
  const asked: string[][] = [];
  const run: RunCommand = (file, args) => {
    asked.push([file, ...args]);
    return Promise.resolve('');
  };
  const rung = rungOf('low-ports');
  await changeRight(rung, 'install', run);
  await changeRight(rungOf('low-ports', { hasLowPorts: true }), 'remove', run);
  assert.deepEqual(asked, [
    ['pkexec', '/bin/sh', '-ec', rung.installs.replaceAll('sudo ', '')],
    ['pkexec', '/bin/sh', '-ec', rung.undo.replaceAll('sudo ', '')],
  ]);
});

test('the lines are a script that a shell can read, also with an odd user name', () => {
  for (const id of ['low-ports', 'no-password'] as const) {
    for (const change of ['install', 'remove'] as const) {
      const script = rightCommand(rungOf(id), change).at(-1) ?? '';
      assert.ok(!script.includes('sudo'), script);
      const { status, stderr } = spawnSync('/bin/sh', ['-n', '-c', script]);
      assert.equal(status, 0, `${script}\n${stderr.toString()}`);
    }
  }
});

test('what is not offered is not run', async () => {
  await assert.rejects(changeRight(rungOf('service'), 'install', nobody), refused('cannot be'));
  await assert.rejects(changeRight(rungOf('low-ports'), 'remove', nobody), refused('cannot be'));
});

for (const [code, text] of [
  ['126', 'was closed'],
  ['127', 'did not give the right'],
  ['ENOENT', 'pkexec is not installed'],
  ['1', 'tee: no space'],
] as const) {
  test(`pkexec that ends with ${code}: ${text}`, async () => {
    const run: RunCommand = () => Promise.reject(new CommandError('tee: no space', code));
    await assert.rejects(changeRight(rungOf('no-password'), 'install', run), refused(text));
  });
}
