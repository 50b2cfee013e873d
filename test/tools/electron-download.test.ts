/** Fetching Electron's own runtime: the watch over a fetch, and the memory of a failure. */
import assert from 'node:assert/strict';
import { appendFile, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import {
  downloadElectron,
  downloadedElectron,
  watchGrowth,
} from '../../tools/electron-download.ts';

const folder = await mkdtemp(join(tmpdir(), 'sluice-download-'));
after(() => rm(folder, { recursive: true }));

test('a fetch without a first byte is given up', async () => {
  const sizes: number[] = [];
  const patience = { firstByteMs: 50, standstillMs: 60_000, lookEveryMs: 10 };
  const watch = watchGrowth([join(folder, 'none')], (bytes) => sizes.push(bytes), patience);
  await watch.standstill;
  watch.end();
  assert.deepEqual(sizes, []);
});

test('a fetch that has begun gets more patience, and is told about', async () => {
  const place = join(folder, 'growing');
  await mkdir(place);
  const grew = Promise.withResolvers<number>();
  const patience = { firstByteMs: 60_000, standstillMs: 50, lookEveryMs: 10 };
  const watch = watchGrowth([place], grew.resolve, patience);
  await appendFile(join(place, 'part'), 'four');
  assert.equal(await grew.promise, 4);
  await watch.standstill;
  watch.end();
});

test('a failure within the last day is not tried again', async () => {
  const { version } = JSON.parse(
    await readFile(createRequire(import.meta.url).resolve('electron/package.json'), 'utf8'),
  ) as { version: string };
  const cache = join(folder, 'cache');
  await mkdir(cache);
  await writeFile(join(cache, `electron-${version}.unreachable`), '');
  assert.equal(await downloadElectron(cache), null);
  assert.deepEqual(await readdir(cache), [`electron-${version}.unreachable`]);
});

test('a runtime counts as fetched when its executable is there', async () => {
  const place = join(folder, 'electron');
  await mkdir(join(place, 'dist'), { recursive: true });
  assert.equal(await downloadedElectron(place), null);
  await writeFile(join(place, 'path.txt'), 'electron');
  assert.equal(await downloadedElectron(place), null);
  await writeFile(join(place, 'dist', 'electron'), '');
  assert.equal(await downloadedElectron(place), join(place, 'dist', 'electron'));
});
