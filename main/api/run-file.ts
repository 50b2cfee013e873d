/**
 * The file `run.json` of a data folder: who runs on it, and how to reach them.
 *
 * It is the lock that keeps a second instance off the same folder, and what the command line reads
 * to find the running one. It names a process by id and start time, so that one left behind by
 * `kill -9` or by another boot, whose id may now belong to somebody else, never blocks a start.
 * Mode 0600, as everything in the folder.
 */
import { constants, readFileSync, renameSync } from 'node:fs';
import { access, link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AppError } from '../contract/errors.ts';
import { isDiskTrouble, makeFolder, writeTrouble } from '../control/process/data-folder.ts';
import { isShortage } from '../control/process/uncaught-errors.ts';

export interface RunInfo {
  readonly pid: number;
  /** Tells this process from another with the same id later; '' where the system cannot say. */
  readonly identity: string;
  readonly version: string;
  /** Bound addresses of the DNS listeners; empty until they answer. */
  readonly dns: readonly string[];
  /** Bound address of the HTTP door; null until it answers, and when there is none. */
  readonly http: string | null;
}

/** Times a start may find a stale file that another start takes away under it. */
const CLAIM_ATTEMPTS_MAX = 5;
/** Time between attempts to write the file on a disk that takes no writes. */
const RETRY_MS = 10_000;

/**
 * The claim of this process on a data folder.
 *
 * On a disk that is full or read-only the claim stands without a file, because DNS must be answered
 * all the same; that is told, and tried again until the file can be written.
 */
export class RunFile {
  readonly #path: string;
  readonly #onTrouble: (reason: string | null) => void;
  #info: RunInfo;
  /** The file is ours. */
  #isHeld = false;
  #isReleased = false;
  #retry: NodeJS.Timeout | undefined;
  #tail: Promise<unknown> = Promise.resolve();

  private constructor(path: string, info: RunInfo, onTrouble: (reason: string | null) => void) {
    this.#path = path;
    this.#info = info;
    this.#onTrouble = onTrouble;
  }

  /**
   * Makes the folder when it is missing.
   *
   * @param onTrouble  why the file cannot be written, without a full stop; null when it is again
   * @throws AppError ALREADY_RUNNING naming the other process, DATA_FOLDER_UNUSABLE, NOT_ALLOWED
   */
  static async claim(
    dataDirectory: string,
    version: string,
    onTrouble: (reason: string | null) => void = () => undefined,
  ): Promise<RunFile> {
    const identity = processIdentity(process.pid);
    const info = { pid: process.pid, identity, version, dns: [], http: null };
    const file = new RunFile(runFilePath(dataDirectory), info, onTrouble);
    await file.#save();
    return file;
  }

  /** Tells where the doors are. */
  publish(doors: Pick<RunInfo, 'dns' | 'http'>): Promise<void> {
    this.#info = { ...this.#info, ...doors };
    return this.#save();
  }

  /** Gives the folder back. Idempotent. */
  async release(): Promise<void> {
    if (this.#isReleased) return;
    this.#isReleased = true;
    clearTimeout(this.#retry);
    await this.#tail;
    const now = await readInfo(this.#path);
    // A file that cannot be removed names a process that has ended, which blocks nobody.
    if (now?.pid === this.#info.pid) await rm(this.#path, { force: true }).catch(() => undefined);
  }

  /** One write after another. */
  #save(): Promise<void> {
    const saved = this.#tail.then(() => this.#write());
    this.#tail = saved.catch(() => undefined); // the caller gets the error
    return saved;
  }

  async #write(): Promise<void> {
    clearTimeout(this.#retry);
    try {
      if (this.#isHeld) await replace(this.#path, this.#info);
      else await take(this.#path, this.#info);
      this.#isHeld = true;
      this.#onTrouble(null);
    } catch (error) {
      if (!isSurvivable(error)) throw error;
      this.#onTrouble(writeTrouble(error, dirname(this.#path)));
      this.#retry = setTimeout(() => {
        this.#again();
      }, RETRY_MS).unref();
    }
  }

  #again(): void {
    if (this.#isReleased) return;
    this.#save().catch((error: unknown) => {
      this.#onTrouble(error instanceof Error ? error.message : String(error));
    });
  }
}

/**
 * The running instance of a data folder; null when none runs.
 *
 * @throws AppError NOT_ALLOWED when the folder belongs to somebody else
 */
export async function findRunning(dataDirectory: string): Promise<RunInfo | null> {
  const path = runFilePath(dataDirectory);
  await access(path, constants.R_OK).catch((error: unknown) => {
    if (codeOf(error) === 'EACCES') {
      throw new AppError(
        'NOT_ALLOWED',
        `${path}: only the user who runs Sluice may read it; run this command as that user`,
        error,
      );
    }
  });
  const info = await readInfo(path);
  return info && isAlive(info) ? info : null;
}

function runFilePath(dataDirectory: string): string {
  return join(dataDirectory, 'run.json');
}

/** A name in the same folder that no other start uses. */
function uniqueBeside(path: string): string {
  return `${path}.${String(process.pid)}-${Math.random().toString(36).slice(2)}`;
}

/** @throws AppError ALREADY_RUNNING; the system's error when the file cannot be written */
async function take(path: string, info: RunInfo): Promise<void> {
  makeFolder(dirname(path));
  const running = await findRunning(dirname(path));
  if (running) throw alreadyRunning(running);
  const temporary = uniqueBeside(path);
  try {
    await writePrivate(temporary, info);
    for (let attempt = 1; attempt <= CLAIM_ATTEMPTS_MAX; attempt++) {
      if (await linkNew(temporary, path)) return;
      await removeStale(path);
    }
  } finally {
    await rm(temporary, { force: true }).catch(() => undefined); // the first error is to be told
  }
  throw new AppError('ALREADY_RUNNING', `${dirname(path)}: another instance is starting`);
}

async function replace(path: string, info: RunInfo): Promise<void> {
  const temporary = uniqueBeside(path);
  try {
    await writePrivate(temporary, info);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined); // the first error is to be told
    throw error;
  }
}

