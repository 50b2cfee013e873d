/**
 * The token that lets in over HTTP: the file `token` in the data folder, readable by its owner only,
 * one line that programs such as Prometheus can read as it is. It outlives restarts.
 *
 * A token carries a checksum, so that a damaged one is recognised. A file that is damaged, belongs
 * to somebody else or can be read by others is replaced, and that is told. Main thread.
 */
import { createHash, randomBytes } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../contract/errors.ts';
import { writeFileAtomic } from '../../system/atomic-file.ts';
import { writeTrouble } from '../../control/process/data-folder.ts';

const TOKEN_BYTES = 32;
const FILE_BYTES_MAX = 256;

/** What the file says: a token, or why there is none. */
type Found = { readonly token: string } | { readonly token: null; readonly why: string };

export class AccessToken {
  readonly #path: string;
  readonly #listeners: (() => void)[] = [];
  #value: string;

  private constructor(path: string, value: string) {
    this.#path = path;
    this.#value = value;
  }

  /**
   * Reads the token of a data folder, or makes one. On a disk that takes no file it lives as long
   * as the program.
   *
   * @param onNotice  gets one sentence when a token that was there is replaced, or is not kept
   */
  static async open(
    dataDirectory: string,
    onNotice: (sentence: string) => void,
  ): Promise<AccessToken> {
    const path = tokenPath(dataDirectory);
    const found = await readFile(path);
    if (found.token !== null) return new AccessToken(path, found.token);
    const token = new AccessToken(path, makeToken());
    if (found.why !== '') {
      onNotice(`The token for HTTP was made anew: ${path} ${found.why}; open the window again.`);
    }
    try {
      await writeToken(path, token.value);
    } catch (error) {
      onNotice(`The token for HTTP is not kept over a restart: ${writeTrouble(error, path)}.`);
    }
    return token;
  }

  get value(): string {
    return this.#value;
  }

  /** Called when the token was replaced. */
  onRenew(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Replaces the token. @throws AppError CONFIG_UNWRITABLE; the old one then stays */
  async renew(): Promise<void> {
    const value = makeToken();
    try {
      await writeToken(this.#path, value);
    } catch (error) {
      throw new AppError('CONFIG_UNWRITABLE', writeTrouble(error, this.#path), error);
    }
    this.#value = value;
    for (const listener of this.#listeners) listener();
  }
}

/** The token in a data folder. @throws AppError NOT_RUNNING when there is none to use */
export async function readToken(dataDirectory: string): Promise<string> {
  const path = tokenPath(dataDirectory);
  const found = await readFile(path);
  if (found.token !== null) return found.token;
  const why = found.why === '' ? 'is not there' : found.why;
  throw new AppError('NOT_RUNNING', `${path} ${why}; "sluice run" makes one`);
}

/** Replaces the token of a data folder that nobody runs on. @throws AppError CONFIG_UNWRITABLE */
export async function replaceToken(dataDirectory: string): Promise<void> {
  const path = tokenPath(dataDirectory);
  try {
    await writeToken(path, makeToken());
  } catch (error) {
    throw new AppError('CONFIG_UNWRITABLE', writeTrouble(error, path), error);
  }
}

function tokenPath(dataDirectory: string): string {
  return join(dataDirectory, 'token');
}

/** 43 letters of chance and 8 of a checksum. */
function makeToken(): string {
  const secret = randomBytes(TOKEN_BYTES).toString('base64url');
  return secret + checksum(secret);
}

function isToken(text: string): boolean {
  return /^[\w-]{51}$/.test(text) && checksum(text.slice(0, 43)) === text.slice(43);
}

function checksum(secret: string): string {
  return createHash('sha256').update(secret).digest('hex').slice(0, 8);
}

/** Never waits for a pipe, and follows no link; Windows has neither flag. */
async function readFile(path: string): Promise<Found> {
  try {
    const flags = process.platform === 'win32' ? 0 : constants.O_NOFOLLOW | constants.O_NONBLOCK;
    const file = await open(path, constants.O_RDONLY | flags);
    try {
      const why = whyUnsafe(await file.stat());
      if (why !== '') return { token: null, why };
      const { buffer, bytesRead } = await file.read(Buffer.alloc(FILE_BYTES_MAX));
      const text = buffer.toString('latin1', 0, bytesRead).trim();
      return isToken(text) ? { token: text } : { token: null, why: 'was damaged' };
    } finally {
      await file.close();
    }
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    return { token: null, why: isMissing ? '' : 'cannot be read' };
  }
}

/** Why what a file says is no secret of this user; '' when it is. */
function whyUnsafe(info: Stats): string {
  if (!info.isFile()) return 'is no file';
  const own = process.getuid?.();
  if (own === undefined) return '';
  // Root looks at the folders of others, as with "sluice --data-dir".
  if (own !== 0 && info.uid !== own) return 'belongs to another user';
  return (info.mode & 0o077) === 0 ? '' : 'could be read by other users';
}

/** A file that is there lends nothing to the new one, neither rights nor place. */
async function writeToken(path: string, token: string): Promise<void> {
  await rm(path, { force: true });
  await writeFileAtomic(path, `${token}\n`, { mode: 0o600 });
}
