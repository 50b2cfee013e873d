/**
 * The checked settings of the last start, so that a start with the same file needs neither the YAML
 * parser nor the schemas: some 15 MiB and 100 ms.
 *
 * A copy counts only for the very same text read by the very same build. Whatever else is wrong
 * with it, the settings file is read instead. Used by service/config-store.ts.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Config } from '../contract/config.ts';
import { writeFileAtomic } from './atomic-file.ts';
import { loadServices } from './services.ts';
import { settingsConflict } from './settings-conflicts.ts';

export class SettingsCache {
  readonly #file: string;
  readonly #build: string;

  /** @param build  another one for any other version of the schema */
  constructor(file: string, build: string) {
    this.#file = file;
    this.#build = build;
  }

  /** The settings in `text`; null when there is no copy of them. */
  async read(text: string): Promise<Config | null> {
    try {
      const copy = JSON.parse(await readFile(this.#file, 'utf8')) as Record<string, unknown>;
      if (copy['key'] !== this.#keyOf(text)) return null;
      const config = copy['config'] as Config;
      await loadServices(config);
      return settingsConflict(config) === undefined ? config : null;
    } catch {
      return null; // missing or damaged: it is only a copy
    }
  }

  async write(text: string, config: Config): Promise<void> {
    const copy = JSON.stringify({ key: this.#keyOf(text), config });
    // On a disk that takes no writes each start reads the settings file; the log tells of the disk.
    await writeFileAtomic(this.#file, copy, { mode: 0o600 }).catch(() => undefined);
  }

  #keyOf(text: string): string {
    return createHash('sha256').update(`${this.#build}\n`).update(text).digest('hex');
  }
}
