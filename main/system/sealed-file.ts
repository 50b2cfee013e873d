/**
 * Small state files with a seal: the first line holds a hash over everything behind it, so that one
 * flipped bit, a cut end or another kind of file is found before its content is used.
 *
 *     # sluice-sealed 1 <kind> <SHA-256 of kind, newline and text, hex> <bytes of the text>
 *     <text>
 *
 * The first line is a comment of YAML, so a sealed settings file can be read as settings. A file
 * that does not verify is set aside as NAME.damaged, and its owner begins with its default.
 * Reading is synchronous: these files are small and are read before the program answers.
 */
import { createHash } from 'node:crypto';
import { readFileSync, renameSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { writeFileAtomic } from './atomic-file.ts';

const FORMAT = '# sluice-sealed 1';
const HEADER = /^# sluice-sealed 1 ([a-z-]+) ([0-9a-f]{64}) (\d{1,10})$/;
/** No state file comes near; a larger one is not ours. */
const BYTES_MAX = 64 * 1024 * 1024;
const DAMAGED_SUFFIX = '.damaged';

export type Unsealed =
  | { readonly state: 'whole'; readonly text: string }
  /** There is no seal: written by hand, or by a version that knew none. */
  | { readonly state: 'unsealed'; readonly text: string }
  | { readonly state: 'damaged' };

/** The bytes of a sealed file, as text. @param kind  lower-case letters and hyphens */
export function seal(kind: string, text: string): string {
  return `${FORMAT} ${kind} ${digest(kind, text)} ${String(Buffer.byteLength(text))}\n${text}`;
}

/** The inverse. Anything that begins as a seal and does not verify is damaged. */
export function unseal(kind: string, bytes: Buffer): Unsealed {
  const end = bytes.indexOf('\n');
  const first = bytes.toString('latin1', 0, end < 0 ? bytes.length : end);
  const [, foundKind, hash, length] = HEADER.exec(first) ?? [];
  const text = bytes.toString('utf8', end + 1);
  if (foundKind === undefined) {
    if (isNearly(first)) return { state: 'damaged' };
    return { state: 'unsealed', text: bytes.toString('utf8') };
  }
  const isWhole = foundKind === kind && Number(length) === bytes.length - end - 1;
  return isWhole && digest(kind, text) === hash ? { state: 'whole', text } : { state: 'damaged' };
}

/** Whether a line was a seal once: most of its letters are still there, wherever the damage is. */
function isNearly(line: string): boolean {
  let same = 0;
  for (let at = 0; at < FORMAT.length; at++) if (FORMAT[at] === line[at]) same++;
  return same >= FORMAT.length - 4;
}

function digest(kind: string, text: string): string {
  return createHash('sha256').update(`${kind}\n`).update(text).digest('hex');
}

export type Found<Value> =
  | { readonly state: 'whole'; readonly value: Value }
  | { readonly state: 'missing' }
  /** `sentence`: what happened to the file, without a full stop. */
  | { readonly state: 'damaged'; readonly sentence: string };

export interface SealedFileOptions<Value> {
  readonly path: string;
  /** What the file is about; part of the hash. */
  readonly kind: string;
  /** The value of a file's JSON; undefined when it is not of this shape. */
  readonly parse: (json: unknown) => Value | undefined;
}

/** One value in one sealed file, as JSON. */
export class SealedFile<Value> {
  readonly #options: SealedFileOptions<Value>;
  #tail: Promise<void> = Promise.resolve();

  constructor(options: SealedFileOptions<Value>) {
    this.#options = options;
  }

  get path(): string {
    return this.#options.path;
  }

  /** Never throws. A file without a seal, of an older version, counts when it parses. */
  read(): Found<Value> {
    const { path, kind, parse } = this.#options;
    let bytes: Buffer;
    try {
      if (statSync(path).size > BYTES_MAX) return this.#damaged('is too large');
      bytes = readFileSync(path);
    } catch (error) {
      const { code = String(error) } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT') return { state: 'missing' };
      return { state: 'damaged', sentence: `${path} cannot be read (${code})` };
    }
    const unsealed = unseal(kind, bytes);
    const value = unsealed.state === 'damaged' ? undefined : parseJson(unsealed.text, parse);
    return value === undefined ? this.#damaged('was damaged') : { state: 'whole', value };
  }

  /** Replaces the file, one write after another. Rejects with the system's error. */
  write(value: Value): Promise<void> {
    const { path, kind } = this.#options;
    const text = seal(kind, `${JSON.stringify(value)}\n`);
    const written = this.#tail.then(() => writeFileAtomic(path, text, { mode: 0o600 }));
    this.#tail = written.catch(() => undefined); // the caller gets the error
    return written;
  }

  /** Resolves when nothing is being written. */
  settled(): Promise<void> {
    return this.#tail;
  }

  #damaged(what: string): Found<Value> {
    const aside = setAside(this.#options.path);
    return { state: 'damaged', sentence: `${this.#options.path} ${what}${aside}` };
  }
}

/** Renames a damaged file. @returns a clause for people; '' where it could not be renamed */
function setAside(path: string): string {
  try {
    renameSync(path, path + DAMAGED_SUFFIX);
    return ` and is set aside as ${basename(path)}${DAMAGED_SUFFIX}`;
  } catch {
    return ''; // a disk that takes no writes: the file is overwritten when it does
  }
}

function parseJson<Value>(
  text: string,
  parse: (json: unknown) => Value | undefined,
): Value | undefined {
  try {
    return parse(JSON.parse(text) as unknown);
  } catch {
    return undefined;
  }
}
