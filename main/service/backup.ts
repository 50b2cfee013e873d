/**
 * Everything of this program's own in one file, and back: the settings text with its comments, the
 * switch, and what is remembered about the lists. The lists' names themselves are fetched again.
 *
 * The methods settings.export and settings.import; used by service.ts.
 */
import { readFile, stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { AppError } from '../contract/errors.ts';
import { LIMITS } from '../contract/limits.ts';
import type { MethodArguments, MethodOutput, Protection } from '../contract/methods.ts';
import type { ListMemory } from '../lists/meta.ts';
import { writeFileAtomic } from '../system/atomic-file.ts';
import type { ServiceClock } from './clock.ts';
import type { ConfigStore } from './config-store.ts';
import { writeTrouble } from './data-folder.ts';
import type { ListsPart } from './parts.ts';
import type { ProtectionSwitch } from './protection.ts';

const KIND = 'sluice-backup';
const VERSION = 1;
/** The settings, escaped as JSON, and the memory of the lists. */
const FILE_BYTES_MAX = 4 * LIMITS.settingsBytesMax;

interface BackupFile {
  readonly kind: typeof KIND;
  readonly version: number;
  readonly program: string;
  readonly savedAtMs: number;
  /** The settings file, byte for byte. */
  readonly settings: string;
  readonly protection: Protection;
  readonly lists: readonly ListMemory[];
}

export interface BackupParts {
  readonly version: string;
  readonly clock: ServiceClock;
  readonly store: ConfigStore;
  readonly protection: Pick<ProtectionSwitch, 'state' | 'pause' | 'resume'>;
  readonly lists: Pick<ListsPart, 'memory' | 'remember'>;
}

export function backupHandlers(parts: BackupParts) {
  return {
    'settings.export': async ({
      path,
    }: MethodArguments<'settings.export'>): Promise<MethodOutput<'settings.export'>> => {
      const text = `${JSON.stringify(await backupOf(parts), null, 1)}\n`;
      await checkTarget(path);
      try {
        await writeFileAtomic(path, text, { mode: 0o600 });
      } catch (error) {
        throw new AppError('CONFIG_UNWRITABLE', writeTrouble(error, path), error);
      }
      return { path, bytes: Buffer.byteLength(text) };
    },
    'settings.import': async ({
      path,
    }: MethodArguments<'settings.import'>): Promise<MethodOutput<'settings.import'>> => {
      const backup = readBackup(await readBounded(path), path);
      const config = await parts.store.replaceText(backup.settings);
      parts.lists.remember(backup.lists);
      const protection = await setProtection(parts, backup.protection);
      return { savedAtMs: backup.savedAtMs, lists: config.lists.length, protection };
    },
  };
}

async function backupOf({ version, clock, store, protection, lists }: BackupParts) {
  const backup: BackupFile = {
    kind: KIND,
    version: VERSION,
    program: version,
    savedAtMs: clock.wallMs(),
    settings: await store.readText(),
    protection: protection.state,
    lists: lists.memory(),
  };
  return backup;
}

/** A pause that would be over by now is over. */
async function setProtection(
  { protection, clock }: BackupParts,
  { state, resumesAtMs }: Protection,
): Promise<Protection> {
  if (state === 'off') return protection.pause(undefined);
  const minutes = ((resumesAtMs ?? 0) - clock.wallMs()) / 60_000;
  const isPaused = state === 'paused' && minutes > 0;
  return isPaused
    ? protection.pause(Math.min(minutes, LIMITS.pauseMinutesMax))
    : protection.resume();
}

function readBackup(text: string, path: string): BackupFile {
  let value: Partial<BackupFile> | null;
  try {
    value = JSON.parse(text) as typeof value;
  } catch {
    throw refused(`${path} is no file that "settings export" has written`);
  }
  if (value?.kind !== KIND || typeof value.settings !== 'string') {
    throw refused(`${path} is no file that "settings export" has written`);
  }
  if (value.version !== VERSION) {
    throw refused(`${path} was written by version ${String(value.program)}, which is newer`);
  }
  const protection = value.protection ?? { state: 'on', resumesAtMs: null };
  const lists = Array.isArray(value.lists) ? value.lists.slice(0, LIMITS.listsMax) : [];
  return { ...(value as BackupFile), protection, lists };
}

async function readBounded(path: string): Promise<string> {
  checkPath(path);
  const info = await stat(path).catch(() => null);
  if (!info?.isFile()) throw refused(`there is no file ${path}`);
  if (info.size > FILE_BYTES_MAX) throw refused(`${path} is too large`);
  return readFile(path, 'utf8');
}

/** Nothing but an older backup is written over. */
async function checkTarget(path: string): Promise<void> {
  checkPath(path);
  if ((await stat(path).catch(() => null)) === null) return;
  const isOurs = (await readBounded(path)).slice(0, 100).includes(`"kind": "${KIND}"`);
  if (!isOurs) throw refused(`${path} is there already, and is no backup`);
}

function checkPath(path: string): void {
  if (!isAbsolute(path)) throw refused(`write the whole path of the file, not "${path}"`);
}

function refused(why: string): AppError {
  return new AppError('IMPORT_REFUSED', why);
}
