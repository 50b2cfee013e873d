/**
 * Owns the settings file: reads it, edits it, and never overwrites one that a person broke.
 *
 * Used by the service in the main thread. Edits start from the file as it is on disk now, so what
 * a person changed meanwhile is kept; while the file has a mistake, an edit is refused with that
 * mistake and the settings in use stay. Edits and re-reads run one after another.
 */
import { constants } from 'node:fs';
import { copyFile, readFile, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../contract/config.ts';
import { AppError } from '../contract/errors.ts';
import { writeFileAtomic } from '../system/atomic-file.ts';
import { isDiskTrouble, makeFolder, writeTrouble } from './data-folder.ts';
import type { SettingsCache } from './settings-cache.ts';
import type { Change, EditedSettings, Section } from './settings-edit.ts';

/** Suffix of the one older copy kept beside the settings file. */
export const PREVIOUS_SUFFIX = '.previous';

/** How often an edit starts anew because the file changed under it. */
const EDIT_ATTEMPTS_MAX = 3;

export interface ConfigStoreOptions {
  readonly file: string;
  /** Copied to `file` when there is none; null: it is a mistake when there is none. */
  readonly templateFile: string | null;
  /** Null or left out: the file is parsed at each start. */
  readonly cache?: SettingsCache | null;
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
  /** Why the template is used without a settings file, without a full stop; '' with one. */
  readonly trouble: string;
  readonly #templateFile: string | null;
  #config: Config;
  /** The text that `#config` was read from; '' when it is not known. */
  #text = '';
  #onChange: (config: Config) => void = () => undefined;
  #tail: Promise<unknown> = Promise.resolve();

  private constructor(options: ConfigStoreOptions, made: Made, config: Config) {
    this.file = options.file;
    this.isNew = made.isNew;
    this.trouble = made.trouble;
    this.#templateFile = options.templateFile;
    this.#config = config;
  }

  /**
   * On a full or read-only disk without a settings file the template itself is used.
   *
   * @throws AppError CONFIG_INVALID for a mistake, CONFIG_UNWRITABLE when no file can be made
   */
  static async open(options: ConfigStoreOptions): Promise<ConfigStore> {
    const made = await makeFrom(options.templateFile, options.file);
    const { templateFile, file } = options;
    const text = await readText(made.trouble === '' ? file : (templateFile ?? file));
    const cached = (await options.cache?.read(text)) ?? null;
    const config = cached ?? (await parse(text, file));
    if (cached === null) await options.cache?.write(text, config);
    return new ConfigStore(options, made, config);
  }

  /** The settings in use. */
  get config(): Config {
    return this.#config;
  }

  /** The text of the file. @throws AppError CONFIG_INVALID when it cannot be read */
  readText(): Promise<string> {
    return this.#inTurn(() => readText(this.file));
  }

  /** Called with new settings, before the edit or re-read that brought them resolves. */
  onChange(listener: (config: Config) => void): void {
    this.#onChange = listener;
  }

  /** Reads the file again. @throws AppError CONFIG_INVALID; the settings in use then stay */
  reload(): Promise<Config> {
    return this.#inTurn(async () => {
      await this.#makeLate();
      const text = await readText(this.file);
      return this.#use(await parse(text, this.file));
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
      const config = await parse(text, 'the new settings');
      await this.#makeLate();
      await this.#write(text);
      return this.#use(config);
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
      const text = await readText(this.file);
      const config = text === this.#text ? this.#config : await parse(text, this.file);
      const edited = await plan(text, config);
      if (edited.text === text) return this.#use(config, text);
      const next = edited.config ?? (await parse(edited.text, this.file));
      if ((await fingerprint(this.file)) !== before) continue;
      await this.#write(edited.text);
      return this.#use(next, edited.text);
    }
    throw new AppError('CONFIG_UNWRITABLE', `${this.file}: another program keeps changing it`);
  }

  /** Resolves when no edit is running any more. */
  async close(): Promise<void> {
    await this.#tail;
  }

  /** The file that could not be made at the start. */
  async #makeLate(): Promise<void> {
    if (this.trouble === '') return;
    const { trouble } = await makeFrom(this.#templateFile, this.file);
    if (trouble !== '') throw new AppError('CONFIG_UNWRITABLE', trouble);
  }

  async #write(text: string): Promise<void> {
    try {
      await writeFileAtomic(this.file, text, { mode: 0o600, previousSuffix: PREVIOUS_SUFFIX });
    } catch (error) {
      throw unwritable(this.file, error);
    }
  }

  /** @param text  what the settings were read from; '' when they are not in the file yet */
  #use(config: Config, text = ''): Config {
    this.#text = text;
    if (text !== '' && isDeepStrictEqual(config, this.#config)) return this.#config;
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

/** The parser and the schemas are loaded when they are needed. @throws AppError CONFIG_INVALID */
async function parse(text: string, file: string): Promise<Config> {
  const { readSettings } = await import('./settings-text.ts');
  return readSettings(text, file).config;
}

interface Made {
  readonly isNew: boolean;
  /** As `ConfigStore.trouble`. */
  readonly trouble: string;
}

/** Copies the template unless the file is there. */
async function makeFrom(templateFile: string | null, file: string): Promise<Made> {
  if (await exists(file)) return { isNew: false, trouble: '' };
  if (templateFile === null) {
    throw new AppError('CONFIG_INVALID', `there is no settings file ${file}`);
  }
  try {
    makeFolder(dirname(file));
    await copyFile(templateFile, file, constants.COPYFILE_EXCL);
    return { isNew: true, trouble: '' };
  } catch (error) {
    if (isDiskTrouble(error)) {
      await rm(file, { force: true }).catch(() => undefined); // the copy is cut short, or not there
      return { isNew: false, trouble: writeTrouble(error, file) };
    }
    if (await exists(file)) return { isNew: false, trouble: '' };
    if (error instanceof AppError) throw error;
    throw unwritable(file, error);
  }
}

async function exists(file: string): Promise<boolean> {
  return (await stat(file).catch(() => null)) !== null;
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new AppError('CONFIG_INVALID', `${file}: reading it failed: ${reason(error)}`, error);
  }
}

/** Changes whenever the file is replaced or written. */
async function fingerprint(file: string): Promise<string> {
  const info = await stat(file).catch(() => null);
  return info ? `${String(info.ino)} ${String(info.mtimeMs)} ${String(info.size)}` : '';
}

function unwritable(file: string, error: unknown): AppError {
  return new AppError(
    'CONFIG_UNWRITABLE',
    `the settings cannot be saved: ${writeTrouble(error, file)}`,
    error,
  );
}

function reason(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/\s*\n\s*/g, ' ');
}
