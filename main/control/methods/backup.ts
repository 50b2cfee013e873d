/**
 * Everything of this program's own in one file, and back: the settings text with its comments, the
 * switch, and what is remembered about the lists. The lists' names themselves are fetched again.
 *
 * The methods settings.export and settings.import; used by service.ts.
 */
import { readFile, stat } from 'node:fs/promises';
import { AppError } from '../../contract/errors.ts';
import { LIMITS } from '../../contract/limits.ts';
import type {
  Caller,
  MethodArguments,
  MethodOutput,
  Protection,
} from '../../contract/methods/methods.ts';
import type { ListMemory } from '../../lists/meta.ts';
import type { ServiceClock } from '../../system/clock.ts';
import type { ConfigStore } from '../settings/config-store.ts';
import { requireFileRight } from '../settings/file-lists.ts';
import type { ListsPart } from '../process/parts.ts';
import type { ProtectionSwitch } from '../machine/protection.ts';
import type { Uploads } from './uploads.ts';

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
  readonly uploads: Pick<Uploads, 'fileOf' | 'drop'>;
}

export function backupHandlers(parts: BackupParts) {
  return {
    'settings.export': async (): Promise<MethodOutput<'settings.export'>> => {
      const backup = await backupOf(parts);
      const day = new Date(backup.savedAtMs).toISOString().slice(0, 10);
      return { name: `sluice-${day}.json`, text: `${JSON.stringify(backup, null, 1)}\n` };
    },
    'settings.import': async (
      { upload }: MethodArguments<'settings.import'>,
      caller: Caller,
    ): Promise<MethodOutput<'settings.import'>> => {
      const { uploads, store } = parts;
      const backup = readBackup(await readBounded(uploads.fileOf(upload)));
      const { readSettings } = await import('../settings/settings-text.ts');
      const { lists } = readSettings(backup.settings, 'the new settings').config;
      requireFileRight(lists, store.config.lists, caller);
      const config = await store.replaceText(backup.settings);
      await uploads.drop(upload);
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

function readBackup(text: string): BackupFile {
  let value: Partial<BackupFile> | null;
  try {
    value = JSON.parse(text) as typeof value;
  } catch {
    throw refused('the file is none that "settings export" has written');
  }
  if (value?.kind !== KIND || typeof value.settings !== 'string') {
    throw refused('the file is none that "settings export" has written');
  }
  if (value.version !== VERSION) {
    throw refused(`the file was written by version ${String(value.program)}, which is newer`);
  }
  const protection = value.protection ?? { state: 'on', resumesAtMs: null };
  const lists = Array.isArray(value.lists) ? value.lists.slice(0, LIMITS.listsMax) : [];
  const savedAtMs = value.savedAtMs ?? 0;
  return { ...(value as BackupFile), protection, lists, savedAtMs };
}

async function readBounded(path: string): Promise<string> {
  const { size } = await stat(path);
  if (size > FILE_BYTES_MAX) throw refused('the file is too large');
  return readFile(path, 'utf8');
}

function refused(why: string): AppError {
  return new AppError('IMPORT_REFUSED', why);
}
