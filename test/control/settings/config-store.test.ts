/**
 * The owner of the settings file: first start, edits, a person's own changes, mistakes, and death at
 * any moment.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { chmod, mkdir, readFile, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { ConfigStore } from '../../../main/control/settings/config-store.ts';
import { PREVIOUS_SUFFIX } from '../../../main/control/settings/settings-copy.ts';
import { resourcePath } from '../../../main/control/process/resources.ts';
import { planAddRule } from '../../../main/control/settings/rule-edits.ts';
import { readSettings } from '../../../main/control/settings/settings-text.ts';
import { tempDir } from '../../support/temp-dir.ts';

const templateFile = resourcePath('sluice.yaml');

function addRule(store: ConfigStore, rule: string) {
  return store.edit('rules', (config) => planAddRule(config, rule));
}

test('the first start makes the file from the template, the second leaves it alone', async (t) => {
  const file = join(await tempDir(t), 'new', 'sluice.yaml');
  const first = await ConfigStore.open({ file, templateFile });
  assert.equal(first.isNew, true);
  assert.equal(await readFile(file, 'utf8'), await readFile(templateFile, 'utf8'));
  await writeFile(file, 'dns: { threads: 2 }\n');
  const second = await ConfigStore.open({ file, templateFile });
  assert.equal(second.isNew, false);
  assert.equal(second.config.dns.threads, 2);
});

test('an edit keeps mode and link, and a copy of what is in use', async (t) => {
  const folder = await tempDir(t);
  const real = join(folder, 'real.yaml');
  const file = join(folder, 'sluice.yaml');
  await writeFile(real, '# mine\n');
  await chmod(real, 0o640);
  await symlink(real, file);
  const store = await ConfigStore.open({ file, templateFile });
  await addRule(store, 'a.example');
  await addRule(store, 'b.example');
  assert.match(await readFile(real, 'utf8'), /a\.example[^]*b\.example/);
  const copy = await readFile(file + PREVIOUS_SUFFIX, 'utf8');
  assert.equal(
    copy.endsWith(await readFile(real, 'utf8')),
    true,
    'comments in front, then the text',
  );
  assert.equal((await stat(real)).mode & 0o777, 0o640);
  assert.deepEqual((await readdir(folder)).sort(), [
    'real.yaml',
    'sluice.yaml',
    'sluice.yaml.previous',
  ]);
});

test('what a person changed meanwhile is kept and taken into use', async (t) => {
  const file = join(await tempDir(t), 'sluice.yaml');
  await writeFile(file, 'rules: []\n');
  const store = await ConfigStore.open({ file, templateFile });
  const seen: number[] = [];
  store.onChange((config) => seen.push(config.dns.threads));
  await writeFile(file, '# by hand\ndns: { threads: 3 }\n');
  const config = await addRule(store, 'a.example');
  assert.deepEqual([config.dns.threads, config.rules], [3, ['||a.example^']]);
  assert.match(await readFile(file, 'utf8'), /# by hand/);
  assert.deepEqual(seen, [3]);
});

test('a file with a mistake is never overwritten, and the settings in use stay', async (t) => {
  const file = join(await tempDir(t), 'sluice.yaml');
  await writeFile(file, 'rules: []\n');
  const store = await ConfigStore.open({ file, templateFile });
  const broken = 'rules: [\n# half way through an edit';
  await writeFile(file, broken);
  await assert.rejects(addRule(store, 'a.example'), { code: 'CONFIG_INVALID' });
  await assert.rejects(store.reload(), { code: 'CONFIG_INVALID' });
  assert.equal(await readFile(file, 'utf8'), broken);
  assert.deepEqual(store.config.rules, []);
});

test('edits at the same time all arrive', async (t) => {
  const file = join(await tempDir(t), 'sluice.yaml');
  const store = await ConfigStore.open({ file, templateFile });
  const names = Array.from({ length: 20 }, (_, index) => `n${String(index)}.example`);
  await Promise.all(names.map((name) => addRule(store, name)));
  assert.equal(readSettings(await readFile(file, 'utf8'), file).config.rules.length, 20);
});

test('a file that cannot be replaced gives CONFIG_UNWRITABLE, and stays', async (t) => {
  const folder = await tempDir(t);
  const file = join(folder, 'sluice.yaml');
  await writeFile(file, 'rules: []\n');
  const store = await ConfigStore.open({ file, templateFile });
  await mkdir(`${file}.new`); // stands where the temporary file goes
  await assert.rejects(addRule(store, 'a.example'), { code: 'CONFIG_UNWRITABLE' });
  assert.equal(await readFile(file, 'utf8'), 'rules: []\n');
  assert.deepEqual(store.config.rules, []);
});

test('killed at any moment of an edit, the file is whole and parses', async (t) => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
  t.diagnostic(`seed ${String(seed)}`);
  const random = mulberry32(seed);
  const file = join(await tempDir(t), 'sluice.yaml');
  const editor = new URL('../endless-editor.ts', import.meta.url).pathname;
  let edits = 0;
  for (let round = 0; round < 12; round++) {
    const child = spawn(process.execPath, [editor, file], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'data'); // the first edit is done
    await new Promise((resolve) => setTimeout(resolve, random() * 120));
    child.kill('SIGKILL');
    await once(child, 'exit');
    const { config } = readSettings(await readFile(file, 'utf8'), file);
    readSettings(await readFile(file + PREVIOUS_SUFFIX, 'utf8'), file);
    assert.ok(config.rules.length > 0, 'an edit that was reported is there');
    edits = Math.max(edits, config.rules.length);
  }
  assert.ok(edits > 1, 'edits went on while the editor was killed');
});

/** A small seeded generator, so that a failure can be run again. */
function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

test('a rule is in use before the file is written, and no longer when that fails', async (t) => {
  const folder = await tempDir(t);
  const file = join(folder, 'sluice.yaml');
  await writeFile(file, 'rules: []\n');
  const store = await ConfigStore.open({ file, templateFile });
  const seen: { rules: number; onDisk: boolean }[] = [];
  store.onChange(({ rules }) => {
    const onDisk = readFileSync(file, 'utf8').includes('a.example');
    seen.push({ rules: rules.length, onDisk });
  });
  await addRule(store, 'a.example');
  assert.deepEqual(seen, [{ rules: 1, onDisk: false }]);
  assert.match(await readFile(file, 'utf8'), /a\.example/);
  const wanted = ['no rule at all'];
  const bad = { change: { kind: 'append', entry: 'x' }, wanted, isSound: true } as const;
  await assert.rejects(store.edit('rules', () => bad));
  assert.deepEqual(
    seen.slice(1).map(({ rules }) => rules),
    [1, 1],
  );
  assert.deepEqual(store.config.rules, ['||a.example^']);
});
