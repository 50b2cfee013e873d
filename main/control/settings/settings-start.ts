/**
 * Decides with which settings the program starts: those of the file; where it is damaged or missing,
 * those that were last in use (settings-copy.ts); at the first start those of the template. Called by
 * config-store.ts.
 *
 * A settings file is damaged when it does not read as settings, when nothing is left of it, when its
 * last line or the last change was cut, and when it changed though nobody wrote it.
 */
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../../contract/config.ts';
import { AppError, toWire } from '../../contract/errors.ts';
import { writeFileAtomic } from '../../system/atomic-file.ts';
import { isDiskTrouble, makeFolder, writeTrouble } from '../process/data-folder.ts';
import { fingerprint, isBlank, type CopiedSettings, type SettingsCopy } from './settings-copy.ts';

export interface StartFiles {
  readonly file: string;
  /** Copied to `file` when there is none; null: it is a mistake when there is none. */
  readonly templateFile: string | null;
  readonly copy: SettingsCopy;
}

export interface StartSettings {
  readonly config: Config;
  readonly text: string;
  readonly source: 'file' | 'new-file' | 'copy' | 'template';
  /** Of the settings file as it was read; '' without one. */
  readonly fingerprint: string;
  /** Why other settings than the file's are in use, one sentence; '' when they are the file's. */
  readonly problem: string;
  /** What is odd about the file, though it is used; one sentence, '' without. */
  readonly notice: string;
}

/**
 * @throws AppError CONFIG_INVALID for a mistake without a copy to use instead, CONFIG_UNWRITABLE
 *         when no file can be made, DATA_FOLDER_UNUSABLE
 */
export async function startSettings(files: StartFiles): Promise<StartSettings> {
  const found = await fingerprint(files.file);
  const copied = files.copy.read();
  if (found === '' && copied === null) return startNew(files);
  try {
    const text = await readSettingsFile(files.file);
    const damage = copied === null ? '' : damageOf(text, found, copied);
    if (damage !== '') throw new AppError('CONFIG_INVALID', `${files.file}${damage}`);
    const config = await parseSettings(text, files.file);
    const notice = copied === null ? '' : await oddity(text, config, copied, files.file);
    return { config, text, source: 'file', fingerprint: found, problem: '', notice };
  } catch (error) {
    return startFromCopy(error, copied, found);
  }
}

/** @throws `mistake` when there is no copy that can be used */
async function startFromCopy(
  mistake: unknown,
  copied: CopiedSettings | null,
  found: string,
): Promise<StartSettings> {
  if (copied === null || !(mistake instanceof AppError)) throw mistake;
  const config = await parseSettings(copied.text, copied.path).catch(() => null);
  if (config === null) throw mistake;
  const { path, text } = copied;
  const problem =
    `The settings file cannot be used: ${mistake.message}. ` +
    `The settings last in use are those in force, from ${path}.`;
  return { config, text, source: 'copy', fingerprint: found, problem, notice: '' };
}

async function startNew({ file, templateFile }: StartFiles): Promise<StartSettings> {
  const { isNew, trouble } = await makeSettingsFile(templateFile, file);
  const readFrom = trouble === '' ? file : (templateFile ?? file);
  const text = await readSettingsFile(readFrom);
  const config = await parseSettings(text, file);
  const rest = { config, text, fingerprint: await fingerprint(file), notice: '' };
  if (trouble === '') return { ...rest, source: isNew ? 'new-file' : 'file', problem: '' };
  return { ...rest, source: 'template', problem: `The default settings are in use: ${trouble}.` };
}

/** What a file shows of damage that its syntax does not; '' when nothing. Follows its name. */
function damageOf(text: string, found: string, copied: CopiedSettings): string {
  if (isBlank(text)) return `: the file is empty, but ${copied.path} is not`;
  if (text === copied.text) return '';
  const line = firstDifference(text, copied.text);
  if (copied.isSealed && copied.source === '') {
    return `:${String(line)}: the last change to it was not written to its end`;
  }
  if (copied.isSealed && copied.source === found) {
    return `:${String(line)}: the file changed though nobody wrote it: the disk damaged it`;
  }
  const isCut = copied.text.endsWith('\n') && !text.endsWith('\n') && copied.text.startsWith(text);
  return isCut ? `:${String(line)}: the file ends in the middle of a line: it was cut` : '';
}

