/**
 * Compiles all enabled lists into one rule set: pure but for the reading of copies, which is
 * passed in. Called by compile-thread.ts; tests call it directly.
 *
 * One list's text is in memory at a time. Peak: that text + about twice the finished table.
 */
import { createHash } from 'node:crypto';
import { TABLE_VERSION } from '../engine/domain-table.ts';
import type { RuleBuffers } from '../engine/rule-set.ts';
import { parseList, type ListOptions, type ListReport } from './parse-list.ts';
import { RuleSetBuilder } from './rule-set-builder.ts';
import { TableFull } from './table-builder.ts';
import { refuseList } from './validate.ts';

/** Part of the key of a snapshot: raise it when parsers give other results for the same text. */
const PARSER_VERSION = 3;

/** A copy of a list on disk. */
export interface CopyFile {
  /** 'candidate' is validated; 'accepted' was by a person; the others were candidates once. */
  readonly kind: 'candidate' | 'accepted' | 'current' | 'previous';
  /** Files that may hold it; after a crash between two renames it is not in the first. */
  readonly paths: readonly string[];
  /** Hex. A file with another one is damaged, or another copy. */
  readonly sha256: string;
  readonly bytes: number;
  /** Names of the last accepted copy from the same URL, for a candidate; 0 for no check. */
  readonly namesBefore: number;
}

/** One list to compile: the copies to try, best first. */
export interface CompileSource extends ListOptions {
  readonly listId: number;
  readonly copies: readonly CopyFile[];
}

/** What became of one list. */
export interface CompileResult {
  readonly listId: number;
  /** The copy that is in the table; null when none was usable. */
  readonly used: CopyFile['kind'] | null;
  /** Where it was found; '' when none was, and when the table in use was kept. */
  readonly path: string;
  /** Null without a usable copy, and when the table in use was kept. */
  readonly report: ListReport | null;
  /** Entries of this list in the table: its distinct names. */
  readonly names: number;
  /** Copies that were not used, and why. */
  readonly refused: readonly { readonly kind: CopyFile['kind']; readonly reason: string }[];
}

export interface Compiled {
  /** Null when it would be the one in use: every new copy was refused. */
  readonly rules: RuleBuffers | null;
  readonly results: readonly CompileResult[];
}

/** Reads a file whole; throws when it cannot or when it is above LIMITS.listBytesMax. */
export type ReadFile = (path: string) => Uint8Array;

export interface KeyInput extends ListOptions {
  readonly listId: number;
  readonly sha256: string;
}

/** The key of a table: what went into it, in which order. 32 bytes. */
export function tableKey(inputs: readonly KeyInput[]): Uint8Array {
  const facts = inputs.map(({ listId, format, match, action, allowWide, sha256 }) => [
    ...[listId, format, sha256],
    ...[match ?? 'subdomains', action ?? 'block', allowWide ?? false],
  ]);
  const text = JSON.stringify([TABLE_VERSION, PARSER_VERSION, facts]);
  return createHash('sha256').update(text).digest();
}

/**
 * Compiles lists in the given order, which decides attribution where two name the same.
 *
 * Candidates are validated first. A copy that is refused, damaged, or too much for the bounds of the
 * table is left out with a reason, and the next best copy of its list is used.
 *
 * @param keyInUse    key of the table in use; when it turns out to be wanted again, it is kept
 * @param onProgress  called every 65,536 lines with the list and the lines done
 * @param onParsed    called before the table is made: texts are not needed any more
 */
export function compileLists(
  sources: readonly CompileSource[],
  keyInUse: Uint8Array,
  read: ReadFile,
  onProgress: (listId: number, lines: number) => void,
  onParsed: () => void = () => undefined,
): Compiled {
  const excluded = new Map<CopyFile, string>();
  for (const source of sources) {
    for (const copy of source.copies) {
      const reason = copy.kind === 'candidate' ? refuseCandidate(copy, source, read) : null;
      if (reason !== null) excluded.set(copy, reason);
    }
  }
  if (excluded.size > 0) {
    const kept = keepTable(sources, keyInUse, excluded);
    if (kept) return kept;
  }
  for (;;) {
    const compiled = new Compilation(read, onProgress, excluded).run(sources, onParsed);
    if (compiled) return compiled;
  }
}

