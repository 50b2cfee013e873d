/**
 * Replaces a file so that a crash at any moment leaves the old content or the new one.
 *
 * Used for the lists' meta file.
 */
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Ending of files that a crash may leave behind; they are removed at the next start. */
export const TEMPORARY_SUFFIX = '.tmp';

/** Writes to a temporary file beside `path`, syncs it, renames it, and syncs the directory. */
export async function writeFileAtomic(path: string, data: string): Promise<void> {
  const temporary = path + TEMPORARY_SUFFIX;
  try {
    const file = await open(temporary, 'w', 0o600);
    try {
      await file.writeFile(data);
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
