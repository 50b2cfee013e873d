/**
 * `sluice run` where the disk or its own output takes nothing: DNS is answered all the same.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { MethodOutput } from '../../main/contract/methods/methods.ts';
import type { HealthReport } from '../../main/control/process/health.ts';
import { authorization } from '../support/api.ts';
import { askUdp } from '../support/dns-client.ts';
import { HEADLESS, makeHome, Sluice, type Home } from './start-source.ts';
import { smallDisk } from '../log/fixtures.ts';

async function statusOf(http: string): Promise<MethodOutput<'status'>> {
  const headers = authorization(http);
  return (await (await fetch(`${http}/api/status`, { headers })).json()) as MethodOutput<'status'>;
}

/** What needs no token. */
async function healthOf(http: string): Promise<HealthReport> {
  return (await (await fetch(`${http}/health`)).json()) as HealthReport;
}

/** Starts on a data folder, and looks at the answer for the listed name and at the health. */
async function startOn(home: Home, folder: string) {
  const one = home.run('--data-dir', folder);
  const { dns, http } = await one.ready();
  const { answers } = await askUdp(dns, 'www.listed.example');
  return { one, http, answers, status: await statusOf(http) };
}

/** A disk of its own that has seen a start, so that it holds list copies and a snapshot. */
async function usedDisk(t: TestContext) {
  const disk = smallDisk(t, '4m');
  if ('missing' in disk) return disk;
  const home = await makeHome(t);
  const { one, answers } = await startOn(home, disk.directory);
  one.kill('SIGTERM');
  assert.equal(await one.exited, 0);
  return { ...disk, home, answers };
}

function fill(directory: string): void {
  const file = openSync(join(directory, 'filler'), 'w');
  try {
    for (;;) writeFileSync(file, Buffer.alloc(4_096));
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC');
  } finally {
    closeSync(file);
  }
}

test('a full disk: it starts, answers as before, says so, and recovers', async (t) => {
  const disk = await usedDisk(t);
  if ('missing' in disk) {
    t.skip(disk.missing);
    return;
  }
  fill(disk.directory);
  const { one, http, answers, status } = await startOn(disk.home, disk.directory);
  assert.deepEqual(answers, disk.answers);
  assert.equal(status.blockedNames, 1);
  assert.equal(status.health, 'degraded');
  assert.match(
    status.degradedReasons.join('\n'),
    /data folder takes no files: the disk .* is full/,
  );
  assert.match(one.err, /the disk that holds .* is full/);
  rmSync(join(disk.directory, 'filler'));
  // The next attempt to write run.json.
  while (!readdirSync(disk.directory).includes('run.json')) {
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const { degradedReasons } = await statusOf(http);
  assert.ok(!degradedReasons.some((reason) => reason.includes('data folder')));
  one.kill('SIGTERM');
  assert.equal(await one.exited, 0);
});

test('a read-only disk: it starts, answers as before, and stops cleanly', async (t) => {
  const disk = await usedDisk(t);
  if ('missing' in disk) {
    t.skip(disk.missing);
    return;
  }
  disk.remount('ro');
  const { one, answers, status } = await startOn(disk.home, disk.directory);
  assert.deepEqual(answers, disk.answers);
  assert.equal(status.blockedNames, 1);
  assert.match(status.degradedReasons.join('\n'), /data folder takes no files: .* is read-only/);
  one.kill('SIGTERM');
  assert.equal(await one.exited, 0, one.err);
});

test('a disk that is read-only from the first start: the settings of the template', async (t) => {
  const disk = smallDisk(t, '1m');
  if ('missing' in disk) {
    t.skip(disk.missing);
    return;
  }
  disk.remount('ro');
  const one = new Sluice([
    ...['run', '--data-dir', join(disk.directory, 'new')],
    ...['--listen', '127.0.0.1:0', '--http', '127.0.0.1:0'],
  ]);
  t.after(() => one.child.kill('SIGKILL'));
  const { http } = await one.ready();
  const { degradedReasons } = await healthOf(http);
  assert.match(degradedReasons.join('\n'), /default settings are in use: .* is read-only/);
});

test('a data folder that cannot be: one plain line with advice, at once', async (t) => {
  const home = await makeHome(t);
  const file = join(home.folder, 'a-file');
  await writeFile(file, '');
  for (const folder of [file, join(file, 'below'), '/proc/nothing/below']) {
    const one = home.run('--data-dir', folder);
    assert.equal(await one.exited, 2, folder);
    assert.match(one.err, /^sluice: the folder \S+ cannot be made: .* \(name another folder/);
  }
});

test('a reader that goes away, and a full device for output, do not end it', async (t) => {
  const home = await makeHome(t);
  const device = openSync('/dev/full', 'w');
  t.after(() => {
    closeSync(device);
  });
  for (const output of ['gone', device] as const) {
    const port = await freePort();
    const child = spawn(
      process.execPath,
      [
        ...[HEADLESS, 'run', '--config', home.configFile, '--data-dir', home.dataDirectory],
        ...['--http', `127.0.0.1:${String(port)}`],
      ],
      {
        stdio: ['ignore', ...(output === 'gone' ? (['pipe', 'pipe'] as const) : [output, output])],
      },
    );
    t.after(() => child.kill('SIGKILL'));
    child.stdout?.destroy();
    child.stderr?.destroy();
    const { notices } = await eventually(() => healthOf(`http://127.0.0.1:${String(port)}`));
    assert.match(notices.join('\n'), /\d lines? of output could not be printed \(E/);
    child.kill('SIGTERM');
    assert.deepEqual(await once(child, 'exit'), [0, null]);
  }
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' ? (address?.port ?? 0) : 0;
}

/** Tries until it works; the test's own time bounds it. */
async function eventually<Value>(work: () => Promise<Value>): Promise<Value> {
  for (;;) {
    try {
      return await work();
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
