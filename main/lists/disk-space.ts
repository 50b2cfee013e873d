/**
 * Looks whether the disk has room for a list before it is stored there: a disk that fills up takes
 * the log and the settings with it. Called by fetch-list.ts in the main thread.
 */
import { statfs } from 'node:fs/promises';
import { AppError } from '../contract/errors.ts';
import { LIMITS } from '../contract/limits.ts';

/** Bytes that are free for this program in a directory. */
export type FreeBytes = (directory: string) => Promise<number>;

/** @throws the system's error, where a file system cannot be asked */
export async function freeBytesIn(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}

/**
 * Looks for room for a text, and for about twice as much for the table that it becomes. Sizes that
 * are not known beforehand are 0; what turns out larger than the disk fails when it is written.
 *
 * @throws AppError DISK_FULL
 */
export async function requireRoom(
  directory: string,
  bytes: number,
  free: FreeBytes,
): Promise<void> {
  // A file system that cannot be asked is not known to be full.
  const there = await free(directory).catch(() => Infinity);
  const needed = bytes * 3 + LIMITS.diskReserveBytes;
  if (there >= needed) return;
  throw new AppError(
    'DISK_FULL',
    `no room for the list: ${inMiB(there)} free in ${directory}, ${inMiB(needed)} needed`,
  );
}

/** What a write says when there is no room after all; null for other errors. */
export function diskFullError(error: unknown): AppError | null {
  if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') return null;
  return new AppError('DISK_FULL', 'the disk became full while the list was stored', error);
}

function inMiB(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}
