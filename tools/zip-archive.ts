/**
 * Unpacks chosen entries of a zip archive, since a plain Debian has no unzip. Used only for the
 * stand-in Electron runtime, whose archive has been checked as a whole before.
 *
 * Reads the directory at the end of the archive, then streams each wanted entry to its file.
 * Layout: APPNOTE.TXT 6.3, sections 4.3.7 (local header), 4.3.12 and 4.3.16 (directory and its
 * end). Archives above 4 GiB or 65,534 entries, links and methods other than stored and
 * deflate are refused.
 */
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createInflateRaw } from 'node:zlib';

const END_BYTES = 22;
const COMMENT_BYTES_MAX = 65_535;
const LOCAL_HEADER_BYTES = 30;
const SIGNATURE_END = 0x06054b50;
const SIGNATURE_ENTRY = 0x02014b50;
const SIGNATURE_LOCAL = 0x04034b50;
const METHOD_STORED = 0;
const METHOD_DEFLATE = 8;
const MODE_TYPE = 0o170_000;
const MODE_LINK = 0o120_000;

interface Entry {
  readonly name: string;
  readonly method: number;
  readonly compressedBytes: number;
  readonly headerAt: number;
  /** Unix mode; 0 when the archive was not made on Unix. */
  readonly mode: number;
}

/**
 * @param choose  gives the path below `folder` for an entry's name, or null to leave it out
 * @returns       number of files written
 */
export async function unpackZip(
  archive: string,
  folder: string,
  choose: (name: string) => string | null,
): Promise<number> {
  const file = await open(archive, 'r');
  try {
    let written = 0;
    for (const entry of await readDirectory(file)) {
      const path = entry.name.endsWith('/') ? null : choose(entry.name);
      if (path === null) continue;
      if (path.split('/').includes('..')) throw new Error(`zip entry leaves its folder: ${path}`);
      await writeEntry(file, archive, entry, join(folder, path));
      written++;
    }
    return written;
  } finally {
    await file.close();
  }
}

async function readDirectory(file: FileHandle): Promise<Entry[]> {
  const { size } = await file.stat();
  const tail = await readBytes(file, Math.max(0, size - END_BYTES - COMMENT_BYTES_MAX), size);
  let at = tail.length - END_BYTES;
  while (at >= 0 && tail.readUInt32LE(at) !== SIGNATURE_END) at--;
  if (at < 0) throw new Error('not a zip archive, or cut short');
  const count = tail.readUInt16LE(at + 10);
  const start = tail.readUInt32LE(at + 16);
  if (count === 0xffff || start === 0xffff_ffff) throw new Error('zip archive is too large');
  const bytes = await readBytes(file, start, start + tail.readUInt32LE(at + 12));
  const entries: Entry[] = [];
  for (let position = 0; entries.length < count;) {
    if (bytes.readUInt32LE(position) !== SIGNATURE_ENTRY)
      throw new Error('zip directory is broken');
    const nameBytes = bytes.readUInt16LE(position + 28);
    const nameAt = position + 46;
    entries.push({
      name: bytes.toString('utf8', nameAt, nameAt + nameBytes),
      method: bytes.readUInt16LE(position + 10),
      compressedBytes: bytes.readUInt32LE(position + 20),
      headerAt: bytes.readUInt32LE(position + 42),
      mode: bytes.readUInt32LE(position + 38) >>> 16,
    });
    const extraBytes = bytes.readUInt16LE(position + 30) + bytes.readUInt16LE(position + 32);
    position = nameAt + nameBytes + extraBytes;
  }
  return entries;
}

async function writeEntry(
  file: FileHandle,
  archive: string,
  entry: Entry,
  path: string,
): Promise<void> {
  const header = await readBytes(file, entry.headerAt, entry.headerAt + LOCAL_HEADER_BYTES);
  if (header.readUInt32LE(0) !== SIGNATURE_LOCAL)
    throw new Error(`zip entry broken: ${entry.name}`);
  const start =
    entry.headerAt + LOCAL_HEADER_BYTES + header.readUInt16LE(26) + header.readUInt16LE(28);
  if ((entry.mode & MODE_TYPE) === MODE_LINK) {
    throw new Error(`zip entry ${entry.name} is a link`);
  }
  await mkdir(dirname(path), { recursive: true });
  const source =
    entry.compressedBytes === 0
      ? Readable.from([])
      : createReadStream(archive, { start, end: start + entry.compressedBytes - 1 });
  const target = createWriteStream(path, { mode: entry.mode & 0o777 || 0o644 });
  if (entry.method === METHOD_STORED) await pipeline(source, target);
  else if (entry.method === METHOD_DEFLATE) await pipeline(source, createInflateRaw(), target);
  else throw new Error(`zip entry ${entry.name} uses method ${String(entry.method)}`);
}

async function readBytes(file: FileHandle, start: number, end: number): Promise<Buffer> {
  const bytes = Buffer.alloc(end - start);
  const { bytesRead } = await file.read(bytes, 0, bytes.length, start);
  if (bytesRead !== bytes.length) throw new Error('zip archive is cut short');
  return bytes;
}
