/**
 * Looks whether the disk has room for a list before it is stored there: a disk that fills up takes
 * the log and the settings with it. Called by fetch-list.ts in the main thread.
 */
import { statfs } from 'node:fs/promises';
import { AppError } from '../../contract/errors.ts';
import { LIMITS } from '../../contract/limits.ts';

/** Bytes of the disk that holds a directory: those free for this program, and all. */
export interface DiskRoom {
  readonly free: number;
  readonly total: number;
}

export type AskDisk = (directory: string) => Promise<DiskRoom>;

/** Of a small disk an eighth stays free, and no more than LIMITS.diskReserveBytes. */
const RESERVE_PART = 8;

/** @throws the system's error, where a file system cannot be asked */
export async function askDisk(directory: string): Promise<DiskRoom> {
  const { bavail, blocks, bsize } = await statfs(directory);
  return { free: bavail * bsize, total: blocks * bsize };
}

/**
 * Looks for room for a text, and for about twice as much for the table that it becomes. Sizes that
 * are not known beforehand are 0; what turns out larger than the disk fails when it is written.
 *
 * @throws AppError DISK_FULL
 */
export async function requireRoom(directory: string, bytes: number, ask: AskDisk): Promise<void> {
  const disk = await ask(directory).catch(() => null);
  // A file system that cannot be asked is not known to be full.
  if (disk === null) return;
  const { free, total } = disk;
  const needed = bytes * 3 + Math.min(LIMITS.diskReserveBytes, total / RESERVE_PART);
  if (free >= needed) return;
  throw new AppError(
    'DISK_FULL',
    `no room for the list: ${inMiB(free)} free in ${directory}, ${inMiB(needed)} needed`,
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
