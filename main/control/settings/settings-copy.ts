/**
 * The settings that were last valid and in use, kept beside the settings file as NAME.previous (in
 * the data folder, where that is another one). When the file turns out damaged, the program starts
 * with this copy instead of the template's settings.
 *
 * The copy is sealed (system/sealed-file.ts) behind comment lines, so a person can put it in place
 * of the file as it is. One without a seal, made by hand or by an older version, counts too. It also
 * holds which file it was read from, by inode and time of the last change: content that differs
 * though nobody wrote is the disk's work.
 */
import { readFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { writeFileAtomic } from '../../system/atomic-file.ts';
import { seal, unseal } from '../../system/sealed-file.ts';

/** Suffix of the copy. */
export const PREVIOUS_SUFFIX = '.previous';

const KIND = 'settings';
const NOTE = /^# The settings last in use, read from file (\S+ \S+ \S+)\n/;

export interface CopiedSettings {
  /** Where the copy lies. */
  readonly path: string;
  readonly text: string;
  /** Fingerprint of the file that it was read from; '' when it is not known. */
  readonly source: string;
  /** The seal is right. False for one without a seal. */
  readonly isSealed: boolean;
}

export class SettingsCopy {
  readonly path: string;
  readonly #otherPath: string;
  #written = '';

  /** @param path  of the copy; @param file  the settings file, beside which one may lie as well */
  constructor(path: string, file: string) {
    this.path = path;
    this.#otherPath = file + PREVIOUS_SUFFIX;
  }

  /** Null when there is none, or none that is whole. Blank ones do not count. */
  read(): CopiedSettings | null {
    for (const path of new Set([this.path, this.#otherPath])) {
      const found = readCopy(path);
      if (found === null || isBlank(found.text)) continue;
      if (path === this.path && found.isSealed) this.#written = sealed(found.text, found.source);
      return found;
    }
    return null;
  }

  /**
   * Takes a text into the copy, unless it is there already.
   *
   * @param source  fingerprint of the file with this text; '' when it is still to be written
   * @throws the system's error
   */
  async write(text: string, source: string): Promise<void> {
    const content = sealed(text, source);
    if (content === this.#written) return;
    await writeFileAtomic(this.path, content, { mode: 0o600 });
    this.#written = content;
  }
}

/** Changes whenever the file is replaced or written, and not by itself; '' without a file. */
export async function fingerprint(file: string): Promise<string> {
  const info = await stat(file).catch(() => null);
  return info ? `${String(info.ino)} ${String(info.ctimeMs)} ${String(info.size)}` : '';
}

/** Nothing but NUL bytes and white space: what a power cut leaves of a file. */
export function isBlank(text: string): boolean {
  return /^[\0\s\uFEFF]*$/.test(text);
}

function sealed(text: string, source: string): string {
  const note = source === '' ? '' : `# The settings last in use, read from file ${source}\n`;
  return seal(KIND, note + text);
}

function readCopy(path: string): CopiedSettings | null {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch {
    return null; // there is none, or the disk does not give it: the same for the caller
  }
  const unsealed = unseal(KIND, bytes);
  if (unsealed.state === 'damaged') return null;
  const { text, state } = unsealed;
  const source = NOTE.exec(text)?.[1] ?? '';
  return { path, text: text.replace(NOTE, ''), source, isSealed: state === 'whole' };
}
