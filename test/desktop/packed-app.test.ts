/** `npm run pack` builds the unpacked Linux app offline, and that build resolves names. */
import Sqlite from 'better-sqlite3';
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { runtimeSwitches } from '../../tools/electron-runtime.ts';
import { runToolOrThrow } from '../../tools/run-tool.ts';
import { ROOT, desktopRuntime, prepareFolder } from './desktop-app.ts';
import { UPSTREAM_ADDRESS, ask, openUpstream } from './dns-client.ts';
import { openDisplay } from './virtual-display.ts';

const BLOCKED = 'ads.example.org';

const runtime = await desktopRuntime();
const skip = 'reason' in runtime ? runtime.reason : false;

test('the packed app starts and answers', { skip, timeout: 300_000 }, async (t) => {
  await runToolOrThrow('packing', process.execPath, [join(ROOT, 'tools', 'pack.ts')], {
    cwd: ROOT,
  });
  const folder = await mkdtemp(join(tmpdir(), 'sluice-packed-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const display = await openDisplay();
  t.after(() => display.close());
  const upstream = await openUpstream();
  t.after(() => upstream.close());
  const args = await prepareFolder(folder, { upstream: upstream.endpoint, blocked: [BLOCKED] });

  const executable = join(ROOT, 'release', 'linux-unpacked', 'sluice-desktop');
  const child = spawn(executable, [...runtimeSwitches(), ...args], {
    env: withoutOwnBinding(display.env),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => child.kill('SIGKILL'));
  const port = await readyPort(child);
  assert.deepEqual(await ask(port, `www.${BLOCKED}`), ['0.0.0.0']);
  assert.deepEqual(await ask(port, 'free.example.net'), [UPSTREAM_ADDRESS]);

  const ended = once(child, 'exit') as Promise<[number | null]>;
  child.kill('SIGTERM');
  assert.equal((await ended)[0], 0);
  // The log's native module was found inside the package.
  const database = new Sqlite(join(folder, 'data', 'log', 'queries.db'), { readonly: true });
  t.after(() => database.close());
  assert.deepEqual(database.prepare('SELECT count(*) AS rows FROM queries').get(), { rows: 2 });
});

/** The packed app must bring its own SQLite binding. */
function withoutOwnBinding(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...env, SLUICE_SQLITE_BINDING: undefined };
}

async function readyPort(child: ChildProcess): Promise<number> {
  const said: string[] = [];
  return await new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue;
      createInterface({ input: stream }).on('line', (line) => {
        said.push(line);
        const ready = /^ready dns=127\.0\.0\.1:(\d+)/.exec(line);
        if (ready) resolve(Number(ready[1]));
      });
    }
    child.once('exit', (code) => {
      reject(new Error(`ended with ${String(code)} before it was ready: ${said.join('\n')}`));
    });
  });
}
