/**
 * The file that is imported, as an open descriptor: it is never opened by its name again, so nobody
 * can put another one in its place. In the process that reads imports.
 */
import { closeSync, fstatSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AppError } from '../../../contract/errors.ts';

const CHUNK_BYTES = 1024 * 1024;

export interface ImportSource {
  readonly size: number;
  /** What a person called the file: a hint, no more. */
  readonly name: string;
  /** A folder for copies. */
  readonly scratch: string;
  /** At most `length` bytes from a place on. */
  read(at: number, length: number): Buffer;
}

/** @param descriptor  of a regular file; the caller closes it */
export function fileSource(descriptor: number, name: string, scratch: string): ImportSource {
  const { size } = fstatSync(descriptor);
  return {
    size,
    name,
    scratch,
    read: (at, length) => {
      const bytes = Buffer.alloc(Math.min(length, Math.max(0, size - at)));
      let done = 0;
      while (done < bytes.length) {
        const count = readSync(descriptor, bytes, done, bytes.length - done, at + done);
        if (count === 0) break;
        done += count;
      }
      return bytes.subarray(0, done);
    },
  };
}

/** A part of an archive. */
export function bytesSource(bytes: Uint8Array, name: string, scratch = tmpdir()): ImportSource {
  return {
    size: bytes.length,
    name,
    scratch,
    read: (at, length) => Buffer.from(bytes.subarray(at, at + length)),
  };
}

/** All of it. @throws AppError IMPORT_REFUSED when it is longer than `bytesMax` */
export function readAll(source: ImportSource, bytesMax: number): Buffer {
  if (source.size > bytesMax) {
    const most = `${String(Math.floor(bytesMax / 1024 / 1024))} MiB`;
    throw new AppError('IMPORT_REFUSED', `the file is too large: at most ${most} of this kind`);
  }
  return source.read(0, source.size);
}

/**
 * Copies it into a folder of its own for somebody who needs a path.
 *
 * @param patch  changes the first bytes of the copy
 * @returns      what `use` returns; the copy is gone by then
 */
export function withCopy<Result>(
  source: ImportSource,
  patch: (head: Buffer) => void,
  use: (path: string) => Result,
): Result {
  const folder = mkdtempSync(join(source.scratch, 'sluice-import-'));
  try {
    const path = join(folder, 'copy');
    const target = openSync(path, 'wx', 0o600);
    try {
      for (let at = 0; at < source.size;) {
        const bytes = source.read(at, CHUNK_BYTES);
        if (bytes.length === 0) break;
        if (at === 0) patch(bytes);
        for (let done = 0; done < bytes.length;) {
          done += writeSync(target, bytes, done, bytes.length - done, at + done);
        }
        at += bytes.length;
      }
    } finally {
      closeSync(target);
    }
    return use(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    throw new AppError('IMPORT_REFUSED', `there is no room for a copy of it in ${folder}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Gets what is being read now, for people. */
export type OnStage = (stage: string) => void;
