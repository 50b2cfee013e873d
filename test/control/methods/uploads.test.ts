/**
 * Files that doors are sent: private, bounded, and gone when they were used or forgotten.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { LIMITS } from '../../../main/contract/limits.ts';
import { Uploads } from '../../../main/control/methods/uploads.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { FakeClock } from '../fakes.ts';

async function setUp(t: TestContext) {
  const folder = await tempDir(t);
  const clock = new FakeClock();
  const uploads = new Uploads(folder, clock);
  t.after(() => uploads.close());
  return { folder: join(folder, 'uploads'), clock, uploads };
}

const piece = (text: string) => Buffer.from(text);

test('pieces become one private file, which is deleted after use', async (t) => {
  const { uploads, folder } = await setUp(t);
  const { id, bytes } = await uploads.append(null, piece('one '));
  assert.equal(bytes, 4);
  const [, last] = await Promise.all([
    uploads.append(id, piece('two ')),
    uploads.append(id, piece('three')),
  ]);
  assert.equal(last.bytes, 13);
  const file = uploads.fileOf(id);
  assert.equal(await readFile(file, 'utf8'), 'one two three');
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.equal((await stat(folder)).mode & 0o777, 0o700);
  await uploads.drop(id);
  await uploads.drop(id);
  assert.deepEqual(await readdir(folder), []);
  assert.throws(() => uploads.fileOf(id), { code: 'UPLOAD_UNKNOWN' });
  await assert.rejects(uploads.append(id, piece('x')), { code: 'UPLOAD_UNKNOWN' });
});

test('an id is nothing but an id', async (t) => {
  const { uploads } = await setUp(t);
  for (const id of ['', '..', '../sluice.yaml', '/etc/passwd', 'A'.repeat(22)]) {
    assert.throws(() => uploads.fileOf(id), { code: 'UPLOAD_UNKNOWN' });
    await assert.rejects(uploads.append(id, piece('x')), { code: 'UPLOAD_UNKNOWN' });
  }
});

test('number and bytes are bounded, and what is forgotten is deleted', async (t) => {
  const { uploads, folder, clock } = await setUp(t);
  for (let count = 0; count < LIMITS.uploadsMax; count++) await uploads.append(null, piece('x'));
  await assert.rejects(uploads.append(null, piece('x')), { code: 'TOO_MANY' });
  assert.equal((await readdir(folder)).length, LIMITS.uploadsMax);
  clock.advance(LIMITS.uploadMs);
  while ((await readdir(folder)).length > 0) await new Promise((resolve) => setImmediate(resolve));

  const { id } = await uploads.append(null, piece('begun'));
  const huge = { length: LIMITS.uploadBytesMax } as Uint8Array;
  await assert.rejects(uploads.append(id, huge), { code: 'TOO_MANY' });
  assert.deepEqual(await readdir(folder), [], 'what was too large is gone');
  assert.equal(uploads.bytes, 0);
  await uploads.append(null, piece('room again'));
});

test('use prolongs a life, and the start deletes what another run left', async (t) => {
  const data = await tempDir(t);
  await mkdir(join(data, 'uploads'));
  await writeFile(join(data, 'uploads', 'old'), 'x');
  const clock = new FakeClock();
  const uploads = new Uploads(data, clock);
  t.after(() => uploads.close());
  const { id } = await uploads.append(null, piece('new'));
  assert.ok(!existsSync(join(data, 'uploads', 'old')));
  for (let round = 0; round < 3; round++) {
    clock.advance(LIMITS.uploadMs - 1);
    uploads.fileOf(id);
  }
  await uploads.close();
  assert.deepEqual(await readdir(join(data, 'uploads')), []);
});

test('a folder that takes nothing says so', async (t) => {
  const { uploads, folder } = await setUp(t);
  await uploads.drop((await uploads.append(null, piece('x'))).id);
  await rm(folder, { recursive: true });
  await writeFile(folder, 'a file in its place');
  await assert.rejects(uploads.append(null, piece('x')), { code: 'DATA_FOLDER_UNUSABLE' });
  assert.equal(uploads.bytes, 0);
});
