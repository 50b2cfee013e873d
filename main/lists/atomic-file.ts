/**
 * Replaces a file so that a crash at any moment leaves the old content or the new one.
 *
 * Used for the lists' meta file (main thread) and the compiled snapshot (compile thread).
 */
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Ending of files that a crash may leave behind; they are removed at the next start. */
export const TEMPORARY_SUFFIX = '.tmp';

/** Writes the data, or its parts one behind another, to a temporary file beside `path`, syncs it, renames it, and syncs the directory. */
export async function writeFileAtomic(
  path: string,
  data: Uint8Array | string | readonly Uint8Array[],
): Promise<void> {
  const temporary = path + TEMPORARY_SUFFIX;
  try {
    const file = await open(temporary, 'w', 0o600);
    try {
      const parts = typeof data === 'string' || data instanceof Uint8Array ? [data] : data;
      // Each goes where the one before has ended.
      for (const part of parts) await file.writeFile(part);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
  await syncDirectory(dirname(path));
}

/** Makes renames in a directory last. Windows cannot open directories, and needs no such thing. */
export async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