/**
 * One flipped bit that makes other settings may have been a person's edit ("1" for "3"): they are
 * used, and told.
 */
async function oddity(
  text: string,
  config: Config,
  copied: CopiedSettings,
  file: string,
): Promise<string> {
  if (!differInOneBit(text, copied.text)) return '';
  const before = await parseSettings(copied.text, copied.path).catch(() => null);
  if (before === null || isDeepStrictEqual(before, config)) return '';
  const line = String(firstDifference(text, copied.text));
  return (
    `${file}:${line}: one character differs from the settings last in use. If you did not change ` +
    `it, the disk did: put ${copied.path} in place of the file.`
  );
}

function differInOneBit(left: string, right: string): boolean {
  const [one, other] = [Buffer.from(left), Buffer.from(right)];
  if (one.length !== other.length) return false;
  const at = one.findIndex((byte, index) => byte !== other[index]);
  if (at < 0 || Buffer.compare(one.subarray(at + 1), other.subarray(at + 1)) !== 0) return false;
  const bits = (one[at] ?? 0) ^ (other[at] ?? 0);
  return (bits & (bits - 1)) === 0;
}

/** The 1-based line at which two texts begin to differ. */
function firstDifference(left: string, right: string): number {
  const others = right.split('\n');
  const lines = left.split('\n');
  const at = lines.findIndex((line, index) => line !== others[index]);
  return at < 0 ? lines.length : at + 1;
}

/** The parser and the schemas are loaded when they are needed. @throws AppError CONFIG_INVALID */
export async function parseSettings(text: string, file: string): Promise<Config> {
  const { readSettings } = await import('./settings-text.ts');
  return readSettings(text, file).config;
}

/** @throws AppError CONFIG_INVALID, also for bytes that are not UTF-8 */
export async function readSettingsFile(file: string): Promise<string> {
  let bytes: Buffer;
  try {
    bytes = await readFile(file);
  } catch (error) {
    const reason = toWire(error).message.replace(/\s*\n\s*/g, ' ');
    throw new AppError('CONFIG_INVALID', `${file}: reading it failed: ${reason}`, error);
  }
  const text = bytes.toString('utf8');
  if (!text.includes('\uFFFD') || Buffer.from(text).equals(bytes)) return text;
  const line = text.slice(0, text.indexOf('\uFFFD')).split('\n').length;
  throw new AppError('CONFIG_INVALID', `${file}:${String(line)}: not UTF-8 text; save it as UTF-8`);
}

export interface Made {
  readonly isNew: boolean;
  /** Why a disk that is full or read-only took no file, without a full stop; '' when it did. */
  readonly trouble: string;
}

/** Copies the template unless the file is there. @throws as `startSettings` */
export async function makeSettingsFile(templateFile: string | null, file: string): Promise<Made> {
  if ((await fingerprint(file)) !== '') return { isNew: false, trouble: '' };
  if (templateFile === null) {
    throw new AppError('CONFIG_INVALID', `there is no settings file ${file}`);
  }
  try {
    makeFolder(dirname(file));
    await writeFileAtomic(file, await readFile(templateFile, 'utf8'), { mode: 0o600 });
    return { isNew: true, trouble: '' };
  } catch (error) {
    if (isDiskTrouble(error)) return { isNew: false, trouble: writeTrouble(error, file) };
    if (error instanceof AppError) throw error;
    throw unwritable(file, error);
  }
}

export function unwritable(file: string, error: unknown): AppError {
  const reason = writeTrouble(error, file);
  return new AppError('CONFIG_UNWRITABLE', `the settings cannot be saved: ${reason}`, error);
}
