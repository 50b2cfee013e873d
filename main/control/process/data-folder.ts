/**
 * Makes the data folder, and sorts what a disk refuses: trouble that DNS can live without from a
 * folder that cannot be used at all. Main thread; used by whatever writes into the data folder.
 */
import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { AppError } from '../../contract/errors.ts';

/** Times a missing parent is made; deeper folders than that are a mistake. */
const DEPTH_MAX = 64;

/**
 * Makes a folder, for this user only, and those above it. Not `recursive`, which never ends in a
 * folder that says of every new name that it does not exist, as /proc does.
 *
 * @throws AppError DATA_FOLDER_UNUSABLE; the system's error when the disk is full or read-only
 */
export function makeFolder(path: string): void {
  try {
    make(path, 0);
  } catch (error) {
    if (isDiskTrouble(error)) throw error;
    const why = WHY[codeOf(error)] ?? (error instanceof Error ? error.message : String(error));
    throw new AppError('DATA_FOLDER_UNUSABLE', `the folder ${path} cannot be made: ${why}`, error);
  }
}

const WHY: Readonly<Record<string, string>> = {
  EEXIST: 'a file has this name',
  ENOTDIR: 'a file is in its way',
  ENOENT: 'the folder above it takes no new folders',
  EACCES: 'this user may not write in the folder above it',
  EPERM: 'this user may not write in the folder above it',
};

function make(path: string, depth: number): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory()) return;
  const parent = dirname(path);
  if (parent !== path && depth < DEPTH_MAX) make(parent, depth + 1);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another thread or program may have been quicker.
    if (codeOf(error) !== 'EEXIST' || !statSync(path).isDirectory()) throw error;
  }
}

/** Whether the disk is full or read-only: nothing that keeps DNS from being answered. */
export function isDiskTrouble(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT', 'EROFS'].includes(codeOf(error));
}

/** Why a file or folder could not be written, in words for people, without a full stop. */
export function writeTrouble(error: unknown, path: string): string {
  switch (codeOf(error)) {
    case 'ENOSPC':
    case 'EDQUOT':
      return `the disk that holds ${path} is full`;
    case 'EROFS':
      return `the disk that holds ${path} is read-only`;
    case 'EACCES':
    case 'EPERM':
      return `this user may not write ${path}`;
    default:
      return (error instanceof Error ? error.message : String(error)).replace(/\s*\n\s*/g, ' ');
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
