/**
 * Lists that are packed as files, `.gz` or `.zst`, whatever their name and the headers they come with:
 * told by their first bytes. RFC 1952 §2.3.1, RFC 8878 §3.1.1. Used on a file that is complete.
 */
import { createHash } from 'node:crypto';
import { open, rename, rm, type FileHandle } from 'node:fs/promises';
import * as zlib from 'node:zlib';
import { AppError } from '../../contract/errors.ts';
import { LIMITS } from '../../contract/limits.ts';

const GZIP_MAGIC = 0x1f8b;
const ZSTD_MAGIC = 0x28b52ffd;
const MAGIC_BYTES = 4;
const READ_BYTES = 65_536;

export type Decoder = zlib.Gunzip | zlib.Inflate | zlib.BrotliDecompress | zlib.ZstdDecompress;

/** Runtimes before Node 22.15 cannot read zstd; the desktop app may run in an older Electron. */
export const CAN_READ_ZSTD = 'createZstdDecompress' in zlib;

/** What came out of a packed file. */
export interface Unpacked {
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
}

/** A decoder of zstd that takes a bounded window. @throws AppError LIST_REJECTED in an old runtime */
export function createZstdDecoder(): zlib.ZstdDecompress {
  if (!CAN_READ_ZSTD) {
    throw new AppError('LIST_REJECTED', 'it is packed with zstd, which this runtime cannot read');
  }
  const params = { [zlib.constants.ZSTD_d_windowLogMax]: LIMITS.listZstdWindowLogMax };
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
    const make = decoderOf(head.buffer);
    if (make === null) return null;
    const unpacked = await unpackInto(beside, packed, make, tooLarge);
    await rename(beside, path);
    return unpacked;
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  } finally {
    await packed.close();
  }
}

function decoderOf(head: Buffer): (() => Decoder) | null {
  if (head.readUInt16BE(0) === GZIP_MAGIC) return zlib.createGunzip;
  return head.readUInt32BE(0) === ZSTD_MAGIC ? createZstdDecoder : null;
}

async function unpackInto(
  path: string,
  packed: FileHandle,
  make: () => Decoder,
  tooLarge: () => Error,
): Promise<Unpacked> {
  const hash = createHash('sha256');
  const file = await open(path, 'w', 0o600);
  let bytes = 0;
  try {
    for await (const chunk of decode(chunksOf(packed), make)) {
      bytes += chunk.length;
      if (bytes > LIMITS.listBytesMax) throw tooLarge();
      hash.update(chunk);
      await file.writeFile(chunk);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return { bytes, sha256: hash.digest('hex') };
}

async function* chunksOf(file: FileHandle): AsyncGenerator<Buffer> {
  for (let position = 0; ;) {
    const read = await file.read(Buffer.alloc(READ_BYTES), 0, READ_BYTES, position);
    if (read.bytesRead === 0) return;
    position += read.bytesRead;
    yield read.buffer.subarray(0, read.bytesRead);
  }
}

/**
 * Decodes a body of one or more frames; gzip's members are its decoder's own business.
 *
 * @throws what `isDecoderError` knows, at once, when more comes behind the end of the data
 */
export async function* decode(
  source: AsyncIterable<Buffer>,
  make: () => Decoder,
): AsyncGenerator<Buffer> {
  const input = source[Symbol.asyncIterator]();
  let rest: Buffer | null = null;
  for (let frames = 0; frames < LIMITS.listFramesMax; frames++) {
    const decoder = make();
    const fed = feed(decoder, input, rest);
    // Its errors are the decoder's, which the loop meets.
    fed.catch((error: unknown) => decoder.destroy(error as Error));
    try {
      for await (const chunk of decoder as AsyncIterable<Buffer>) yield chunk;
      rest = await fed;
    } finally {
      decoder.destroy();
    }
    if (rest.length === 0) return;
    if (!(CAN_READ_ZSTD && decoder instanceof zlib.ZstdDecompress)) break;
  }
  throw Object.assign(new Error('more data behind its end'), { code: 'Z_MORE_DATA' });
}

/** Writes until the decoder has come to its end; the result is what it left of the last chunk. */
async function feed(
  decoder: Decoder,
  input: AsyncIterator<Buffer, unknown>,
  first: Buffer | null,
): Promise<Buffer> {
  const ended = new Promise<void>((resolve) => {
    decoder.once('end', resolve).once('close', resolve);
  });
  let bytes = 0;
  let chunk = first;
  for (;;) {
    if (chunk === null) {
      const next = await input.next();
      if (next.done === true) break;
      chunk = next.value;
    }
    const piece: Buffer = chunk;
    bytes += piece.length;
    // Behind the end of its data some decoders never call back, and others take no more.
    const written = new Promise<void>((resolve) => {
      decoder.write(piece, () => {
        resolve();
      });
    });
    await Promise.race([written, ended]);
    if (decoder.bytesWritten < bytes || decoder.readableEnded || decoder.destroyed) {
      return piece.subarray(piece.length - (bytes - decoder.bytesWritten));
    }
    chunk = null;
  }
  decoder.end();
  return Buffer.alloc(0);
}

/** Z_DATA_ERROR of zlib, ERR__ERROR_FORMAT_... of brotli, ZSTD_error_... of zstd. */
export function isDecoderError(code: string): boolean {
  return /^(?:Z|ZSTD|ERR_)_/.test(code);
}
