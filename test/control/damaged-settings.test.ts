/**
 * A settings file that a power cut, a disk or a person broke: the program starts with the settings
 * last in use, says so, and loses nothing (main/control/settings/settings-start.ts, config-store.ts).
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmod, mkdir, readFile, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { ConfigStore } from '../../main/control/settings/config-store.ts';
import { resourcePath } from '../../main/control/process/resources.ts';
import { planAddRule } from '../../main/control/settings/rule-edits.ts';
import { tempDir } from '../support/temp-dir.ts';

const templateFile = resourcePath('sluice.yaml');
const TEXT = `# mine
dns:
  threads: 2 # two
  upstreams: ["192.0.2.53"]
rules:
  - "||ads.example^" # first
  - "@@||good.example^"
`;

async function setUp(t: TestContext, text = TEXT) {
  const folder = await tempDir(t);
  const file = join(folder, 'sluice.yaml');
  await writeFile(file, text);
  const open = () => ConfigStore.open({ file, templateFile });
  const first = await open();
  await first.started();
  return { folder, file, open, first };
}

function addRule(store: ConfigStore, rule: string) {
  return store.edit('rules', (config) => planAddRule(config, rule));
}

const DAMAGES: Record<string, (text: string) => string | Buffer> = {
  emptied: () => '',
  'only NUL bytes': (text) => Buffer.alloc(text.length),
  'NUL bytes at the end': (text) => `${text.slice(0, 60)}${'\0'.repeat(text.length - 60)}`,
  'cut in a line': (text) => text.slice(0, -12),
  'cut so that it parses': (text) => text.slice(0, text.indexOf(' # two')),
  'a byte that is not UTF-8': (text) => Buffer.from(text.replace('good', 'g\xf0od'), 'latin1'),
  'a mistake of a person': (text) => text.replace('threads: 2', 'threads: many'),
  'half a list': (text) => `${text}lists: [\n`,
  'white space': () => ' \n\n',
};

for (const [name, damage] of Object.entries(DAMAGES)) {
  test(`${name}: the settings last in use, and both files are named`, async (t) => {
    const { file, open, first } = await setUp(t);
    const damaged = damage(TEXT);
    await writeFile(file, damaged);
    const store = await open();
    assert.deepEqual(store.config, first.config);
    assert.match(store.problem, /sluice\.yaml(:\d+)?: /);
    assert.match(store.problem, /sluice\.yaml\.previous\.$/);
    assert.deepEqual(await readFile(file), Buffer.from(damaged), 'nothing is written over it');
    await store.close();
  });
}

test('a missing file beside a copy is damage, too: not the template', async (t) => {
  const { file, open, first } = await setUp(t);
  await rm(file);
  const store = await open();
  assert.deepEqual(store.config, first.config);
  assert.notEqual(store.problem, '');
  await addRule(store, 'new.example');
  assert.match(await readFile(file, 'utf8'), /192\.0\.2\.53[^]*new\.example/);
  assert.equal(store.problem, '');
});

test('without a usable copy a mistake is an error that names the line', async (t) => {
  const folder = await tempDir(t);
  const file = join(folder, 'sluice.yaml');
  const wrong = { code: 'CONFIG_INVALID', message: /sluice\.yaml:2: rules\[0\]/ };
  await writeFile(file, 'rules:\n  - a: b\n');
  await assert.rejects(ConfigStore.open({ file, templateFile }), wrong);
  await writeFile(`${file}.previous`, 'rules: [\n');
  await assert.rejects(ConfigStore.open({ file, templateFile }), wrong);
  await writeFile(`${file}.previous`, '');
  await writeFile(file, '');
  assert.equal((await ConfigStore.open({ file, templateFile })).problem, '', 'two empty files');
});

test('a copy without a seal, by hand or of an older version, counts', async (t) => {
  const file = join(await tempDir(t), 'sluice.yaml');
  await writeFile(file, '');
  await writeFile(`${file}.previous`, TEXT);
  const store = await ConfigStore.open({ file, templateFile });
  assert.equal(store.config.dns.threads, 2);
  assert.match(store.problem, /the file is empty/);
});

test('the first edit sets the damaged file aside and goes on from the settings in use', async (t) => {
  const { folder, file, open } = await setUp(t);
  const damaged = TEXT.replace('threads: 2', 'threads: many');
  await writeFile(file, damaged);
  const store = await open();
  let changes = 0;
  store.onChange(() => changes++);
  await addRule(store, 'new.example');
  assert.equal(store.problem, '');
  assert.ok(changes > 0);
  assert.match(await readFile(file, 'utf8'), /threads: 2 # two[^]*new\.example/);
  const aside = (await readdir(folder)).find((name) => name.startsWith('sluice.yaml.damaged-'));
  assert.equal(await readFile(join(folder, aside ?? ''), 'utf8'), damaged);
});

test('a file that a person is still mending is not replaced by an edit', async (t) => {
  const { file, open } = await setUp(t);
  await writeFile(file, 'rules: [\n');
  const store = await open();
  await writeFile(file, 'rules: [ "||half.example^",\n');
  await assert.rejects(addRule(store, 'new.example'), { code: 'CONFIG_INVALID' });
  assert.equal(await readFile(file, 'utf8'), 'rules: [ "||half.example^",\n');
  await writeFile(file, 'rules: [ "||half.example^" ]\n');
  await store.reload();
  assert.equal(store.problem, '');
  assert.deepEqual(store.config.rules, ['||half.example^']);
});

test('a file that is emptied while the program runs changes nothing', async (t) => {
  const { file, open } = await setUp(t);
  const store = await open();
  await writeFile(file, '');
  await assert.rejects(store.reload(), { code: 'CONFIG_INVALID', message: /is empty/ });
  await assert.rejects(addRule(store, 'new.example'), { code: 'CONFIG_INVALID' });
  assert.equal(store.config.dns.threads, 2);
});

test('80 flipped bits in the file: never other rules silently, never a start that fails', async (t) => {
  const { file, open, first } = await setUp(t);
  const bytes = Buffer.from(TEXT);
  let unnoticed = 0;
  for (let round = 0; round < 80; round++) {
    const bit = Math.floor(((round + 0.5) / 80) * bytes.length * 8);
    const flipped = Buffer.from(bytes);
    flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    await writeFile(file, flipped);
    const store = await open();
    const isSame = JSON.stringify(store.config) === JSON.stringify(first.config);
    const isTold = store.problem !== '' || /one character differs/.test(store.notice);
    assert.ok(isSame || isTold, `bit ${String(bit)}: ${flipped.toString('latin1')}`);
    if (store.problem === '') unnoticed++;
    await writeFile(file, bytes);
    await store.reload();
    await store.close();
  }
  assert.ok(unnoticed < 80);
});

test('every flipped bit in the copy: the file is used, and the copy made good', async (t) => {
  const { file, open, first } = await setUp(t);
  const whole = await readFile(`${file}.previous`);
  for (let round = 0; round < 80; round++) {
    const bit = Math.floor(((round + 0.5) / 80) * whole.length * 8);
    const flipped = Buffer.from(whole);
    flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    await writeFile(`${file}.previous`, flipped);
    const store = await open();
    assert.deepEqual([store.config, store.problem], [first.config, '']);
    await store.started();
    assert.deepEqual(await readFile(`${file}.previous`), whole);
  }
});

test('rot under a file that nobody wrote is damage, though it parses', async (t) => {
  const { file, open, first } = await setUp(t);
  const copy = `${file}.previous`;
  // As the disk would do it: another content under the same inode and time of change.
  const { fingerprint } = await import('../../main/control/settings/settings-copy.ts');
  await writeFile(file, TEXT.replace('ads.example', 'bds.example'));
  const now = await fingerprint(file);
  const { seal } = await import('../../main/system/sealed-file.ts');
  const note = `# The settings last in use, read from file ${now}\n`;
  await writeFile(copy, seal('settings', note + TEXT));
  const store = await open();
  assert.deepEqual(store.config.rules, first.config.rules);
  assert.match(store.problem, /nobody wrote it/);
});

test('a file in a folder that takes no new files is written in place', async (t) => {
  const { folder, file } = await setUp(t, TEXT.replaceAll('\n', '\r\n'));
  const data = join(folder, 'data');
  await mkdir(data);
  const places = { file, templateFile, copyFolder: data };
  const isRoot = process.getuid?.() === 0;
  if (isRoot) {
    // Root may write anywhere; what is mounted cannot be replaced by anybody.
    try {
      execFileSync('mount', ['--bind', file, file], { stdio: 'ignore' });
    } catch {
      t.skip('no right to mount here');
      return;
    }
  } else {
    await chmod(folder, 0o555);
  }
  try {
    await editInPlace(places, data);
  } finally {
    if (isRoot) execFileSync('umount', [file]);
    else await chmod(folder, 0o755);
  }
});

async function editInPlace(places: Parameters<typeof ConfigStore.open>[0], data: string) {
  const { file } = places;
  const store = await ConfigStore.open(places);
  await addRule(store, 'new.example');
  const text = await readFile(file, 'utf8');
  assert.match(text, /new\.example\^"\r\n$/);
  assert.doesNotMatch(text, /[^\r]\n/, 'every line ends as before');
  assert.match(await readFile(join(data, 'sluice.yaml.previous'), 'utf8'), /new\.example/);
  // Cut off in the middle of such a write: the copy has the new text.
  const { seal } = await import('../../main/system/sealed-file.ts');
  await writeFile(join(data, 'sluice.yaml.previous'), seal('settings', `${text}# more\r\n`));
  await writeFile(file, text.slice(0, 40) + TEXT.slice(30));
  const again = await ConfigStore.open(places);
  assert.equal(again.config.rules.length, 3);
  assert.match(again.problem, /not written to its end|cannot be used/);
  await again.close();
}

test('a copied file with an old time is taken as it is', async (t) => {
  const { file, open } = await setUp(t);
  await writeFile(file, TEXT.replace('threads: 2', 'threads: 4'));
  await utimes(file, 1, 1);
  const store = await open();
  assert.deepEqual([store.config.dns.threads, store.problem], [4, '']);
  await store.close();
});
