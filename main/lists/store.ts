/**
 * The list directory: raw copies, what is known about them, and the compiled snapshot. Main thread;
 * the list manager is its only user (the compile thread reads copies and writes the snapshot by the
 * paths it is given).
 *
 *   list-<id>.txt           last good copy        meta.json           ListMeta of every list
 *   list-<id>.previous.txt  the one before        meta.previous.json  the one before
 *   list-<id>.new           candidate             table.bin           compiled snapshot
 *   list-<id>.held.txt      waits for a person    table.bin.new       candidate snapshot
 *   list-<id>.swap.txt      only during a rollback
 *
 * A candidate becomes current by: current -> previous, candidate -> current, new meta; a rollback is
 * current -> swap, previous -> current, swap -> previous, new meta. Copies are known by their
 * SHA-256 in the meta file, so after a crash between these steps the old copy is found under one
 * name or the other. A damaged file counts as missing, and the next best is used.
 */
import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { copyFile, mkdir, readFile, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { RuleSet } from '../engine/rule-set.ts';
import { TEMPORARY_SUFFIX, syncDirectory, writeFileAtomic } from './atomic-file.ts';
import type { CopyFile } from './compile.ts';
import type { CopyMeta, ListMeta } from './meta.ts';
import { readMeta, writeMeta } from './meta.ts';
import { readSnapshot } from './snapshot-file.ts';

const CANDIDATE_SUFFIX = '.new';
const SWAP_SUFFIX = '.swap.txt';
const LINE_CHUNK_BYTES = 65_536;
/** Longest source line shown in an explanation. */
const LINE_SHOWN_BYTES = 512;

export class ListStore {
  readonly directory: string;
  readonly snapshotPath: string;
  readonly #metaPath: string;
  readonly #previousMetaPath: string;

  constructor(directory: string) {
    this.directory = directory;
    this.snapshotPath = join(directory, 'table.bin');
    this.#metaPath = join(directory, 'meta.json');
    this.#previousMetaPath = join(directory, 'meta.previous.json');
  }

  /**
   * Makes the directory, in one that is there, and removes what a crash left half done.
   *
   * @throws the system's error; what there is can be read all the same
   */
  async open(): Promise<void> {
    await mkdir(this.directory, { mode: 0o700 }).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    });
    for (const name of await readdir(this.directory)) {
      if (name.endsWith(SWAP_SUFFIX)) await this.#endSwap(name.slice(0, -SWAP_SUFFIX.length));
      if (!name.endsWith(TEMPORARY_SUFFIX) && !name.endsWith(CANDIDATE_SUFFIX)) continue;
      await rm(join(this.directory, name), { force: true });
    }
  }

  /** The lists as last saved; from the older file when the newer is damaged; [] without both. */
  async loadMeta(): Promise<ListMeta[]> {
    for (const path of [this.#metaPath, this.#previousMetaPath]) {
      // A missing file and a damaged one mean the same here: use the next.
      const text = await readFile(path, 'utf8').catch(() => '');
      const lists = readMeta(text);
      if (lists) return lists;
    }
    return [];
  }

  async saveMeta(lists: readonly ListMeta[]): Promise<void> {
    const text = await readFile(this.#metaPath, 'utf8').catch(() => '');
    const isGood = readMeta(text) !== null;
    if (isGood) await copyFile(this.#metaPath, this.#previousMetaPath);
    await writeFileAtomic(this.#metaPath, writeMeta(lists));
  }

  candidatePath(id: number): string {
    return join(this.directory, `list-${String(id)}${CANDIDATE_SUFFIX}`);
  }

  /** Copies of a list for the compiler, best first. */
  copies(meta: ListMeta): CopyFile[] {
    const paths = [this.#currentPath(meta.id), this.#previousPath(meta.id)];
    const files: CopyFile[] = [];
    for (const kind of ['current', 'previous'] as const) {
      const copy = meta[kind];
      if (!copy) continue;
      files.push({ kind, paths, sha256: copy.sha256, bytes: copy.bytes, namesBefore: 0 });
    }
    return files;
  }

  /** Makes a candidate, or a held copy, the current one; the current one becomes the previous. */
  async acceptCandidate(id: number, path = this.candidatePath(id)): Promise<void> {
    await renameIfThere(this.#currentPath(id), this.#previousPath(id));
    await rename(path, this.#currentPath(id));
    await syncDirectory(this.directory);
  }

  heldPath(id: number): string {
    return join(this.directory, `list-${String(id)}.held.txt`);
  }

  /** Sets the candidate aside, in place of one that was set aside before. */
  async holdCandidate(id: number): Promise<void> {
    await rename(this.candidatePath(id), this.heldPath(id));
    await syncDirectory(this.directory);
  }

  async dropHeld(id: number): Promise<void> {
    await rm(this.heldPath(id), { force: true });
  }

  /** Exchanges the current and the previous copy. */
  async swapCopies(id: number): Promise<void> {
    const swap = join(this.directory, `list-${String(id)}${SWAP_SUFFIX}`);
    await renameIfThere(this.#currentPath(id), swap);
    await renameIfThere(this.#previousPath(id), this.#currentPath(id));
    await renameIfThere(swap, this.#previousPath(id));
    await syncDirectory(this.directory);
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

  /** Gives a file that a crash left in the middle of `swapCopies` the name that is free. */
  async #endSwap(stem: string): Promise<void> {
    const swap = join(this.directory, stem + SWAP_SUFFIX);
    for (const path of [`${stem}.txt`, `${stem}.previous.txt`]) {
      const free = join(this.directory, path);
      if (existsSync(free)) continue;
      await rename(swap, free);
      return;
    }
    await rm(swap, { force: true });
  }

  async dropCandidate(id: number): Promise<void> {
    await rm(this.candidatePath(id), { force: true });
  }

  /**
   * Gives the file that the compiler has used the name of the current copy. What had that name is
   * kept: after a crash in a rollback it is the other copy.
   */
  async settleCurrent(id: number, usedPath: string): Promise<void> {
    if (usedPath === this.#currentPath(id)) return;
    if (usedPath === this.#previousPath(id)) return this.swapCopies(id);
    await rename(usedPath, this.#currentPath(id));
    await syncDirectory(this.directory);
  }

  /** Removes all files of a list. */
  async remove(id: number): Promise<void> {
    const copies = [this.#currentPath(id), this.#previousPath(id)];
    for (const path of [...copies, this.candidatePath(id), this.heldPath(id)])
      await rm(path, { force: true });
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

  /** A line of the current copy; '' when it has not so many, or the copy is not there. */
  line(id: number, copy: CopyMeta, line: number): string {
    for (const path of [this.#currentPath(id), this.#previousPath(id)]) {
      const text = readLine(path, copy.bytes, line);
      if (text !== null) return text;
    }
    return '';
  }

  #currentPath(id: number): string {
    return join(this.directory, `list-${String(id)}.txt`);
  }

  #previousPath(id: number): string {
    return join(this.directory, `list-${String(id)}.previous.txt`);
  }
}

async function renameIfThere(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
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
