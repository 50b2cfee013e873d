/**
 * Files that the command line reads and writes itself, with the rights of whoever typed the command;
 * the instance gets and gives their content only. Used by cli-import.ts.
 */
import { constants } from 'node:fs';
import { open, readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { AppError } from '../../contract/errors.ts';
import { LIMITS } from '../../contract/limits.ts';
import { writeFileAtomic } from '../../system/atomic-file.ts';
import { writeTrouble } from '../../control/process/data-folder.ts';

/** Stands for standard input and output. */
const STANDARD = '-';

/** @param path  "-" for standard input. @throws AppError IMPORT_REFUSED */
export async function readInput(path: string): Promise<Readable> {
  if (path === STANDARD) return process.stdin;
  const whole = resolve(path);
  try {
    // A pipe that nobody writes to would be waited for without end.
    const flags = process.platform === 'win32' ? 0 : constants.O_NONBLOCK;
    const file = await open(whole, constants.O_RDONLY | flags);
    const info = await file.stat();
    if (info.isFile()) return file.createReadStream();
    await file.close();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new AppError('IMPORT_REFUSED', `${whole} cannot be read: ${why}`, error);
  }
  throw new AppError('IMPORT_REFUSED', `${whole} is no file; "-" reads standard input`);
}

export function isStandard(path: string): boolean {
  return path === STANDARD;
}

/**
 * Writes a backup, for this user only; over nothing but an older one.
 *
 * @returns the whole path
 * @throws  AppError IMPORT_REFUSED, CONFIG_UNWRITABLE
 */
export async function writeBackup(path: string, text: string): Promise<string> {
  const whole = resolve(path);
  const info = await stat(whole).catch(() => null);
  if (info !== null && !(info.isFile() && (await isBackup(whole, info.size)))) {
    throw new AppError('IMPORT_REFUSED', `${whole} is there already, and is no backup`);
  }
  try {
    await writeFileAtomic(whole, text, { mode: 0o600 });
  } catch (error) {
    throw new AppError('CONFIG_UNWRITABLE', writeTrouble(error, whole), error);
  }
  return whole;
}

async function isBackup(path: string, size: number): Promise<boolean> {
  if (size > LIMITS.uploadBytesMax) return false;
  const text = await readFile(path, 'utf8').catch(() => '');
  return text.slice(0, 100).includes('"kind": "sluice-backup"');
}
