import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { LIMITS } from '../../../main/contract/limits.ts';
import { copyLocalList, localPath } from '../../../main/lists/fetch/local-source.ts';
import { tempDir } from '../../support/temp-dir.ts';

test('a file is copied once for each time and size it has', async (t) => {
  const directory = await tempDir(t);
  const path = join(directory, 'my list.txt');
  const target = join(directory, 'list.new');
  writeFileSync(path, 'a.example\n');
  assert.equal(localPath(pathToFileURL(path).href, '/nowhere'), path);
  const first = await copyLocalList(path, '', target);
  assert.equal(first?.bytes, 10);
  assert.equal(readFileSync(target, 'utf8'), 'a.example\n');
  assert.equal(await copyLocalList(path, first.lastModified, target), null);
  utimesSync(path, 1, 1);
  assert.equal((await copyLocalList(path, first.lastModified, target))?.sha256, first.sha256);
});

test('a packed file is unpacked, and a damaged one refused', async (t) => {
  const directory = await tempDir(t);
  const target = join(directory, 'list.new');
  const text = Buffer.from('a.example\n'.repeat(50_000));
  for (const compress of [gzipSync, zstdCompressSync]) {
    const path = join(directory, 'list.packed');
    const packed = compress(text);
    writeFileSync(path, packed);
    assert.equal((await copyLocalList(path, '', target))?.bytes, text.length);
    assert.ok(readFileSync(target).equals(text));
    packed.fill(0x55, packed.length >> 1);
    writeFileSync(path, packed);
    await assert.rejects(copyLocalList(path, '', target), {
      code: 'LIST_REJECTED',
      message: /packed, and damaged/,
    });
    writeFileSync(path, Buffer.concat([compress(text), Buffer.alloc(100_000, 0x55)]));
    await assert.rejects(copyLocalList(path, '', target), { message: /packed, and damaged/ });
    writeFileSync(path, compress(Buffer.alloc(LIMITS.listBytesMax + 1, 0x61)));
    await assert.rejects(copyLocalList(path, '', target), { message: /larger than 64 MiB/ });
    assert.equal(existsSync(target), false);
  }
});

test('what is no readable list file is refused, and no half copy stays', async (t) => {
  const directory = await tempDir(t);
  const target = join(directory, 'list.new');
  const large = join(directory, 'large.txt');
  writeFileSync(large, '');
  truncateSync(large, LIMITS.listBytesMax + 1);
  await assert.rejects(copyLocalList(directory, '', target), {
    code: 'LIST_REJECTED',
    message: /not a regular file/,
  });
  await assert.rejects(copyLocalList(large, '', target), {
    code: 'LIST_REJECTED',
    message: /larger than 64 MiB/,
  });
  await assert.rejects(copyLocalList(join(directory, 'none'), '', target), {
    code: 'LIST_UNREACHABLE',
    message: /ENOENT/,
  });
  assert.equal(existsSync(target), false);
});

const isUnix = process.platform !== 'win32';
test(
  'devices and pipes are refused without waiting',
  { skip: !isUnix && 'no pipes' },
  async (t) => {
    const directory = await tempDir(t);
    const pipe = join(directory, 'pipe');
    execFileSync('mkfifo', [pipe]);
    for (const path of [pipe, '/dev/zero']) {
      await assert.rejects(copyLocalList(path, '', join(directory, 'list.new')), {
        code: 'LIST_REJECTED',
        message: /not a regular file/,
      });
    }
  },
);

test('built-in lists are found by plain names only', () => {
  assert.equal(localPath('builtin:starter', '/res'), join('/res', 'starter.txt'));
  for (const url of ['builtin:', 'builtin:../x', 'builtin:a/b', 'builtin:A']) {
    assert.throws(() => localPath(url, '/res'), { code: 'LIST_REJECTED' }, url);
  }
  assert.throws(() => localPath('file://host/a', '/res'), { code: 'LIST_REJECTED' });
});
