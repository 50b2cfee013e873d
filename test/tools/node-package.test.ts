/** Which Node the scripts run with, and that nothing of a package runs at install. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { chooseNode, nodePackage } from '../../tools/node-package.mjs';

const ROOT = resolve(import.meta.dirname, '../..');

interface Manifest {
  readonly scripts: Record<string, string>;
  readonly optionalDependencies: Record<string, string>;
}

interface Lock {
  readonly packages: Record<
    string,
    { version?: string; resolved?: string; integrity?: string; os?: string[] | string }
  >;
}

const readJson = async <Value>(name: string): Promise<Value> =>
  JSON.parse(await readFile(join(ROOT, name), 'utf8')) as Value;

test('the packaged Node comes before the running one, and an old one is refused', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-node-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const missing = join(folder, 'none');
  assert.deepEqual(chooseNode('24.1.0', '/x/node', missing), { executable: '/x/node' });
  const refused = chooseNode('20.20.2', '/x/node', missing);
  assert.ok('problem' in refused);
  assert.match(refused.problem, /needs Node 24, this is 20\.20\.2: run "npm ci"/);
  await mkdir(join(folder, 'bin'));
  await writeFile(join(folder, 'bin', 'node.exe'), '');
  const packaged = { executable: join(folder, 'bin', 'node.exe') };
  assert.deepEqual(chooseNode('20.20.2', '/x/node', folder), packaged);
  assert.deepEqual(chooseNode('26.0.0', '/x/node', folder), packaged);
});

test('Node is locked for each platform by version and hash, and without an address', async () => {
  const { optionalDependencies } = await readJson<Manifest>('package.json');
  const { packages } = await readJson<Lock>('package-lock.json');
  const names = Object.keys(optionalDependencies);
  for (const [platform, arch] of [
    ['linux', 'x64'],
    ['linux', 'arm64'],
    ['darwin', 'x64'],
    ['win32', 'x64'],
  ] as const) {
    const name = nodePackage(platform, arch).split(/[/\\]/).at(-1) ?? '';
    assert.ok(names.includes(name), name);
    const locked = packages[`node_modules/${name}`];
    assert.equal(locked?.version, optionalDependencies[name]);
    assert.match(locked?.version ?? '', /^24\.\d+\.\d+$/);
    assert.match(locked?.integrity ?? '', /^sha512-/);
    assert.deepEqual([locked?.os].flat(), [platform]);
  }
  const withAddress = Object.entries(packages).filter(([, { resolved }]) => resolved !== undefined);
  assert.deepEqual(withAddress, []);
});

test('no script runs at install, and each of ours goes through the pinned Node', async () => {
  const settings = await readFile(join(ROOT, '.npmrc'), 'utf8');
  assert.match(settings, /^ignore-scripts=true$/m);
  const { scripts } = await readJson<Manifest>('package.json');
  for (const [name, command] of Object.entries(scripts)) {
    assert.doesNotMatch(name, /^(pre|post)|^install$|^prepare$/, 'npm would not run it');
    for (const part of command.split(' && ')) {
      if (part.startsWith('node ')) assert.match(part, /^node tools\/node\.mjs /, name);
    }
  }
});
