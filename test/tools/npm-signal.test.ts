/** A signal to npm alone, as from a process manager: nothing that it started is left behind. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { before, test } from 'node:test';
import { build, isBuilt } from '../../tools/build.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const skip = process.platform === 'win32' ? 'needs a system with signals' : false;

before(async () => {
  if (!(await isBuilt())) await build(() => undefined);
});

for (const script of [
  ['start', '--', '--headless'],
  ['run', 'headless', '--', 'run'],
]) {
  test(`npm ${script.join(' ')}: SIGTERM to npm ends all of it`, { skip }, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'sluice-npm-'));
    const file = join(folder, 'sluice.yaml');
    const listen = { dns: { listen: ['127.0.0.1:0'] }, http: { listen: '127.0.0.1:0' } };
    await writeFile(file, JSON.stringify(listen));
    const npm = spawn('npm', [...script, '--config', file, '--data-dir', join(folder, 'data')], {
      cwd: ROOT,
      detached: true, // so that what is left behind by a failure can be ended as a group
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const { pid } = npm;
    t.after(async () => {
      try {
        process.kill(-(pid as number), 'SIGKILL');
      } catch {
        // All have ended, which is what is wanted.
      }
      await rm(folder, { recursive: true, force: true });
    });
    let stderr = '';
    npm.stderr.on('data', (part: Buffer) => (stderr += part.toString()));
    for await (const line of createInterface({ input: npm.stdout })) {
      if (line.startsWith('ready ')) break;
    }
    npm.kill('SIGTERM');
    npm.stdout.resume();
    // The pipe closes when the last process that holds it has ended.
    await once(npm, 'close', { signal: AbortSignal.timeout(20_000) });
    assert.match(stderr, /SIGTERM: stopping/);
  });
}
