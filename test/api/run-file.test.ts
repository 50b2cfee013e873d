/**
 * One instance a data folder, and no stale claim that blocks the next start.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { findRunning, RunFile } from '../../main/api/run-file.ts';
import { tempDir } from '../support/temp-dir.ts';

test('a claim holds until it is given back', async (t) => {
  const folder = await tempDir(t);
  const claim = await RunFile.claim(folder, '1');
  assert.equal((await stat(join(folder, 'run.json'))).mode & 0o777, 0o600);
  await assert.rejects(RunFile.claim(folder, '1'), {
    code: 'ALREADY_RUNNING',
    message: new RegExp(`process id ${String(process.pid)}`),
  });
  await claim.publish({ dns: ['127.0.0.1:53'], http: '127.0.0.1:8053' });
  assert.equal((await findRunning(folder))?.http, '127.0.0.1:8053');
  await claim.release();
  await claim.release();
  assert.equal(await findRunning(folder), null);
  assert.deepEqual(await readdir(folder), []);
});

test('claims of dead processes, other boots and half-written files are taken over', async (t) => {
  const folder = await tempDir(t);
  const file = join(folder, 'run.json');
  for (const stale of [
    '',
    '{"pid":',
    'null',
    '{}',
    JSON.stringify({ pid: 2 ** 22 + 1, identity: '' }),
    JSON.stringify({ pid: process.pid, identity: 'another-boot 123' }),
    JSON.stringify({ pid: 1, identity: 'another-boot 1' }),
  ]) {
    await writeFile(file, stale);
    const claim = await RunFile.claim(folder, '1');
    assert.equal((await findRunning(folder))?.pid, process.pid, stale);
    await claim.release();
  }
  assert.deepEqual(await readdir(folder), []);
});

test('a process killed while it held the claim does not block', async (t) => {
  const folder = await tempDir(t);
  const module = new URL('../../main/api/run-file.ts', import.meta.url).href;
  const script = `const { RunFile } = await import(${JSON.stringify(module)});
    await RunFile.claim(${JSON.stringify(folder)}, '1'); console.log('held');
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  await assert.rejects(RunFile.claim(folder, '1'), { code: 'ALREADY_RUNNING' });
  child.kill('SIGKILL');
  await once(child, 'exit');
  const claim = await RunFile.claim(folder, '1');
  await claim.release();
});

test('of many that start on a stale claim at once, exactly one gets it', async (t) => {
  const folder = await tempDir(t);
  const file = join(folder, 'run.json');
  for (let round = 0; round < 20; round++) {
    await writeFile(file, JSON.stringify({ pid: 2 ** 22 + 1, identity: '' }));
    const starts = Array.from({ length: 4 }, (_, index) =>
      RunFile.claim(folder, `start ${String(index)}`),
    );
    const results = await Promise.allSettled(starts);
    const won = results.filter((result) => result.status === 'fulfilled');
    assert.equal(won.length, 1);
    assert.match(await readFile(file, 'utf8'), /"start \d"/);
    await won[0]?.value.release();
  }
});
