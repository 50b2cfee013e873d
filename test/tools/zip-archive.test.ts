/** The zip reader, on archives made here byte by byte. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { crc32, deflateRawSync } from 'node:zlib';
import { unpackZip } from '../../tools/zip-archive.ts';

const folder = await mkdtemp(join(tmpdir(), 'sluice-zip-'));
after(() => rm(folder, { recursive: true }));

interface Member {
  readonly name: string;
  readonly text: string;
  readonly method?: number;
  readonly mode?: number;
}

/** An archive as zip writes it on Unix. */
function zipOf(members: readonly Member[]): Buffer {
  const bodies: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const { name, text, method = 8, mode = 0o100644 } of members) {
    const plain = Buffer.from(text);
    const packed = method === 8 ? deflateRawSync(plain) : plain;
    const shared = Buffer.alloc(26);
    shared.writeUInt16LE(20, 0);
    shared.writeUInt16LE(method, 4);
    shared.writeUInt32LE(crc32(plain), 10);
    shared.writeUInt32LE(packed.length, 14);
    shared.writeUInt32LE(plain.length, 18);
    shared.writeUInt16LE(Buffer.byteLength(name), 22);
    // The local header has an extra field that the directory lacks, as real archives do.
    shared.writeUInt16LE(4, 24);
    const local = Buffer.concat([
      Buffer.from('PK\x03\x04'),
      shared,
      Buffer.from(name),
      Buffer.alloc(4),
      packed,
    ]);
    shared.writeUInt16LE(0, 24);
    const rest = Buffer.alloc(14);
    rest.writeUInt16LE(mode, 8);
    rest.writeUInt32LE(at, 10);
    directory.push(
      Buffer.concat([Buffer.from('PK\x01\x02\x14\x03'), shared, rest, Buffer.from(name)]),
    );
    bodies.push(local);
    at += local.length;
  }
  const entries = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(members.length, 8);
  end.writeUInt16LE(members.length, 10);
  end.writeUInt32LE(entries.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...bodies, entries, end]);
}

let count = 0;
async function unpack(
  archive: Buffer,
  choose: (name: string) => string | null = (name) => name,
): Promise<string> {
  const file = join(folder, `${String(++count)}.zip`);
  await writeFile(file, archive);
  const target = join(folder, String(count));
  await unpackZip(file, target, choose);
  return target;
}

test('unpacks stored and deflated files with their mode, and leaves out what is not chosen', async () => {
  const long = 'abc'.repeat(100_000);
  const archive = zipOf([
    { name: 'App/', text: '' },
    { name: 'App/run', text: long, mode: 0o100755 },
    { name: 'App/data/stored.txt', text: 'plain', method: 0 },
    { name: 'App/data/empty.txt', text: '', method: 0 },
    { name: 'App/other', text: 'no' },
  ]);
  const target = await unpack(archive, (name) =>
    name === 'App/other' ? null : name.slice('App/'.length),
  );
  assert.deepEqual((await readdir(target, { recursive: true })).sort(), [
    'data',
    'data/empty.txt',
    'data/stored.txt',
    'run',
  ]);
  assert.equal(await readFile(join(target, 'run'), 'utf8'), long);
  assert.equal((await stat(join(target, 'run'))).mode & 0o777, 0o755);
  assert.equal(await readFile(join(target, 'data/stored.txt'), 'utf8'), 'plain');
  assert.equal(await readFile(join(target, 'data/empty.txt'), 'utf8'), '');
});

test('refuses what leaves the folder, links, unknown methods and broken archives', async () => {
  await assert.rejects(unpack(zipOf([{ name: '../x', text: 'x' }])), /leaves its folder: \.\.\/x/);
  await assert.rejects(unpack(zipOf([{ name: 'l', text: 'x', mode: 0o120777 }])), /l is a link/);
  await assert.rejects(unpack(zipOf([{ name: 'b', text: 'x', method: 12 }])), /b uses method 12/);
  await assert.rejects(unpack(Buffer.from('PK')), /not a zip archive/);
  const whole = zipOf([{ name: 'a', text: 'some text' }]);
  await assert.rejects(unpack(whole.subarray(0, whole.length - 30)), /not a zip archive/);
  await assert.rejects(unpack(whole.subarray(20)), /zip/);
});
