/**
 * The command line's own socket: who can open it, where it lies, and what it is for.
 */
import assert from 'node:assert/strict';
import { mkdirSync, statSync } from 'node:fs';
import { chmod, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { runCli } from '../../../main/api/cli/cli.ts';
import { controlPlace, controlSocketPath } from '../../../main/api/http/control-socket.ts';
import { openHttpDoor } from '../../../main/api/http/door.ts';
import { RunFile } from '../../../main/api/run-file.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { openDoors } from '../open-doors.ts';

const skip = process.platform === 'win32';

async function sluice(...argv: string[]) {
  let out = '';
  let err = '';
  const code = await runCli(argv, { out: (text) => (out += text), err: (text) => (err += text) });
  return { code, out, err };
}

function ask(socketPath: string, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath, path, headers: { host: 'x' }, agent: false });
    sent.on('error', reject);
    sent.on('response', (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.end();
  });
}

test('only its owner can open it, also in a folder that others may enter', { skip }, async (t) => {
  const { folder } = await openDoors(t);
  const path = join(folder, 'control.sock');
  const info = statSync(path);
  assert.ok(info.isSocket());
  assert.equal(info.mode & 0o777, 0o600);
  assert.equal(await ask(path, '/api/status'), 200, 'it needs no token');
  assert.equal(await ask(path, '//x/api/status'), 400);
});

test('with it the command line needs neither token nor HTTP', { skip }, async (t) => {
  const { folder, door } = await openDoors(t);
  await door.close();
  await rm(join(folder, 'token'));
  assert.match((await sluice('--data-dir', folder, 'status')).out, /^Sluice +1\.2\.3, ok\n/);
  const list = join(folder, 'names.txt');
  await writeFile(list, 'listed.example\n');
  const added = await sluice('--data-dir', folder, 'lists', 'add', 'Mine', `file://${list}`);
  assert.equal(added.code, 0, added.err);
});

test('without it the token is used, and a token is all that lets in', { skip }, async (t) => {
  const { folder, controlDoor } = await openDoors(t);
  await controlDoor.close();
  assert.match((await sluice('--data-dir', folder, 'status')).out, /^Sluice +1\.2\.3, ok\n/);
  const file = await sluice('--data-dir', folder, 'lists', 'add', 'F', 'file:///etc/passwd');
  assert.match(file.err, /add it with "sluice lists add" on the machine/);
  await rm(join(folder, 'token'));
  const refused = await sluice('--data-dir', folder, 'status');
  assert.deepEqual([refused.code, /token is not there/.test(refused.err)], [1, true]);
});

test('a socket left by a killed run is replaced', { skip }, async (t) => {
  const { service, folder: other } = await openDoors(t);
  const folder = await tempDir(t);
  await writeFile(join(folder, 'control.sock'), '');
  const socket = controlSocketPath(folder);
  assert.ok(socket);
  const options = { service, access: null, version: '1', pageFolder: other };
  const door = await openHttpDoor(await controlPlace(socket), options);
  assert.equal(await ask(socket.path, '/api/status'), 200);
  await door.close();
});

test(
  'a folder whose name is too long for a socket',
  { skip: process.platform !== 'linux' },
  async (t) => {
    const { service, folder: other } = await openDoors(t);
    const folder = join(await tempDir(t), 'x'.repeat(120));
    mkdirSync(folder);
    await chmod(folder, 0o700);
    const socket = controlSocketPath(folder);
    assert.match(socket?.path ?? '', /^\/proc\/self\/fd\/\d+\/control\.sock$/);
    assert.ok(socket);
    const options = { service, access: null, version: '1', pageFolder: other };
    const door = await openHttpDoor(await controlPlace(socket), options);
    const runFile = await RunFile.claim(folder, '1');
    assert.equal((await stat(join(folder, 'control.sock'))).mode & 0o777, 0o600);
    assert.match((await sluice('--data-dir', folder, 'status')).out, /^Sluice /);
    await runFile.release();
    await door.close();
    socket.release();
  },
);

test(
  'export and import read and write files with the rights of whoever types',
  { skip },
  async (t) => {
    const { folder } = await openDoors(t);
    const run = (...argv: string[]) => sluice('--data-dir', folder, ...argv);
    const backup = join(folder, 'backup.json');
    assert.equal((await run('settings', 'export', backup)).out, `Written to ${backup}.\n`);
    assert.equal((await stat(backup)).mode & 0o777, 0o600);
    assert.equal((await run('settings', 'export', backup)).code, 0, 'an older backup is replaced');
    assert.equal((await run('settings', 'export', '-')).out, await readFile(backup, 'utf8'));
    const own = join(folder, 'sluice.yaml');
    const before = await readFile(own, 'utf8');
    for (const taken of [own, folder]) {
      const refused = await run('settings', 'export', taken);
      assert.match(refused.err, /is there already, and is no backup/);
    }
    assert.equal(await readFile(own, 'utf8'), before);
    assert.match((await run('settings', 'import', folder)).err, /is no file/);
    assert.match((await run('settings', 'import', own)).err, /none that "settings export" has/);
    assert.match(
      (await run('settings', 'import', backup)).out,
      /^Restored the settings, with 1 list;/,
    );
  },
);
