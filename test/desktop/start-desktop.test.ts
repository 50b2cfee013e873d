/** `npm start` with a display: the desktop app comes up, and a signal ends it in order. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { ROOT, desktopRuntime, ensureBuilt, prepareFolder } from './desktop-app.ts';
import { ask, openUpstream } from './dns-client.ts';
import { openDisplay } from './virtual-display.ts';

const BLOCKED = 'ads.example.org';

const runtime = await desktopRuntime();
const skip = 'reason' in runtime ? runtime.reason : false;

test('npm start opens the desktop app where there is a display', { skip }, async (t) => {
  await ensureBuilt();
  const folder = await mkdtemp(join(tmpdir(), 'sluice-start-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const display = await openDisplay();
  t.after(() => display.close());
  const upstream = await openUpstream();
  t.after(() => upstream.close());
  const args = await prepareFolder(folder, { upstream: upstream.endpoint, blocked: [BLOCKED] });

  const child = spawn(process.execPath, [join(ROOT, 'tools/start.ts'), ...args], {
    env: display.env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => child.kill('SIGKILL'));
  const ended = once(child, 'exit') as Promise<[number | null]>;
  let said = '';
  child.stderr.on('data', (bytes: Buffer) => (said += bytes.toString()));
  const ready = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line') as Promise<[string]>,
    ended.then(([code]) => assert.fail(`ended with ${String(code)}: ${said}`)),
  ]);
  const port = Number(/^ready dns=127\.0\.0\.1:(\d+) http=/.exec(ready[0])?.[1]);
  assert.deepEqual(await ask(port, BLOCKED), ['0.0.0.0']);
  // As from a terminal: Ctrl-C comes directly and once more through npm.
  child.kill('SIGINT');
  child.kill('SIGINT');
  assert.equal((await ended)[0], 0, said);
  assert.match(said, /starting the desktop app \(Electron \d+/);
  if (/Electron 33\./.test(said)) assert.match(said, /WARNING: .*without security updates/);
  assert.match(said, new RegExp(`try: dig @127\\.0\\.0\\.1 -p ${String(port)} `));
  if (process.getuid?.() === 0) assert.match(said, /started as root: .*--no-sandbox/);
});
