/**
 * The list directory: raw copies, what is known about them, and the compiled snapshot. Main thread;
 * the list manager is its only user (the compile thread reads copies and writes the snapshot by the
 * paths it is given).
 *
 *   copy-<SHA-256>.txt    a copy that is in use, was before, or waits for a person
 *   meta.json             which copies each list has (sealed)    table.bin      compiled snapshot
 *   meta.previous.json    the one before                         table.bin.new  candidate snapshot
 *   list-<id>.new         candidate
 *
 * A copy has the name of its content and never changes. A change of any kind is: copies under their
 * names, then the new meta file, then the removal of copies that no list has any more. So whatever
 * is cut off, and however often, the meta file names copies that are there. A built-in list has no
 * copy: it is read where it lies.
 */
import { closeSync, existsSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { RuleSet } from '../engine/filter/rule-set.ts';
import { syncDirectory, TEMPORARY_SUFFIX, writeFileAtomic } from '../system/atomic-file.ts';
import type { CopyFile } from './compile/compile.ts';
import { hashOf, openTextFile } from './compile/list-text.ts';
import { localPath } from './fetch/local-source.ts';
import type { CopyMeta, ListMeta } from './meta.ts';
import { copiesOf, readMeta, writeMeta } from './meta.ts';
import { readSnapshot } from './compile/snapshot-file.ts';

const CANDIDATE_SUFFIX = '.new';
const COPY_NAME = /^copy-[0-9a-f]{64}\.txt$/;
/** Copies of an older version, known by their place. */
const OLD_COPY_NAME = /^list-\d+\.((previous|held|swap)\.)?txt$/;
const LINE_CHUNK_BYTES = 65_536;
/** Longest source line shown in an explanation. */
const LINE_SHOWN_BYTES = 512;

export interface StoredLists {
  readonly lists: ListMeta[];
  /** There was something here, but no meta file that could be read. */
  readonly isLost: boolean;
}

export class ListStore {
  readonly directory: string;
  readonly snapshotPath: string;
  readonly #builtinDirectory: string;
  readonly #metaPath: string;
  readonly #previousMetaPath: string;
  /** The text of the meta file as it is on disk; '' when there is none that counts. */
  #metaText = '';

  /** @param builtinDirectory  holds <name>.txt of each builtin:<name> */
  constructor(directory: string, builtinDirectory: string) {
    this.directory = directory;
    this.#builtinDirectory = builtinDirectory;
    this.snapshotPath = join(directory, 'table.bin');
    this.#metaPath = join(directory, 'meta.json');
    this.#previousMetaPath = join(directory, 'meta.previous.json');
  }

  /**
   * Makes the directory, in one that is there, removes what a crash left half done, and reads the
   * meta file: the older one when the newer is damaged, nothing without both.
   *
   * Never throws: what cannot be written shows at the first round, and what there is can be read.
   */
  async open(): Promise<StoredLists> {
    await mkdir(this.directory, { mode: 0o700 }).catch(() => undefined);
    const stored = this.#loadMeta();
    await this.#tidy(stored).catch(() => undefined);
    return stored;
  }

  /** Replaces the meta file, and then removes the copies that no list has any more. */
  async saveMeta(lists: readonly ListMeta[]): Promise<void> {
    const text = writeMeta(lists);
    if (this.#metaText !== '') {
      await writeFileAtomic(this.#previousMetaPath, this.#metaText, { mode: 0o600 });
    }
    await writeFileAtomic(this.#metaPath, text, { mode: 0o600 });
    this.#metaText = text;
    await this.#removeCopies(lists);
  }

  candidatePath(id: number): string {
    return join(this.directory, `list-${String(id)}${CANDIDATE_SUFFIX}`);
  }

  copyPath({ sha256 }: Pick<CopyMeta, 'sha256'>): string {
    return join(this.directory, `copy-${sha256}.txt`);
  }

  /** The file of a built-in list; null for any other. @throws AppError LIST_REJECTED */
  builtinPath(url: string): string | null {
    return url.startsWith('builtin:') ? localPath(url, this.#builtinDirectory) : null;
  }

  /** Copies of a list for the compiler, best first. */
  copies(meta: ListMeta): CopyFile[] {
    const files: CopyFile[] = [];
    for (const kind of ['current', 'previous'] as const) {
      const copy = meta[kind];
      if (!copy) continue;
      const { sha256, bytes } = copy;
      files.push({ kind, paths: this.#pathsOf(copy), sha256, bytes, namesBefore: 0 });
    }
    return files;
  }

  /** Gives a candidate, which is on disk as a whole, the name of its content. */
  async keep(candidate: string, copy: Pick<CopyMeta, 'sha256'>): Promise<void> {
    const path = this.copyPath(copy);
    if (dirname(candidate) !== this.directory || candidate === path) return;
    await rename(candidate, path);
    await syncDirectory(this.directory);
  }

  /** Removes a candidate; a built-in list or a copy stays. */
  async dropCandidate(path: string): Promise<void> {
    const isOurs = dirname(path) === this.directory && path.endsWith(CANDIDATE_SUFFIX);
    if (isOurs) await rm(path, { force: true });
  }

  /** Where the compiler saves the table; it counts from `commitSnapshot` on. */
  get snapshotCandidatePath(): string {
    return this.snapshotPath + CANDIDATE_SUFFIX;
  }

  async commitSnapshot(): Promise<void> {
    await rename(this.snapshotCandidatePath, this.snapshotPath);
    await syncDirectory(this.directory);
  }

  async dropSnapshotCandidate(): Promise<void> {
    await rm(this.snapshotCandidatePath, { force: true });
  }

  /**
   * Reads the snapshot into shared memory.
   *
   * @returns null when there is none, or it is damaged: it is then made anew from the copies
   * Synchronous: it happens once, before the program answers; about 1 ms per MiB with the checksum.
   */
  loadSnapshot(): RuleSet | null {
    try {
      const rules = RuleSet.open(readSnapshot(this.snapshotPath));
      return rules.verify() ? rules : null;
    } catch {
      return null; // Missing or damaged, which the doc comment promises to treat alike.
    }
  }

  /** A line of a copy; '' when it has not so many, or the copy is not there. */
  line(copy: CopyMeta, line: number): string {
    for (const path of this.#pathsOf(copy)) {
      const text = readLine(path, copy.bytes, line);
      if (text !== null) return text;
    }
    return '';
  }

  #pathsOf(copy: CopyMeta): string[] {
    const path = this.copyPath(copy);
    try {
      return [path, this.builtinPath(copy.url) ?? path];
    } catch {
      return [path]; // a built-in list whose name is none any more
    }
  }

  #loadMeta(): StoredLists {
    for (const path of [this.#metaPath, this.#previousMetaPath]) {
      // A missing file and a damaged one mean the same here: use the next.
      const bytes = readIfThere(path);
      const lists = bytes && readMeta(bytes);
      if (!lists) continue;
      this.#metaText = bytes.toString('utf8');
      return { lists: lists.map((meta) => this.#withoutDangling(meta)), isLost: false };
    }
    return { lists: [], isLost: existsSync(this.snapshotPath) };
  }

  /** A waiting copy whose file has gone cannot be taken any more. */
  #withoutDangling(meta: ListMeta): ListMeta {
    const { held } = meta;
    const isDangling = held?.isKept === true && !existsSync(this.copyPath(held.copy));
    const isOld = existsSync(join(this.directory, `list-${String(meta.id)}.held.txt`));
    return isDangling && !isOld ? { ...meta, held: { ...held, isKept: false } } : meta;
  }

  async #tidy({ lists, isLost }: StoredLists): Promise<void> {
    for (const name of await readdir(this.directory)) {
      const path = join(this.directory, name);
      if (OLD_COPY_NAME.test(name)) await this.#moveOldCopy(path, lists);
      const isLeftOver = name.endsWith(TEMPORARY_SUFFIX) || name.endsWith(CANDIDATE_SUFFIX);
      if (isLeftOver || name.endsWith('.tmp')) await rm(path, { force: true });
    }
    if (!isLost) await this.#removeCopies(lists);
  }

  /** An older version knew copies by their place: they get the name of their content. */
  async #moveOldCopy(path: string, lists: readonly ListMeta[]): Promise<void> {
    const sha256 = hashOfFile(path);
    const isKnown = lists.flatMap(copiesOf).some((copy) => copy.sha256 === sha256);
    if (isKnown) await this.keep(path, { sha256 });
    else await rm(path, { force: true });
  }

  async #removeCopies(lists: readonly ListMeta[]): Promise<void> {
    const used = new Set(lists.flatMap(copiesOf).map((copy) => basename(this.copyPath(copy))));
    for (const name of await readdir(this.directory)) {
      if (COPY_NAME.test(name) && !used.has(name)) await rm(join(this.directory, name));
    }
  }
}

/** The SHA-256 of a file, hex. Throws the system's error. */
export function hashOfFile(path: string): string {
  const text = openTextFile(path);
  try {
    return hashOf(text);
  } finally {
    text.close();
  }
}

function readIfThere(path: string): Buffer | null {
  try {
    return readFileSync(path);
  } catch {
    return null;
  }
}

/** Reads up to a line in chunks. Null when the file is missing or has not the expected size. */
function readLine(path: string, bytesExpected: number, line: number): string | null {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch {
    return null; // The caller tries the other file.
  }
  try {
    if (fstatSync(file).size !== bytesExpected) return null;
    const chunk = Buffer.alloc(LINE_CHUNK_BYTES);
    let before = 1;
    for (let at = 0; ;) {
      const count = readSync(file, chunk, 0, chunk.length, at);
      if (count === 0) return '';
      for (let index = 0; index < count; index++) {
        if (before === line) return lineAt(file, at + index);
        if (chunk[index] === 0x0a) before++;
      }
      at += count;
    }
  } finally {
    closeSync(file);
  }
}

/** The line that begins at a byte of the file, shortened. */
function lineAt(file: number, start: number): string {
  const bytes = Buffer.alloc(LINE_SHOWN_BYTES);
  const count = readSync(file, bytes, 0, bytes.length, start);
  const text = bytes.toString('utf8', 0, count).split('\n', 1)[0] as string;
  return text.replace(/^\ufeff/, '').trim();
}
