/** The cache folder: whole entries only, and nobody does the same work twice at once. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, test } from 'node:test';
import { cacheFolder, cachedFolder } from '../../tools/cache-folder.ts';

const folders: string[] = [];
let cache = '';
beforeEach(async () => {
  cache = await mkdtemp(join(tmpdir(), 'sluice-cache-'));
  folders.push(cache);
});
after(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))));

/** A process id that was in use and is no more. */
function deadPid(): number {
  return spawnSync(process.execPath, ['-e', '']).pid;
}

test('the place follows the environment', () => {
  assert.equal(cacheFolder({ SLUICE_CACHE_DIR: '/a', XDG_CACHE_HOME: '/b' }), '/a');
  assert.equal(cacheFolder({ XDG_CACHE_HOME: '/b' }), '/b/sluice');
  assert.match(cacheFolder({}), /\.cache\/sluice$/);
});

test('makes an entry once and finds it again', async () => {
  let made = 0;
  const make = async (folder: string): Promise<void> => {
    made++;
    await writeFile(join(folder, 'file'), 'whole');
  };
  const path = await cachedFolder('thing-1', make, cache);
  assert.equal(path, join(cache, 'thing-1'));
  assert.equal(await cachedFolder('thing-1', make, cache), path);
  assert.equal(await readFile(join(path, 'file'), 'utf8'), 'whole');
  assert.equal(made, 1);
  assert.deepEqual(await readdir(cache), ['thing-1']);
});

test('a failure leaves nothing behind, and the next try starts afresh', async () => {
  const fail = async (folder: string): Promise<void> => {
    await writeFile(join(folder, 'half'), '');
    throw new Error('cable cut');
  };
  await assert.rejects(cachedFolder('thing-1', fail, cache), /cable cut/);
  assert.deepEqual(await readdir(cache), []);
  const path = await cachedFolder('thing-1', () => Promise.resolve(), cache);
  assert.deepEqual(await readdir(path), []);
});

test('an entry is invisible under its name until it is whole', async () => {
  await cachedFolder(
    'thing-1',
    async () => {
      assert.equal((await readdir(cache)).includes('thing-1'), false);
    },
    cache,
  );
  assert.equal((await readdir(cache)).includes('thing-1'), true);
});

test('of two at once, one works and the other waits for it', async () => {
  let made = 0;
  const begun = Promise.withResolvers<undefined>();
  const goOn = Promise.withResolvers<undefined>();
  const make = async (): Promise<void> => {
    made++;
    begun.resolve(undefined);
    await goOn.promise;
  };
  const first = cachedFolder('thing-1', make, cache);
  await begun.promise;
  const second = cachedFolder('thing-1', make, cache);
  goOn.resolve(undefined);
  assert.deepEqual(await Promise.all([first, second]), Array(2).fill(join(cache, 'thing-1')));
  assert.equal(made, 1);
});

test('what a killed preparation left is taken over and cleared away', async () => {
  await mkdir(join(cache, 'thing-1.unfinished-abc123'));
  await writeFile(join(cache, 'thing-1.lock'), String(deadPid()));
  await cachedFolder('thing-1', () => Promise.resolve(), cache);
  assert.deepEqual(await readdir(cache), ['thing-1']);
});