/** Whether DNS can be answered without the file. */
function isSurvivable(error: unknown): boolean {
  const isForbidden = codeOf(error) === 'EACCES' || codeOf(error) === 'EPERM';
  return isDiskTrouble(error) || isForbidden || isShortage(error);
}

async function writePrivate(path: string, info: RunInfo): Promise<void> {
  await writeFile(path, `${JSON.stringify(info)}\n`, { mode: 0o600, flag: 'wx' });
}

/** Gives the file its real name unless that is taken. Whole from the first moment. */
async function linkNew(temporary: string, path: string): Promise<boolean> {
  try {
    await link(temporary, path);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** Takes away a file whose process is gone. @throws AppError ALREADY_RUNNING when it is not */
async function removeStale(path: string): Promise<void> {
  const aside = uniqueBeside(path);
  // In one go: the shorter the time between look and rename, the rarer the case below.
  try {
    const found = parseInfo(readFileSync(path, 'utf8'));
    if (found && isAlive(found)) throw alreadyRunning(found);
    renameSync(path, aside);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return; // another start was quicker
    throw error;
  }
  const taken = await readInfo(aside);
  // Between the look and the rename another start may have claimed the folder: give it back.
  if (taken && isAlive(taken)) {
    await link(aside, path).catch(() => undefined);
    await rm(aside, { force: true });
    throw alreadyRunning(taken);
  }
  await rm(aside, { force: true });
}

function alreadyRunning(info: RunInfo): AppError {
  return new AppError(
    'ALREADY_RUNNING',
    `starting failed: an instance with process id ${String(info.pid)} uses this data folder`,
  );
}

/** Null when there is no file, or it is not one of ours. */
async function readInfo(path: string): Promise<RunInfo | null> {
  return parseInfo(await readFile(path, 'utf8').catch(() => ''));
}

function parseInfo(text: string): RunInfo | null {
  try {
    const value = JSON.parse(text) as Partial<RunInfo> | null;
    if (typeof value?.pid !== 'number') return null;
    const { pid, identity = '', version = '', dns = [], http = null } = value;
    return { pid, identity, version, dns, http };
  } catch {
    // Missing or cut short by a power failure: nobody can be running on it.
    return null;
  }
}

function isAlive({ pid, identity }: RunInfo): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (codeOf(error) !== 'EPERM') return false; // EPERM: alive, and somebody else's
  }
  return identity === '' || processIdentity(pid) === identity;
}

/** Boot and start time of a process. Source: proc_pid_stat(5), field 22. */
function processIdentity(pid: number): string {
  if (process.platform !== 'linux') return '';
  try {
    const stat = readFileSync(`/proc/${String(pid)}/stat`, 'latin1');
    const afterName = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    return afterName[0] === 'Z' ? 'ended' : `${boot} ${afterName[19] ?? ''}`;
  } catch {
    // The process is gone, or /proc is not mounted; then its id alone has to do.
    return '';
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
