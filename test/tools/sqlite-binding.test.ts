/** Compiling SQLite: what is missing is named before anything long begins. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { sqliteBindingNapi9 } from '../../tools/sqlite-binding.ts';

test('a missing compiler is named with the package to install', async (t) => {
  const cache = await mkdtemp(join(tmpdir(), 'sluice-binding-'));
  const former = process.env['CXX'];
  t.after(async () => {
    if (former === undefined) delete process.env['CXX'];
    else process.env['CXX'] = former;
    await rm(cache, { recursive: true });
  });
  process.env['CXX'] = 'no-such-compiler';
  await assert.rejects(
    sqliteBindingNapi9(cache),
    /g\+\+( and .*)? cannot be found; install with: apt-get install g\+\+/,
  );
  assert.deepEqual(await readdir(cache), []);
});
