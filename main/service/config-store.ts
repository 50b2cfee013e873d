/**
 * Owns the settings file: reads it, edits it, and never overwrites one that a person broke.
 *
 * Used by the service in the main thread. Edits start from the file as it is on disk now, so what
 * a person changed meanwhile is kept; while the file has a mistake, an edit is refused with that
 * mistake and the settings in use stay. Edits and re-reads run one after another.
 */
import { constants } from 'node:fs';
import { copyFile, mkdir, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Config } from '../contract/config.ts';
import { AppError } from '../contract/errors.ts';
import { writeFileAtomic } from './atomic-file.ts';
import type { SettingsCache } from './settings-cache.ts';
import type { Change, Section } from './settings-edit.ts';

/** Suffix of the one older copy kept beside the settings file. */
export const PREVIOUS_SUFFIX = '.previous';

/** How often an edit starts anew because the file changed under it. */
const EDIT_ATTEMPTS_MAX = 3;

export interface ConfigStoreOptions {
  readonly file: string;
  /** Copied to `file` when there is none. */
  readonly templateFile: string;
  /** Null or left out: the file is parsed at each start. */
  readonly cache?: SettingsCache | null;
}

/** What an edit does to a section: the change, and the section as it reads afterwards. */
export interface EditPlan<Name extends Section> {
  readonly change: Change;
  readonly wanted: Config[Name];
}

export class ConfigStore {
  readonly file: string;
  /** True when this start made the file from the template. */
  readonly isNew: boolean;
  #config: Config;
  #onChange: (config: Config) => void = () => undefined;
  #tail: Promise<unknown> = Promise.resolve();

  private constructor(file: string, isNew: boolean, config: Config) {
    this.file = file;
    this.isNew = isNew;
    this.#config = config;
  }

  /** @throws AppError CONFIG_INVALID for a mistake, CONFIG_UNWRITABLE when no file can be made */
  static async open(options: ConfigStoreOptions): Promise<ConfigStore> {
    const isNew = await createFrom(options.templateFile, options.file);
    const text = await readText(options.file);
    const cached = (await options.cache?.read(text)) ?? null;
    const config = cached ?? (await parse(text, options.file));
    if (cached === null) await options.cache?.write(text, config);
    return new ConfigStore(options.file, isNew, config);
  }

  /** The settings in use. */
  get config(): Config {
    return this.#config;
  }

  /** Called with new settings, before the edit or re-read that brought them resolves. */
  onChange(listener: (config: Config) => void): void {
    this.#onChange = listener;
  }

  /** Reads the file again. @throws AppError CONFIG_INVALID; the settings in use then stay */
  reload(): Promise<Config> {
    return this.#inTurn(async () => {
      return this.#use(await parse(await readText(this.file), this.file));
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
    return this.#inTurn(async () => {
      for (let attempt = 1; attempt <= EDIT_ATTEMPTS_MAX; attempt++) {
        const before = await fingerprint(this.file);
        const text = await readText(this.file);
        const config = await parse(text, this.file);
        const planned = plan(config);
        if (!planned) return this.#use(config);
        const { editSection } = await import('./settings-edit.ts');
        const edited = editSection(text, section, planned.change, planned.wanted);
        if ((await fingerprint(this.file)) !== before) continue;
        await this.#write(edited);
        return this.#use(await parse(edited, this.file));
      }
      throw new AppError('CONFIG_UNWRITABLE', `${this.file}: another program keeps changing it`);
    });
  }

  /** Resolves when no edit is running any more. */
  async close(): Promise<void> {
    await this.#tail;
  }

  async #write(text: string): Promise<void> {
    try {
      await writeFileAtomic(this.file, text, { mode: 0o600, previousSuffix: PREVIOUS_SUFFIX });
    } catch (error) {
      throw unwritable(this.file, error);
    }
  }

  #use(config: Config): Config {
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

/** Copies the template unless the file is there. @returns whether it was made */
async function createFrom(templateFile: string, file: string): Promise<boolean> {
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    if (await exists(file)) return false;
    await copyFile(templateFile, file, constants.COPYFILE_EXCL);
    return true;
  } catch (error) {
    if (await exists(file)) return false;
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
  return new AppError('CONFIG_UNWRITABLE', `${file}: writing it failed: ${reason(error)}`, error);
}

function reason(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/\s*\n\s*/g, ' ');
}
