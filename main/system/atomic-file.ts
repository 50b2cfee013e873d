/**
 * Writes files so that a reader, a crash or a power cut finds the old content or the new one, whole.
 *
 * Order: temporary file in the same folder → fsync → rename over the target → fsync of the folder.
 * A file left over from a killed write has the suffix `.new` and is overwritten by the next one.
 * Main thread.
 */
import { constants } from 'node:fs';
import { chmod, chown, open, realpath, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Ending of files that a killed write may leave behind. */
export const TEMPORARY_SUFFIX = '.new';

export interface AtomicOptions {
  /** Mode of a file that does not exist yet; an existing one keeps mode and owner. */
  readonly mode: number;
}

/**
 * Replaces a file. A symbolic link stays one: the file it points to is replaced.
 *
 * Callers see to it that only one write to a path runs at a time. Throws the system's error; the
 * target is then unchanged.
 */
export async function writeFileAtomic(path: string, text: string, options: AtomicOptions) {
  const target = await realpath(path).catch(() => path);
  const temporary = target + TEMPORARY_SUFFIX;
  const old = await stat(target).catch(() => null);
  try {
    await writeNew(temporary, text, old?.mode ?? options.mode);
    if (old) await chown(temporary, old.uid, old.gid).catch(() => undefined); // root only; else moot
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined); // the first error is to be told
    throw error;
  }
  await syncDirectory(dirname(target));
}

/**
 * Writes over the content of a file that cannot be replaced: one mounted into a container, or in a
 * folder that takes no new files. A crash in between leaves a mixture, so the caller has a copy of
 * the new content elsewhere before. Throws the system's error.
 */
export async function writeInPlace(path: string, text: string): Promise<void> {
  const file = await open(path, 'r+');
  try {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length;) {
      at += (await file.write(bytes, at, bytes.length - at, at)).bytesWritten;
    }
    await file.truncate(bytes.length);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function writeNew(path: string, text: string, mode: number): Promise<void> {
  await rm(path, { force: true });
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
  const file = await open(path, flags, mode & 0o777);
  await writeAndClose(file, text);
  await chmod(path, mode & 0o777); // the umask must not narrow what the user chose
}

async function writeAndClose(file: FileHandle, text: string): Promise<void> {
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes renames in a folder last. Windows cannot open folders, and needs no such thing. */
export async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const folder = await open(path, constants.O_RDONLY);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
