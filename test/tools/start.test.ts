/** `npm start` where no window can be shown: says why, answers, passes signals and exit codes on. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { build, isBuilt } from '../../tools/build.ts';

const START = resolve(import.meta.dirname, '../../tools/start.ts');

const folder = await mkdtemp(join(tmpdir(), 'sluice-start-'));
after(() => rm(folder, { recursive: true, force: true }));
before(async () => {
  if (!(await isBuilt())) await build(() => undefined);
});

interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts, and sends SIGTERM once the program is ready. */
async function start(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Run> {
  const child = spawn(process.execPath, [START, ...args], {
    env: { ...process.env, DISPLAY: undefined, WAYLAND_DISPLAY: undefined, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stderr.on('data', (bytes: Buffer) => (stderr += bytes.toString()));
  createInterface({ input: child.stdout }).on('line', (line) => {
    stdout += `${line}\n`;
    if (line.startsWith('ready ')) child.kill('SIGTERM');
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout, stderr };
}

async function settings(name: string, config: object): Promise<string[]> {
  const file = join(folder, `${name}.yaml`);
  await writeFile(file, JSON.stringify(config));
  return ['--config', file, '--data-dir', join(folder, name)];
}

const LISTEN = { dns: { listen: ['127.0.0.1:0'] }, http: { listen: '127.0.0.1:0' } };

test('without a display it runs without a window, and says so', async () => {
  const run = await start(await settings('plain', LISTEN));
  assert.match(run.stderr, /no display: running without a window/);
  assert.match(run.stdout, /^ready dns=127\.0\.0\.1:\d+/);
  assert.equal(run.code, 0, run.stderr);
});

test('--headless wins over a display', async () => {
  const args = await settings('headless', LISTEN);
  const run = await start(['--headless', ...args], { DISPLAY: ':99999' });
  assert.match(run.stderr, /--headless was given: running without a window/);
  assert.equal(run.code, 0, run.stderr);
});

test('with a display but no Electron to be had it runs all the same', async () => {
  const run = await start(await settings('electronless', LISTEN), {
    DISPLAY: ':99999',
    SLUICE_CACHE_DIR: join(folder, 'cache'),
    CXX: 'no-such-compiler',
    // Whatever Electron's own host would be, it does not answer.
    ELECTRON_MIRROR: 'http://127.0.0.1:9/',
  });
  assert.match(run.stderr, /: running without a window/);
  assert.match(run.stdout, /^ready dns=/);
  assert.equal(run.code, 0, run.stderr);
});

test('the exit code of a bad setting comes through', async () => {
  const run = await start(await settings('bad', { dns: { listenn: [] } }));
  assert.equal(run.code, 2, run.stderr);
  assert.match(run.stderr, /listenn/);
});
