/**
 * The token: it outlives restarts, and is never one that somebody else can know.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmod, lstat, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { AccessToken, readToken, replaceToken } from '../../../main/api/http/access-token.ts';
import { runCli } from '../../../main/api/cli/cli.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { openDoors } from '../open-doors.ts';

async function opened(folder: string) {
  const notices: string[] = [];
  const token = await AccessToken.open(folder, (sentence) => notices.push(sentence));
  return { token, value: token.value, notices };
}

test('it stays over restarts, in a private file of one line', async (t) => {
  const folder = await tempDir(t);
  const { value, notices } = await opened(folder);
  assert.deepEqual(notices, [], 'a first one is nothing to tell');
  assert.equal((await opened(folder)).value, value);
  assert.equal(await readToken(folder), value);
  const path = join(folder, 'token');
  assert.equal(await readFile(path, 'utf8'), `${value}\n`);
  assert.equal((await lstat(path)).mode & 0o777, 0o600);
});

test('a damaged or unsafe one is replaced, and that is told', async (t) => {
  const folder = await tempDir(t);
  const path = join(folder, 'token');
  const { value } = await opened(folder);
  for (let bit = 0; bit < value.length * 8; bit += 7) {
    const bytes = Buffer.from(value, 'latin1');
    bytes[bit >> 3] = (bytes[bit >> 3] as number) ^ (1 << (bit & 7));
    await writeFile(path, bytes, { mode: 0o600 });
    const { value: next, notices } = await opened(folder);
    assert.notEqual(next, bytes.toString('latin1'));
    assert.match(notices.join(), /made anew: .*token was damaged; open the window again/);
  }
  const damages: [string, () => Promise<unknown>][] = [
    ['was damaged', () => writeFile(path, '')],
    ['was damaged', () => writeFile(path, `${value}x`)],
    ['was damaged', () => writeFile(path, Buffer.alloc(1_000_000, 65))],
    ['could be read by other users', () => chmod(path, 0o644)],
    [
      'cannot be read',
      async () => {
        await writeFile(join(folder, 'elsewhere'), value, { mode: 0o600 });
        await rm(path);
        await symlink('elsewhere', path);
      },
    ],
    [
      'is no file',
      async () => {
        await rm(path);
        execFileSync('mkfifo', ['-m', '600', path]);
      },
    ],
  ];
  let before = (await opened(folder)).value;
  for (const [why, damage] of damages) {
    await damage();
    await assert.rejects(readToken(folder), { code: 'NOT_RUNNING' });
    const { value: next, notices } = await opened(folder);
    assert.match(notices.join(), new RegExp(`token ${why}`));
    assert.notEqual(next, before);
    const info = await lstat(path);
    assert.ok(info.isFile() && (info.mode & 0o777) === 0o600, why);
    assert.equal((await opened(folder)).value, next);
    before = next;
  }
});

test('where no file can be written it lives as long as the program', async (t) => {
  const folder = join(await tempDir(t), 'none');
  const { value, notices } = await opened(folder);
  assert.match(notices.join(), /not kept over a restart/);
  assert.notEqual((await opened(folder)).value, value);
});

test('renewing replaces it at once, with and without a running instance', async (t) => {
  const folder = await tempDir(t);
  await mkdir(join(folder, 'idle'));
  const { value } = await opened(join(folder, 'idle'));
  await replaceToken(join(folder, 'idle'));
  assert.notEqual(await readToken(join(folder, 'idle')), value);

  const doors = await openDoors(t);
  const run = async (...argv: string[]) => {
    let out = '';
    const output = { out: (text: string) => (out += text), err: (text: string) => (out += text) };
    const code = await runCli(['--data-dir', doors.folder, ...argv], output);
    return { code, out };
  };
  assert.deepEqual(await run('token'), { code: 0, out: `${doors.token.value}\n` });
  const json = await run('--json', 'token');
  assert.deepEqual(JSON.parse(json.out), { token: doors.token.value });
  await run('token', '--renew');
  assert.equal(doors.renewed.count, 1, 'a running instance does it itself');
  let told = 0;
  doors.token.onRenew(() => told++);
  const before = doors.token.value;
  await doors.token.renew();
  assert.equal(told, 1);
  assert.notEqual(doors.token.value, before);
  assert.equal(await readToken(doors.folder), doors.token.value);
});
