/**
 * Lists that are packed as files, `.gz` or `.zst`, whatever their name and the headers they come with:
 * told by their first bytes. RFC 1952 §2.3.1, RFC 8878 §3.1.1. Streams; what goes in is bounded here,
 * what comes out by whoever writes it.
 */
import { pipeline } from 'node:stream/promises';
import {
  constants,
  createGunzip,
  createZstdDecompress,
  type Gunzip,
  type ZstdDecompress,
} from 'node:zlib';
import { LIMITS } from '../contract/limits.ts';

const GZIP_MAGIC = 0x1f8b;
const ZSTD_MAGIC = 0x28b52ffd;
const MAGIC_BYTES = 4;

type Decoder = Gunzip | ZstdDecompress;

/** A decoder of zstd that takes a bounded window. */
export function createZstdDecoder(): ZstdDecompress {
  const params = { [constants.ZSTD_d_windowLogMax]: LIMITS.listZstdWindowLogMax };
  return createZstdDecompress({ params });
}

/**
 * The text of a list that may be packed. Chunks of a text that is not are passed on as they are.
 *
 * @param tooLarge  makes the error of more than LIMITS.listBytesMax packed bytes
 */
export async function* unpacked(
  source: AsyncIterable<Buffer>,
  tooLarge: () => Error,
): AsyncGenerator<Buffer> {
  const chunks = source[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  while (head.length < MAGIC_BYTES) {
    const next = await chunks.next();
    if (next.done === true) break;
    head = head.length === 0 ? next.value : Buffer.concat([head, next.value]);
  }
  const decoder = decoderOf(head);
  if (decoder !== null) {
    yield* decoded(head, chunks, decoder, tooLarge);
    return;
  }
  if (head.length > 0) yield head;
  yield* { [Symbol.asyncIterator]: () => chunks };
}

function decoderOf(head: Buffer): Decoder | null {
  if (head.length < MAGIC_BYTES) return null;
  if (head.readUInt16BE(0) === GZIP_MAGIC) return createGunzip();
  return head.readUInt32BE(0) === ZSTD_MAGIC ? createZstdDecoder() : null;
}

async function* decoded(
  head: Buffer,
  chunks: AsyncIterator<Buffer>,
  decoder: Decoder,
  tooLarge: () => Error,
): AsyncGenerator<Buffer> {
  let bytes = 0;
  const packed = async function* (): AsyncGenerator<Buffer> {
    for (let chunk = head; ;) {
      bytes += chunk.length;
      if (bytes > LIMITS.listBytesMax) throw tooLarge();
      // A copy: a decoder reads it later, when its owner may have filled it anew.
      yield Buffer.from(chunk);
      const next = await chunks.next();
      if (next.done === true) return;
      chunk = next.value;
    }
  };
  // What goes wrong here ends the decoder, too, and is thrown by the loop. It is not waited for: at
  // the end of its data a decoder leaves the write unanswered that brought more.
  pipeline(packed, decoder).catch(() => undefined);
  try {
    for await (const chunk of decoder) yield chunk as Buffer;
  } finally {
    decoder.destroy();
  }
  if (decoder.bytesWritten < bytes) {
    throw Object.assign(new Error('more data behind its end'), { code: 'Z_MORE_DATA' });
  }
}

/** Z_DATA_ERROR of zlib, ERR__ERROR_FORMAT_... of brotli, ZSTD_error_... of zstd. */
export function isDecoderError(code: string): boolean {
  return /^(?:Z|ZSTD|ERR_)_/.test(code);
}
