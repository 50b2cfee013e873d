/**
 * Synchronous writes that a power cut does not halve: the steps that atomic-file.ts is made of, for
 * callers that must be on disk before their next step (the takeover's journal, resolv.conf, the
 * data plane's cache). Any thread; loads nothing but node:fs, because the guardian runs it too.
 */
import { closeSync, fchmodSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

/** Makes a new file with these bytes, on disk when it returns. Throws the system's error. */
export function writeDurably(path: string, bytes: Uint8Array, mode: number): void {
  rmSync(path, { force: true });
  const file = openSync(path, 'wx', mode);
  try {
    let written = 0;
    while (written < bytes.length) written += writeSync(file, bytes, written);
    fchmodSync(file, mode); // the umask must not narrow it
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/**
 * Replaces a file: old content or new content after a crash, never a mixture.
 *
 * @param temporary  in the same folder, of this process alone; gone afterwards
 * @throws the system's error; the old file then stands
 */
export function replaceDurably(
  path: string,
  bytes: Uint8Array,
  mode: number,
  temporary: string,
): void {
  try {
    writeDurably(temporary, bytes, mode);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  syncFolder(path);
}

/** Puts the names in the folder of `path` on disk: what was renamed or removed stays so. */
export function syncFolder(path: string): void {
  if (process.platform === 'win32') return; // folders cannot be opened there
  const folder = openSync(dirname(path), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
