/**
 * Takes archives apart, in memory and within bounds: zip and tar.gz. Nothing is ever written under
 * a name that an archive gives, and names that point outside of it end the import, because no real
 * backup has them. Called by pi-hole.ts.
 */
import { createInflateRaw, gunzipSync } from 'node:zlib';
import { parseTar, type ParsedTarFileItem } from 'nanotar';
import { AppError } from '../../../contract/errors.ts';
import { LIMITS } from '../../../contract/limits.ts';

/** Contents by name, as "etc/pihole/gravity.db". */
export type ArchiveFiles = ReadonlyMap<string, Uint8Array>;

const END_OF_DIRECTORY = 0x06054b50;
const DIRECTORY_ENTRY = 0x02014b50;
const LOCAL_ENTRY = 0x04034b50;
/** APPNOTE 4.3.16: 22 bytes and a comment of at most 65,535. */
const END_BYTES = 22;
const END_SEARCH_BYTES = END_BYTES + 65_535;
const ENTRY_BYTES = 46;
const LOCAL_BYTES = 30;
const METHOD_STORED = 0;
const METHOD_DEFLATED = 8;
const FLAG_ENCRYPTED = 1;

/**
 * @param isWanted  which names to unpack; the others are passed over
 * @throws AppError IMPORT_REFUSED
 */
export function untar(gzip: Uint8Array, isWanted: (name: string) => boolean): ArchiveFiles {
  let tar: Buffer;
  try {
    tar = gunzipSync(gzip, { maxOutputLength: LIMITS.importArchiveBytesMax });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw refused(
      code === 'ERR_BUFFER_TOO_LARGE' ? 'it unpacks to too much' : 'its compression is damaged',
    );
  }
  const files = new Map<string, Uint8Array>();
  for (const { name, data, type } of tarEntries(tar)) {
    const plain = safeName(name);
    if (files.size >= LIMITS.importFilesMax) throw refused('it holds too many files');
    if (type !== 'file' && type !== undefined) continue;
    if (data && isWanted(plain)) files.set(plain, data);
  }
  return files;
}

function tarEntries(tar: Uint8Array): ParsedTarFileItem[] {
  try {
    // The package reads the whole memory that an array lies in: give it a copy with its own.
    return parseTar(new Uint8Array(tar));
  } catch {
    throw refused('it is no tar archive');
  }
}

/** As `untar`. Reads the central directory; zip64, encryption and rare methods are refused. */
export async function unzip(
  zip: Uint8Array,
  isWanted: (name: string) => boolean,
): Promise<ArchiveFiles> {
  const bytes = Buffer.from(zip.buffer, zip.byteOffset, zip.byteLength);
  const files = new Map<string, Uint8Array>();
  let total = 0;
  for (const entry of zipEntries(bytes)) {
    if (!isWanted(entry.name)) continue;
    const data = await unpacked(bytes, entry, LIMITS.importArchiveBytesMax - total);
    total += data.length;
    files.set(entry.name, data);
  }
  return files;
}

interface ZipEntry {
  readonly name: string;
  readonly method: number;
  readonly packedBytes: number;
  readonly localAt: number;
}

function zipEntries(bytes: Buffer): ZipEntry[] {
  const end = endOfDirectory(bytes);
  const count = bytes.readUInt16LE(end + 10);
  let at = bytes.readUInt32LE(end + 16);
  if (count > LIMITS.importFilesMax) throw refused('it holds too many files');
  const entries: ZipEntry[] = [];
  for (let index = 0; index < count; index++) {
    if (at + ENTRY_BYTES > bytes.length || bytes.readUInt32LE(at) !== DIRECTORY_ENTRY) {
      throw refused('its directory is damaged');
    }
    if ((bytes.readUInt16LE(at + 8) & FLAG_ENCRYPTED) !== 0) throw refused('it is encrypted');
    const nameBytes = bytes.readUInt16LE(at + 28);
    const name = safeName(bytes.toString('utf8', at + ENTRY_BYTES, at + ENTRY_BYTES + nameBytes));
    entries.push({
      name,
      method: bytes.readUInt16LE(at + 10),
      packedBytes: bytes.readUInt32LE(at + 20),
      localAt: bytes.readUInt32LE(at + 42),
    });
    at += ENTRY_BYTES + nameBytes + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
  }
  return entries;
}

function endOfDirectory(bytes: Buffer): number {
  const last = bytes.length - END_BYTES;
  for (let at = last; at >= 0 && at > last - END_SEARCH_BYTES; at--) {
    if (bytes.readUInt32LE(at) === END_OF_DIRECTORY) return at;
  }
  throw refused('it is no zip archive, or cut short');
}

async function unpacked(bytes: Buffer, entry: ZipEntry, bytesMax: number): Promise<Uint8Array> {
  const { method, packedBytes, localAt, name } = entry;
  if (localAt + LOCAL_BYTES > bytes.length || bytes.readUInt32LE(localAt) !== LOCAL_ENTRY) {
    throw refused(`its file ${name} is damaged`);
  }
  const head = LOCAL_BYTES + bytes.readUInt16LE(localAt + 26) + bytes.readUInt16LE(localAt + 28);
  const packed = bytes.subarray(localAt + head, localAt + head + packedBytes);
  if (packed.length !== packedBytes) throw refused(`its file ${name} is cut short`);
  if (method === METHOD_STORED) {
    if (packed.length > bytesMax) throw refused('it unpacks to too much');
    return packed;
  }
  if (method !== METHOD_DEFLATED) throw refused(`its file ${name} is packed in an unknown way`);
  return inflated(packed, name, bytesMax);
}

async function inflated(packed: Buffer, name: string, bytesMax: number): Promise<Uint8Array> {
  const stream = createInflateRaw();
  const parts: Buffer[] = [];
  let length = 0;
  stream.end(packed);
  try {
    for await (const part of stream as AsyncIterable<Buffer>) {
      length += part.length;
      if (length > bytesMax) throw refused('it unpacks to too much');
      parts.push(part);
    }
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw refused(`its file ${name} is damaged`);
  }
  return Buffer.concat(parts);
}

/** The name without "./" in front. @throws AppError for one that points outside of the archive */
function safeName(name: string): string {
  const plain = name.replaceAll('\\', '/').replace(/^(\.\/)+/, '');
  const isOutside = plain.startsWith('/') || /^[a-z]:/i.test(plain) || plain.includes('\0');
  if (isOutside || plain.split('/').includes('..')) {
    throw refused(`it holds a file ${JSON.stringify(name.slice(0, 80))}, which points outside`);
  }
  return plain;
}

function refused(why: string): AppError {
  return new AppError('IMPORT_REFUSED', `the archive cannot be imported: ${why}`);
}
