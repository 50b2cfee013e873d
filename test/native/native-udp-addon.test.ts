/** Building and finding the UDP add-on, and saying why there is none. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import { buildNative, compileNative, nativeOutput } from '../../tools/build-native.ts';
import { addonFile, loadUdpAddon } from '../../main/net/native/native-udp-addon.ts';
import { builtAddon, missingForAddon } from './built-addon.ts';

async function makeFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-addon-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

// The cases before the first load come first: a thread keeps the add-on it has loaded.
describe('finding the UDP add-on', { skip: process.platform !== 'linux' && 'Linux only' }, () => {
  test('sources, builds and packages look in the right place', () => {
    const file = `${process.platform}-${process.arch}/udp.node`;
    assert.equal(addonFile('file:///a/main/main/net/x.ts'), `/a/main/dist/native/${file}`);
    assert.equal(addonFile('file:///a/dist/main/chunks/x.js'), `/a/dist/native/${file}`);
    assert.equal(
      addonFile('file:///opt/r/app.asar/dist/main/dataplane/dataplane-thread.js'),
      `/opt/r/app.asar.unpacked/dist/native/${file}`,
    );
    assert.equal(addonFile(), nativeOutput());
  });

  test('SLUICE_UDP=dgram leaves it unused', () => {
    const result = loadUdpAddon({ SLUICE_UDP: 'dgram', SLUICE_UDP_ADDON: '/nowhere' });
    assert.deepEqual(result, { addon: null, reason: 'SLUICE_UDP=dgram' });
  });

  test('a missing file, and one that is no add-on, are reasons and not errors', async (t) => {
    const broken = join(await makeFolder(t), 'udp.node');
    await writeFile(broken, 'not a library');
    const missing = loadUdpAddon({ SLUICE_UDP_ADDON: '/nowhere/udp.node' });
    assert.equal(missing.addon, null);
    assert.match(missing.reason, /\/nowhere\/udp\.node/);
    const unfit = loadUdpAddon({ SLUICE_UDP_ADDON: broken });
    assert.equal(unfit.addon, null);
    assert.match(unfit.reason, /cannot be loaded/);
  });

  test('SLUICE_UDP=native makes its absence an error', () => {
    assert.throws(
      () => loadUdpAddon({ SLUICE_UDP: 'native', SLUICE_UDP_ADDON: '/nowhere/udp.node' }),
      { code: 'CONFIG_INVALID', message: /SLUICE_UDP=native.*\/nowhere/ },
    );
  });
});

describe('building the UDP add-on', { skip: missingForAddon }, () => {
  test('compiles without a warning, and as a debug build', async (t) => {
    const folder = await makeFolder(t);
    for (const flags of [
      ['-Werror', '-Wconversion', '-Wshadow', '-Wstrict-prototypes'],
      ['-Werror', '-O0', '-g', '-U_FORTIFY_SOURCE'],
    ]) {
      assert.equal(await compileNative({ output: join(folder, 'udp.node'), flags }), '');
    }
  });

  test('is built once and then found up to date', async () => {
    const lines: string[] = [];
    assert.equal(await buildNative((line) => lines.push(line)), true);
    const { mtimeMs } = await stat(nativeOutput());
    lines.length = 0;
    assert.equal(await buildNative((line) => lines.push(line)), true);
    assert.deepEqual(lines, []);
    assert.equal((await stat(nativeOutput())).mtimeMs, mtimeMs);
  });

  test('without a compiler, or with one that fails, says so and leaves no file', async (t) => {
    const output = join(await makeFolder(t), 'udp.node');
    const absent = await compileNative({ output, compiler: 'no-such-compiler' });
    assert.match(absent, /no-such-compiler/);
    assert.match(await compileNative({ output, flags: ['-no-such-flag'] }), /no-such-flag/);
    await assert.rejects(stat(output), { code: 'ENOENT' });
  });

  test('loads, and a second load is the same object', async () => {
    const addon = await builtAddon();
    assert.equal(loadUdpAddon().addon, addon);
    assert.equal(loadUdpAddon({ SLUICE_UDP: 'native' }).addon, addon);
  });
});
