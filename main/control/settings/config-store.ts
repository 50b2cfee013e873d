/**
 * Owns the settings file: edits it, reads it again, and never overwrites one that a person broke.
 * With which settings the program starts, settings-start.ts decides.
 *
 * Used by the service in the main thread. Edits start from the file as it is on disk now, so what
 * a person changed meanwhile is kept; while the file has a mistake, an edit is refused with that
 * mistake and the settings in use stay. Only a file that was damaged when the program started, and
 * is still the same, is replaced by an edit: it is set aside first. Edits and re-reads run one after
 * another. A copy of what is in use is kept for the next start (settings-copy.ts).
 */
import { access, constants, copyFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../../contract/config.ts';
import { AppError } from '../../contract/errors.ts';
import { writeFileAtomic, writeInPlace } from '../../system/atomic-file.ts';
import { fingerprint, isBlank, PREVIOUS_SUFFIX, SettingsCopy } from './settings-copy.ts';
import type { Change, EditedSettings, Section } from './settings-edit.ts';
import {
  makeSettingsFile,
  parseSettings,
  readSettingsFile,
  startSettings,
  unwritable,
  type StartSettings,
} from './settings-start.ts';

/** How often an edit starts anew because the file changed under it. */
const EDIT_ATTEMPTS_MAX = 3;

export interface ConfigStoreOptions {
  readonly file: string;
  /** Copied to `file` when there is none; null: it is a mistake when there is none. */
  readonly templateFile: string | null;
  /** Folder of the copy of the settings in use; default: that of the file. */
  readonly copyFolder?: string;
}

/** What an edit does to a section: the change, and the section as it reads afterwards. */
export interface EditPlan<Name extends Section> {
  readonly change: Change;
  readonly wanted: Config[Name];
  /**
   * The section is known to be valid with all others as they are: it is taken into use at once, and
   * given up again when the file cannot be written. Checking and writing a long file takes a while.
   */
  readonly isSound?: boolean;
}

/** The text afterwards, and how it reads if that is known. Gets text and settings as they are. */
type TextPlan = (
  text: string,
  config: Config,
) => Promise<Pick<EditedSettings, 'text'> & Partial<EditedSettings>>;

export class ConfigStore {
  readonly file: string;
  /** True when this start made the file from the template. */
  readonly isNew: boolean;
  /** What is odd about the file this start has read, one sentence; '' when nothing is. */
  readonly notice: string;
  readonly #templateFile: string | null;
  readonly #copyFolder: string;
  readonly #copy: SettingsCopy;
  #problem: string;
  #config: Config;
  /** The text that `#config` was read from; '' when it is not known. */
  #text = '';
  /** Of a file that was damaged when the program started: which, and what is in use instead. */
  #damaged: { readonly fingerprint: string; readonly text: string } | null;
  #onChange: (config: Config) => void = () => undefined;
  #tail: Promise<unknown> = Promise.resolve();

  private constructor(options: ConfigStoreOptions, copy: SettingsCopy, start: StartSettings) {
    this.file = options.file;
    this.isNew = start.source === 'new-file';
    this.notice = start.notice;
    this.#templateFile = options.templateFile;
    this.#copyFolder = options.copyFolder ?? dirname(options.file);
    this.#copy = copy;
    this.#problem = start.problem;
    this.#config = start.config;
    this.#text = start.source === 'template' ? '' : start.text;
    this.#damaged = start.source === 'copy' ? start : null;
  }

  /**
   * With a damaged file the settings last in use are taken, and on a full or read-only disk without
   * one the template itself; `problem` then says so.
   *
   * @throws AppError CONFIG_INVALID for a mistake, CONFIG_UNWRITABLE when no file can be made
   */
  static async open(options: ConfigStoreOptions): Promise<ConfigStore> {
    const { file, templateFile, copyFolder = dirname(file) } = options;
    const copy = new SettingsCopy(join(copyFolder, basename(file)) + PREVIOUS_SUFFIX, file);
    const start = await startSettings({ file, templateFile, copy });
    return new ConfigStore(options, copy, start);
  }

  /**
   * The program runs with the settings of the file: from now on they are the last good ones. A file
   * with something odd about it does not count before the program ends: whoever saw the notice and
   * left the file as it is, meant it.
   */
  async started(): Promise<void> {
    if (this.#problem === '' && this.notice === '') await this.#inTurn(() => this.#keepCopy());
  }

  /** The settings in use. */
  get config(): Config {
    return this.#config;
  }

  /** Why other settings than the file's are in use, one sentence; '' when they are the file's. */
  get problem(): string {
    return this.#problem;
  }

  /** The text of the settings. @throws AppError CONFIG_INVALID when it cannot be read */
  readText(): Promise<string> {
    return this.#inTurn(() => this.#currentText());
  }

  /** Called with new settings, before the edit or re-read that brought them resolves. */
  onChange(listener: (config: Config) => void): void {
    this.#onChange = listener;
  }

  /** Reads the file again. @throws AppError CONFIG_INVALID; the settings in use then stay */
  reload(): Promise<Config> {
    return this.#inTurn(async () => {
      await this.#makeLate();
      const text = await this.#readFile();
      const config = this.#use(await parseSettings(text, this.file), text);
      await this.#keepCopy();
      return config;
    });
  }

  /**
   * Edits one section of the file and takes the result into use.
   *
   * @param plan  gets the settings as on disk now; undefined means nothing to change
   * @throws      what `plan` throws; AppError CONFIG_INVALID when the file has a mistake,
   *              CONFIG_UNWRITABLE when it cannot be replaced
   */
  edit<Name extends Section>(
    section: Name,
    plan: (config: Config) => EditPlan<Name> | undefined,
  ): Promise<Config> {
    return this.#editWith(async (text, config) => {
      const planned = plan(config);
      if (!planned) return { text };
      if (planned.isSound === true) this.#use({ ...config, [section]: planned.wanted });
      const { editSection } = await import('./settings-edit.ts');
      return editSection(text, section, planned.change, planned.wanted);
    });
  }

  /**
   * Replaces the text of the file and takes the result into use.
   *
   * @param plan  gets text and settings as on disk now; the same text means nothing to change
   * @throws      as `edit`
   */
  editText(plan: (text: string, config: Config) => string): Promise<Config> {
    return this.#editWith((text, config) => Promise.resolve({ text: plan(text, config) }));
  }

  /**
   * Puts a whole text in place of what is in the file, even of one with a mistake.
   *
   * @throws AppError CONFIG_INVALID when the text has one, CONFIG_UNWRITABLE
   */
  replaceText(text: string): Promise<Config> {
    return this.#inTurn(async () => {
      const config = await parseSettings(text, 'the new settings');
      await this.#makeLate();
      await this.#write(text, this.#text);
      return this.#use(config, text);
    });
  }

  #editWith(plan: TextPlan): Promise<Config> {
    return this.#inTurn(async () => {
      await this.#makeLate();
      const inUse = this.#config;
      try {
        return await this.#tryEdits(plan);
      } catch (error) {
        if (this.#config !== inUse) this.#use(inUse);
        throw error;
      }
    });
  }

  async #tryEdits(plan: TextPlan): Promise<Config> {
    for (let attempt = 1; attempt <= EDIT_ATTEMPTS_MAX; attempt++) {
      const before = await fingerprint(this.file);
      const text = await this.#currentText();
      const config = text === this.#text ? this.#config : await parseSettings(text, this.file);
      const edited = await plan(text, config);
      if (edited.text === text) return this.#damaged ? this.#config : this.#use(config, text);
      const next = edited.config ?? (await parseSettings(edited.text, this.file));
      if ((await fingerprint(this.file)) !== before) continue;
      await this.#write(edited.text, text);
      return this.#use(next, edited.text);
    }
    throw new AppError('CONFIG_UNWRITABLE', `${this.file}: another program keeps changing it`);
  }

  /** Resolves when no edit is running any more. */
  async close(): Promise<void> {
    if (this.notice !== '') void this.#inTurn(() => this.#keepCopy());
    await this.#tail;
  }

  /** As on disk; of a file that was damaged from the start, the settings in use. */
  async #currentText(): Promise<string> {
    const damaged = await this.#stillDamaged();
    return damaged?.text ?? this.#readFile();
  }

  /** @throws AppError CONFIG_INVALID, also when nothing is left of a file that had settings */
  async #readFile(): Promise<string> {
    const text = await readSettingsFile(this.file);
    if (!isBlank(text) || isBlank(this.#copy.read()?.text ?? '')) return text;
    throw new AppError('CONFIG_INVALID', `${this.file}: the file is empty`);
  }

  async #stillDamaged() {
    const damaged = this.#damaged;
    if (damaged === null) return null;
    return (await fingerprint(this.file)) === damaged.fingerprint ? damaged : null;
  }

  /** The file that could not be made at the start. */
  async #makeLate(): Promise<void> {
    if (this.#problem === '' || this.#damaged !== null) return;
    const { trouble } = await makeSettingsFile(this.#templateFile, this.file);
    if (trouble !== '') throw new AppError('CONFIG_UNWRITABLE', trouble);
  }

  /** @param before  the text that stays when this fails */
  async #write(text: string, before: string): Promise<void> {
    try {
      if (await this.#stillDamaged()) await this.#setAside();
      await this.#replace(text, before);
    } catch (error) {
      throw error instanceof AppError ? error : unwritable(this.file, error);
    }
    this.#text = text;
    await this.#keepCopy();
  }

  /** In its place where it cannot be replaced: then the copy holds the new text before. */
  async #replace(text: string, before: string): Promise<void> {
    try {
      await writeFileAtomic(this.file, text, { mode: 0o600 });
    } catch (error) {
      if (!cannotBeReplaced(error)) throw error;
      await access(this.file, constants.W_OK);
      await this.#copy.write(text, '').catch((failure: unknown) => {
        throw unwritable(this.#copy.path, failure);
      });
      try {
        await writeInPlace(this.file, text);
      } catch (failure) {
        await writeInPlace(this.file, before).catch(() => undefined); // the disk has no room at all
        await this.#copy.write(before, await fingerprint(this.file)).catch(() => undefined);
        throw failure;
      }
    }
  }

  /** Keeps a damaged file under another name: a person may want to look at it. */
  async #setAside(): Promise<void> {
    if (this.#damaged?.fingerprint === '') return;
    const stamp = new Date().toISOString().slice(0, 19).replaceAll(':', '-');
    const name = `${basename(this.file)}.damaged-${stamp}`;
    await copyFile(this.file, join(dirname(this.file), name)).catch((error: unknown) => {
      if (!cannotBeReplaced(error)) throw error;
      return copyFile(this.file, join(this.#copyFolder, name));
    });
  }

  /** A disk that takes no copy has just taken the settings, or shows in the health anyway. */
  async #keepCopy(): Promise<void> {
    if (this.#text === '') return;
    await this.#copy.write(this.#text, await fingerprint(this.file)).catch(() => undefined);
  }

  /** @param text  what the settings were read from; '' when they are not in the file yet */
  #use(config: Config, text = ''): Config {
    this.#text = text;
    const isMended = text !== '' && this.#problem !== '';
    if (isMended) {
      this.#problem = '';
      this.#damaged = null;
    }
    if (text !== '' && !isMended && isDeepStrictEqual(config, this.#config)) return this.#config;
    this.#config = config;
    this.#onChange(config);
    return config;
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#tail.then(work);
    this.#tail = result.catch(() => undefined); // the caller of `work` gets the error
    return result;
  }
}

/**
 * Whether a file may still be written though nothing can take its place: it is a mount of its own,
 * or its folder takes no new files.
 */
function cannotBeReplaced(error: unknown): boolean {
  const { code = '' } = error as NodeJS.ErrnoException;
  return ['EBUSY', 'EXDEV', 'EROFS', 'EACCES', 'EPERM'].includes(code);
}
