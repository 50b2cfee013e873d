/** Small state files with a seal (main/system/sealed-file.ts): no damage goes unnoticed. */
import assert from 'node:assert/strict';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { seal, SealedFile, unseal } from '../../main/system/sealed-file.ts';
import { tempDir } from '../support/temp-dir.ts';

interface Value {
  readonly names: readonly string[];
}

function parse(json: unknown): Value | undefined {
  const { names } = (json ?? {}) as Partial<Value>;
  return Array.isArray(names) ? { names } : undefined;
}

const VALUE: Value = { names: ['a.example', 'b.example'] };

test('what is written is read, and missing is not damaged', async (t) => {
  const path = join(await tempDir(t), 'state.json');
  const file = new SealedFile({ path, kind: 'names', parse });
  assert.deepEqual(file.read(), { state: 'missing' });
  await file.write(VALUE);
  assert.deepEqual(file.read(), { state: 'whole', value: VALUE });
});

test('every single flipped bit and every cut is damage', () => {
  const whole = Buffer.from(seal('names', JSON.stringify(VALUE)));
  for (let bit = 0; bit < whole.length * 8; bit++) {
    const flipped = Buffer.from(whole);
    flipped[bit >> 3] = (flipped[bit >> 3] as number) ^ (1 << (bit & 7));
    assert.equal(unseal('names', flipped).state, 'damaged', `bit ${String(bit)}`);
  }
  for (let length = 16; length < whole.length; length++) {
    assert.equal(unseal('names', whole.subarray(0, length)).state, 'damaged', String(length));
  }
  assert.equal(unseal('others', whole).state, 'damaged', 'the file of another state');
});

test('a damaged file is set aside, and the next write is good again', async (t) => {
  const folder = await tempDir(t);
  const path = join(folder, 'state.json');
  const file = new SealedFile({ path, kind: 'names', parse });
  await file.write(VALUE);
  const text = await readFile(path, 'utf8');
  await writeFile(path, text.replace('a.example', 'c.example'));
  const found = file.read();
  assert.equal(found.state, 'damaged');
  assert.match(found.sentence, /state\.json\.damaged$/);
  assert.deepEqual(await readdir(folder), ['state.json.damaged']);
  await file.write(VALUE);
  assert.equal(file.read().state, 'whole');
});

for (const content of ['', '{', 'null', '[]', '{"names":5}', '\0\0\0\0', '{"names":["x"]']) {
  test(`without a seal, ${JSON.stringify(content)} is damaged`, async (t) => {
    const path = join(await tempDir(t), 'state.json');
    await writeFile(path, content);
    assert.equal(new SealedFile({ path, kind: 'names', parse }).read().state, 'damaged');
  });
}

test('the plain JSON of an older version is read once', async (t) => {
  const path = join(await tempDir(t), 'state.json');
  await writeFile(path, JSON.stringify(VALUE));
  const file = new SealedFile({ path, kind: 'names', parse });
  assert.deepEqual(file.read(), { state: 'whole', value: VALUE });
  await file.write(VALUE);
  assert.match(await readFile(path, 'utf8'), /^# sluice-sealed 1 names [0-9a-f]{64} \d+\n/);
});
