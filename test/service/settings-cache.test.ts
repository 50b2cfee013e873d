/** The copy of checked settings: counts for the same text and build only, and never when damaged. */
import assert from 'node:assert/strict';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { ConfigStore } from '../../main/service/config-store.ts';
import { resourcePath } from '../../main/service/resources.ts';
import { SettingsCache } from '../../main/service/settings-cache.ts';
import { tempDir } from '../support/temp-dir.ts';

const TEXT = 'rules: ["||a.example^"]\n';

async function opened(t: Parameters<typeof tempDir>[0], text = TEXT) {
  const folder = await tempDir(t);
  const file = join(folder, 'sluice.yaml');
  const cacheFile = join(folder, 'settings.json');
  await writeFile(file, text);
  const cache = new SettingsCache(cacheFile, 'build 1');
  const open = () => ConfigStore.open({ file, templateFile: resourcePath('sluice.yaml'), cache });
  return { file, cacheFile, cache, open, store: await open() };
}

test('the second start takes the copy, and it reads as the file does', async (t) => {
  const { cacheFile, cache, open, store } = await opened(t);
  assert.deepEqual(await cache.read(TEXT), store.config);
  assert.equal((await stat(cacheFile)).mode & 0o777, 0o600);
  const marked = (await readFile(cacheFile, 'utf8')).replace('a.example', 'copy.example');
  await writeFile(cacheFile, marked);
  assert.deepEqual((await open()).config.rules, ['||copy.example^'], 'it is the copy that is used');
});

test('another text or another build has no copy', async (t) => {
  const { file, cacheFile, cache, open } = await opened(t);
  assert.equal(await cache.read(`${TEXT}#`), null);
  assert.equal(await new SettingsCache(cacheFile, 'build 2').read(TEXT), null);
  await writeFile(file, 'rules: ["||b.example^"]\n');
  assert.deepEqual((await open()).config.rules, ['||b.example^']);
  assert.deepEqual((await open()).config.rules, ['||b.example^']);
});

test('a damaged copy, and one with settings that cannot hold, are passed over', async (t) => {
  const { cacheFile, cache, open } = await opened(t);
  const whole = await readFile(cacheFile, 'utf8');
  for (const damage of ['', '{', 'null', whole.slice(0, -9), whole.replace('||a.example^', '|')]) {
    await writeFile(cacheFile, damage);
    assert.equal(await cache.read(TEXT), null, damage.slice(0, 20));
    assert.deepEqual((await open()).config.rules, ['||a.example^']);
    assert.equal(await readFile(cacheFile, 'utf8'), whole, 'and made anew');
  }
});

test('a copy that cannot be written keeps nobody from starting', async (t) => {
  const { cacheFile, file } = await opened(t);
  await mkdir(`${cacheFile}.folder`);
  const cache = new SettingsCache(`${cacheFile}.folder`, 'build 1');
  const store = await ConfigStore.open({ file, templateFile: resourcePath('sluice.yaml'), cache });
  assert.deepEqual(store.config.rules, ['||a.example^']);
});
