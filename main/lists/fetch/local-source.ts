/**
 * Takes lists that are on this machine: `file:///path` and `builtin:name`. They are copied into the
 * list directory like downloads, so that the program does not depend on the file afterwards.
 */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, rm, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AppError } from '../../contract/errors.ts';
import { LIMITS } from '../../contract/limits.ts';
import { isDecoderError, unpackFile } from './decompress.ts';
import { diskFullError } from './disk-space.ts';
import type { Fetched } from './download.ts';
import { inMiB } from '../compile/validate.ts';

/** Windows has no such flag, and undefined there. */
const NONBLOCK = (constants as { O_NONBLOCK?: number }).O_NONBLOCK ?? 0;
const COPY_BYTES = 65_536;

/**
 * The file of a `file:` or `builtin:` URL.
 *
 * @throws AppError LIST_REJECTED when the URL names none
 */
export function localPath(url: string, builtinDirectory: string): string {
  if (url.startsWith('builtin:')) {
    const name = url.slice('builtin:'.length);
    if (/^[a-z0-9-]{1,64}$/.test(name)) return join(builtinDirectory, `${name}.txt`);
    throw new AppError('LIST_REJECTED', `there is no built-in list "${name.slice(0, 64)}"`);
  }
  try {
    return fileURLToPath(url);
  } catch (error) {
    throw new AppError('LIST_REJECTED', `"${url.slice(0, 200)}" names no file`, error);
  }
}

/**
 * Copies a local list.
 *
 * @param stamp   `lastModified` of the copy in use: time and size of the file, '' for none
 * @param makeRoom  throws when the disk has no room for so many bytes
 * @returns       null when time and size are those of the copy in use
 * @throws AppError LIST_UNREACHABLE or LIST_REJECTED, or what `makeRoom` throws
 */
export async function copyLocalList(
  path: string,
  stamp: string,
  target: string,
  makeRoom?: (bytes: number) => Promise<void>,
): Promise<Fetched | null> {
  let source: FileHandle | null = null;
  try {
    // Without NONBLOCK, opening a named pipe would wait for its writer.
    source = await open(path, constants.O_RDONLY | NONBLOCK);
    const facts = await source.stat();
    if (!facts.isFile()) throw new AppError('LIST_REJECTED', `${path} is not a regular file`);
    if (facts.size > LIMITS.listBytesMax) throw tooLarge(path);
    const lastModified = `${String(facts.mtimeMs)} ${String(facts.size)}`;
    if (lastModified === stamp) return null;
    await makeRoom?.(facts.size);
    const copied = await copy(source, path, target);
    return { ...copied, etag: '', lastModified, isFromPublic: false };
  } catch (error) {
    await rm(target, { force: true });
    throw asAppError(error, path);
  } finally {
    await source?.close();
  }
}

function asAppError(error: unknown, path: string): Error {
  if (error instanceof AppError) return error;
  const full = diskFullError(error);
  if (full) return full;
  const text = error instanceof Error ? error.message : String(error);
  return isDecoderError((error as NodeJS.ErrnoException).code ?? '')
    ? new AppError('LIST_REJECTED', `${path} is packed, and damaged: ${text}`, error)
    : new AppError('LIST_UNREACHABLE', `file cannot be read: ${text}`, error);
}

async function copy(
  source: FileHandle,
  path: string,
  target: string,
): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash('sha256');
  const file = await open(target, 'w', 0o600);
  let bytes = 0;
  try {
    // One buffer for all of it: the many of a stream would wait for a collection.
    const buffer = Buffer.alloc(COPY_BYTES);
    for (;;) {
      const { bytesRead } = await source.read(buffer, 0, buffer.length, null);
      if (bytesRead === 0) break;
      const chunk = buffer.subarray(0, bytesRead);
      bytes += chunk.length;
      if (bytes > LIMITS.listBytesMax) throw tooLarge(path);
      hash.update(chunk);
      await file.writeFile(chunk);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  const unpacked = await unpackFile(target, () => tooLarge(path));
  return unpacked ?? { bytes, sha256: hash.digest('hex') };
}

function tooLarge(path: string): AppError {
  return new AppError('LIST_REJECTED', `${path} is larger than ${inMiB(LIMITS.listBytesMax)}`);
}
