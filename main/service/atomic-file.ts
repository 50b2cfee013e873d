/**
 * Writes small files so that a reader, a crash or a power cut finds the old content or the new one,
 * whole. Used for the settings file and the protection state.
 *
 * Order: temporary file in the same folder → fsync → (old content linked as the previous copy) →
 * rename over the target → fsync of the folder. A file left over from a killed write has the
 * suffix `.new` and is overwritten by the next one.
 */
import { constants } from 'node:fs';
import { chmod, chown, copyFile, link, open, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

export interface AtomicOptions {
  /** Mode of a file that does not exist yet; an existing one keeps mode and owner. */
  readonly mode: number;
  /** Keeps the content before this write beside the file, under this suffix. */
  readonly previousSuffix?: string;
}

/**
 * Replaces a file. A symbolic link stays one: the file it points to is replaced.
 *
 * Callers see to it that only one write to a path runs at a time. Throws the system's error; the
 * target is then unchanged.
 */
export async function writeFileAtomic(path: string, text: string, options: AtomicOptions) {
  const target = await realpath(path).catch(() => path);
  const temporary = `${target}.new`;
  const old = await stat(target).catch(() => null);
  try {
    await writeDurably(temporary, text, old?.mode ?? options.mode);
    if (old) await chown(temporary, old.uid, old.gid).catch(() => undefined); // root only; else moot
    if (old && options.previousSuffix !== undefined) {
      await keepPrevious(target, target + options.previousSuffix);
    }
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncFolder(dirname(target));
}

async function writeDurably(path: string, text: string, mode: number): Promise<void> {
  await rm(path, { force: true });
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
  const file = await open(path, flags, mode & 0o777);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await chmod(path, mode & 0o777); // the umask must not narrow what the user chose
}

/** A second name for the old content; the rename that follows leaves it there alone. */
async function keepPrevious(target: string, previous: string): Promise<void> {
  const temporary = `${previous}.new`;
  await rm(temporary, { force: true });
  await link(target, temporary).catch(() => copyFile(target, temporary)); // FAT has no links
  await rename(temporary, previous);
}

async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return; // folders cannot be opened there
  const folder = await open(path, constants.O_RDONLY);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
