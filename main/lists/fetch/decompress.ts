/**
 * Lists that are packed as files, `.gz` or `.zst`, whatever their name and the headers they come with:
 * told by their first bytes. RFC 1952 §2.3.1, RFC 8878 §3.1.1. Used on a file that is complete.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { open, rename, rm, type FileHandle } from 'node:fs/promises';
import zlib, { constants, createGunzip, type Gunzip, type ZstdDecompress } from 'node:zlib';
import { LIMITS } from '../../contract/limits.ts';

const GZIP_MAGIC = 0x1f8b;
const ZSTD_MAGIC = 0x28b52ffd;
const MAGIC_BYTES = 4;
const READ_BYTES = 65_536;

type Decoder = Gunzip | ZstdDecompress;

/** What came out of a packed file. */
export interface Unpacked {
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
}

/**
 * A decoder of zstd that takes a bounded window. Not imported by its name: the Node inside an older
 * Electron, as the tests use, has none, and is to start all the same.
 */
export function createZstdDecoder(): ZstdDecompress {
  const params = { [constants.ZSTD_d_windowLogMax]: LIMITS.listZstdWindowLogMax };
  return zlib.createZstdDecompress({ params });
}

/**
 * Puts the text of a packed file in its place; leaves every other file as it is.
 *
 * @param tooLarge  makes the error of a text of more than LIMITS.listBytesMax
 * @returns         null when the file is not packed
 * @throws          what `isDecoderError` knows when it is damaged, or the system's error
 */
export async function unpackFile(path: string, tooLarge: () => Error): Promise<Unpacked | null> {
  const packed = await open(path, 'r');
  const beside = `${path}.unpacked`;
  try {
    const head = await packed.read(Buffer.alloc(MAGIC_BYTES), 0, MAGIC_BYTES, 0);
    const decoder = decoderOf(head.buffer);
    if (decoder === null) return null;
    const unpacked = await unpackInto(beside, packed, decoder, tooLarge);
    await rename(beside, path);
    return unpacked;
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  } finally {
    await packed.close();
  }
}

function decoderOf(head: Buffer): Decoder | null {
  if (head.readUInt16BE(0) === GZIP_MAGIC) return createGunzip();
  return head.readUInt32BE(0) === ZSTD_MAGIC ? createZstdDecoder() : null;
}

async function unpackInto(
  path: string,
  packed: FileHandle,
  decoder: Decoder,
  tooLarge: () => Error,
): Promise<Unpacked> {
  const { size } = await packed.stat();
  const hash = createHash('sha256');
  const file = await open(path, 'w', 0o600);
  let bytes = 0;
  try {
    // Not waited for: behind the end of its data a decoder never answers. Its own errors come below.
    feed(decoder, packed).catch((error: unknown) => decoder.destroy(error as Error));
    for await (const chunk of decoder as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > LIMITS.listBytesMax) throw tooLarge();
      hash.update(chunk);
      await file.writeFile(chunk);
    }
    if (decoder.bytesWritten < size) {
      throw Object.assign(new Error('more data behind its end'), { code: 'Z_MORE_DATA' });
    }
    await file.sync();
  } finally {
    decoder.destroy();
    await file.close();
  }
  return { bytes, sha256: hash.digest('hex') };
}

async function feed(decoder: Decoder, packed: FileHandle): Promise<void> {
  for (let position = 0; ;) {
    const { bytesRead, buffer } = await packed.read(
      Buffer.alloc(READ_BYTES),
      0,
      READ_BYTES,
      position,
    );
    if (decoder.destroyed) return;
    if (bytesRead === 0) {
      decoder.end();
      return;
    }
    position += bytesRead;
    if (!decoder.write(buffer.subarray(0, bytesRead))) await once(decoder, 'drain');
  }
}

/** Z_DATA_ERROR of zlib, ERR__ERROR_FORMAT_... of brotli, ZSTD_error_... of zstd. */
export function isDecoderError(code: string): boolean {
  return /^(?:Z|ZSTD|ERR_)_/.test(code);
}
