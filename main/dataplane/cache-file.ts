/**
 * The answers of a data-plane thread on disk, over a restart (setting cache.persist). Read before
 * the thread listens and written when it ends, so nobody waits; whole or not at all.
 */
import { readFileSync, rmSync, statSync } from 'node:fs';
import { LIMITS } from '../contract/limits.ts';
import { replaceDurably } from '../system/durable-file.ts';

/** The saved bytes; null when there are none, or too many to be ours. */
export function readCacheFile(file: string): Uint8Array | null {
  try {
    if (statSync(file).size > LIMITS.cacheFileBytesMax) return null;
    return readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Replaces the file; for this user only, because it tells where people have been. */
export function writeCacheFile(file: string, image: Uint8Array): void {
  replaceDurably(file, image, 0o600, `${file}.partial`);
}

/** Removes what an earlier run left. */
export function removeCacheFile(file: string): void {
  rmSync(file, { force: true });
  rmSync(`${file}.partial`, { force: true });
}
