/**
 * Synchronous writes that a power cut does not halve. Used for the journal and for resolv.conf, in
 * the app and in the guardian; synchronous, because a step must be on disk before the next one.
 */
import { closeSync, fchmodSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs';
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
