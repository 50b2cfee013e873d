/**
 * Takes files of other programs over: opens them safely, has them read in a process of their own,
 * one at a time, and writes the settings that come out. Used by import-methods.ts.
 */
import { constants } from 'node:fs';
import { mkdtemp, open, rm, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { AppError } from '../../contract/errors.ts';
import type { ImportSection } from '../../contract/methods/import.ts';
import { LIMITS } from '../../contract/limits.ts';
import type { MethodOutput } from '../../contract/methods/methods.ts';
import type { ConfigStore } from '../settings/config-store.ts';
import { runImport, type ImportDone, type ImportRunOptions } from './import-run.ts';

type Report = MethodOutput<'import.apply'>;

/** A file to import. */
export interface ImportFile {
  /** Absolute; not shown. */
  readonly path: string;
  /** What a person called it; '' when that is not known. */
  readonly name: string;
  /** Whether lists that it names may be files on this machine. Default: yes. */
  readonly takesFiles?: boolean;
}

/** Times an import is worked out anew because the settings have changed meanwhile. */
const ATTEMPTS_MAX = 3;
// Opening a pipe would wait for its other end; Windows has neither flag.
const OPEN_FLAGS =
  constants.O_RDONLY |
  ((constants.O_NONBLOCK as number | undefined) ?? 0) |
  ((constants.O_NOFOLLOW as number | undefined) ?? 0);

export class Importer {
  readonly #store: Pick<ConfigStore, 'readText' | 'editText'>;
  readonly #bounds: Pick<ImportRunOptions, 'timeMs' | 'memoryMiB'>;
  #running: { stage: string; readonly startedMs: number; readonly stop: AbortController } | null =
    null;

  /** @param bounds  others than the usual ones, for tests */
  constructor(
    store: Pick<ConfigStore, 'readText' | 'editText'>,
    bounds: Pick<ImportRunOptions, 'timeMs' | 'memoryMiB'> = {},
  ) {
    this.#store = store;
    this.#bounds = bounds;
  }

  /** What `apply` would do. Changes nothing. @throws AppError IMPORT_REFUSED, TOO_MANY */
  preview(file: ImportFile, only?: readonly ImportSection[]): Promise<Report> {
    return this.#withFile(file, async (read) => {
      return reportOf(await read(await this.#store.readText(), only), false);
    });
  }

  /** As `preview`; also CONFIG_INVALID and CONFIG_UNWRITABLE. */
  apply(file: ImportFile, only?: readonly ImportSection[]): Promise<Report> {
    return this.#withFile(file, async (read) => {
      for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
        const before = await this.#store.readText();
        const done = await read(before, only);
        let seen = '';
        await this.#store.editText((now) => {
          seen = now;
          return now === before ? done.settings : now;
        });
        if (seen === before) return reportOf(done, true);
      }
      throw new AppError('CONFIG_UNWRITABLE', 'the settings keep changing; try again');
    });
  }

  get status(): MethodOutput<'import.status'> {
    if (this.#running === null) return { running: false, stage: '', elapsedMs: 0 };
    const { stage, startedMs } = this.#running;
    return { running: true, stage, elapsedMs: performance.now() - startedMs };
  }

  /** Ends what is running. @returns whether there was anything */
  cancel(): boolean {
    this.#running?.stop.abort();
    return this.#running !== null;
  }

  async #withFile(
    file: ImportFile,
    work: (
      read: (settings: string, only?: readonly ImportSection[]) => Promise<ImportDone>,
    ) => Promise<Report>,
  ): Promise<Report> {
    if (this.#running !== null) {
      throw new AppError('IMPORT_REFUSED', 'another import is running; wait for it, or cancel it');
    }
    const running = { stage: '', startedMs: performance.now(), stop: new AbortController() };
    this.#running = running;
    const { path, name, takesFiles = true } = file;
    let handle: FileHandle | undefined;
    let scratch = '';
    try {
      handle = await openRegular(path, name === '' ? 'the file' : name);
      scratch = await mkdtemp(join(tmpdir(), 'sluice-import-'));
      const { fd } = handle;
      return await work((settings, only) =>
        runImport(
          fd,
          { name, only, settings, scratch, takesFiles },
          {
            ...this.#bounds,
            signal: running.stop.signal,
            onStage: (stage) => {
              running.stage = stage;
            },
          },
        ),
      );
    } finally {
      this.#running = null;
      await handle?.close();
      if (scratch !== '') await rm(scratch, { recursive: true, force: true });
    }
  }
}

function reportOf({ program, taken, notTaken }: ImportDone, applied: boolean): Report {
  return { program, applied, taken, notTaken };
}

/**
 * Neither a pipe nor a device, nor a link, nor a file that the system makes up.
 *
 * @param name  what messages call it
 */
async function openRegular(path: string, name: string): Promise<FileHandle> {
  if (!isAbsolute(path)) throw refused(`write the whole path of the file, not "${path}"`);
  let handle: FileHandle | undefined;
  try {
    handle = await open(path, OPEN_FLAGS);
    const info = await handle.stat();
    if (!info.isFile()) throw refused(`${name} is no regular file`);
    if (info.size === 0) throw refused(`${name} is empty`);
    if (info.size > LIMITS.importBytesMax) throw refused(tooLarge(name));
    return handle;
  } catch (error) {
    await handle?.close();
    if (error instanceof AppError) throw error;
    throw refused(`${name} cannot be read: ${error instanceof Error ? error.message : ''}`);
  }
}

function tooLarge(name: string): string {
  const most = String(LIMITS.importBytesMax / 1024 / 1024);
  return (
    `${name} has more than ${most} MiB. Of Pi-hole, export a Teleporter archive (Settings, ` +
    'Teleporter) and import that: it leaves out the names that its lists have brought'
  );
}

function refused(why: string): AppError {
  return new AppError('IMPORT_REFUSED', why);
}