function refuseCandidate(copy: CopyFile, options: ListOptions, read: ReadFile): string | null {
  const found = openCopy(copy, read);
  return typeof found === 'string' ? found : refuseList(found.bytes, options, copy.namesBefore);
}

/** What a source puts into the key, with a copy of this hash. */
function keyInput(source: CompileSource, sha256: string): KeyInput {
  return { ...source, sha256 };
}

/** The result when the copies that are left make the table in use; null when they do not. */
function keepTable(
  sources: readonly CompileSource[],
  keyInUse: Uint8Array,
  excluded: ReadonlyMap<CopyFile, string>,
): Compiled | null {
  const inputs: KeyInput[] = [];
  const results: CompileResult[] = [];
  for (const source of sources) {
    const { listId, copies } = source;
    const best = copies.find((copy) => !excluded.has(copy));
    if (best) inputs.push(keyInput(source, best.sha256));
    const refused = copies.flatMap((copy) => {
      const reason = excluded.get(copy);
      return reason === undefined ? [] : [{ kind: copy.kind, reason }];
    });
    const used = best?.kind ?? null;
    results.push({ listId, used, path: '', report: null, names: 0, refused });
  }
  return Buffer.compare(tableKey(inputs), keyInUse) === 0 ? { rules: null, results } : null;
}

/** The bytes of a copy and where they were, or why it cannot be used. */
function openCopy(copy: CopyFile, read: ReadFile): { bytes: Uint8Array; path: string } | string {
  let reason = 'its file is missing';
  for (const path of copy.paths) {
    let bytes: Uint8Array;
    try {
      bytes = read(path);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== 'ENOENT') reason = message;
      continue;
    }
    if (createHash('sha256').update(bytes).digest('hex') === copy.sha256) return { bytes, path };
    reason = 'its file is damaged';
  }
  return reason;
}

/** One attempt. It is given up, and begun again without one copy, when the table gets too full. */
class Compilation {
  readonly #read: ReadFile;
  readonly #onProgress: (listId: number, lines: number) => void;
  readonly #excluded: Map<CopyFile, string>;

  constructor(
    read: ReadFile,
    onProgress: (listId: number, lines: number) => void,
    excluded: Map<CopyFile, string>,
  ) {
    this.#read = read;
    this.#onProgress = onProgress;
    this.#excluded = excluded;
  }

  /** Null when a copy was added to the excluded ones. */
  run(sources: readonly CompileSource[], onParsed: () => void): Compiled | null {
    const bytes = sources.reduce((sum, source) => sum + (source.copies[0]?.bytes ?? 0), 0);
    const builder = new RuleSetBuilder(bytes);
    const results: CompileResult[] = [];
    const inputs: KeyInput[] = [];
    for (const source of sources) {
      const { result, sha256 } = this.#addList(source, builder);
      if (!result) return null;
      results.push(result);
      if (result.used) inputs.push(keyInput(source, sha256));
    }
    onParsed();
    return { rules: builder.finish(tableKey(inputs)), results };
  }

  #addList(
    source: CompileSource,
    builder: RuleSetBuilder,
  ): { result: CompileResult | null; sha256: string } {
    const { listId } = source;
    const refused: { kind: CopyFile['kind']; reason: string }[] = [];
    for (const copy of source.copies) {
      const found = this.#excluded.get(copy) ?? openCopy(copy, this.#read);
      if (typeof found === 'string') {
        refused.push({ kind: copy.kind, reason: found });
        continue;
      }
      const before = builder.entryCount;
      const report = this.#addNames(copy, found.bytes, source, builder);
      if (!report) return { result: null, sha256: '' };
      const names = builder.entryCount - before;
      const { path } = found;
      const result = { listId, used: copy.kind, path, report, names, refused };
      return { result, sha256: copy.sha256 };
    }
    const result = { listId, used: null, path: '', report: null, names: 0, refused };
    return { result, sha256: '' };
  }

  /** Null when the table became too full; the copy is then among the excluded ones. */
  #addNames(
    copy: CopyFile,
    bytes: Uint8Array,
    source: CompileSource,
    builder: RuleSetBuilder,
  ): ListReport | null {
    const { listId } = source;
    builder.beginList(listId);
    try {
      return parseList(bytes, source, builder, (lines) => {
        this.#onProgress(listId, lines);
      });
    } catch (error) {
      if (!(error instanceof TableFull)) throw error;
      this.#excluded.set(copy, error.message);
      return null;
    }
  }
}
