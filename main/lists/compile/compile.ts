/**
 * Compiles all enabled lists into one rule set: pure but for the reading of copies, which is
 * passed in. Called by compile-thread.ts; tests call it directly.
 *
 * Each text is read in windows, for its hash and then once for its rules. A new copy is judged by
 * what became of its lines in the table; when that is refused, the table is begun again without it.
 */
import { createHash } from 'node:crypto';
import { TABLE_VERSION } from '../../engine/filter/domain-table.ts';
import type { RuleBuffers } from '../../engine/filter/rule-set.ts';
import { hashOf, headOf, type ListText, type OpenText } from './list-text.ts';
import { parseList, type ListOptions, type ListReport } from './parse-list.ts';
import { RuleSetBuilder } from './rule-set-builder.ts';
import { TableFull } from './table-builder.ts';
import { SNIFF_BYTES, refuseBytes, refuseReport } from './validate.ts';

/** Part of the key of a snapshot: raise it when parsers give other results for the same text. */
const PARSER_VERSION = 4;

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

/** Makes the buffers of a builder that is complete. */
export type MakeRules = (builder: RuleSetBuilder, key: Uint8Array) => RuleBuffers;

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
 * Candidates are validated. A copy that is refused, damaged, or too much for the bounds of the table
 * is left out with a reason, and the next best copy of its list is used.
 *
 * @param keyInUse    key of the table in use; when it turns out to be wanted again, it is kept
 * @param onProgress  called every 65,536 lines with the list and the lines done
 * @param make        default: in memory
 */
export function compileLists(
  sources: readonly CompileSource[],
  keyInUse: Uint8Array,
  open: OpenText,
  onProgress: (listId: number, lines: number) => void,
  make: MakeRules = (builder, key) => builder.finish(key),
): Compiled {
  const excluded = excludeAtSight(sources, open);
  for (;;) {
    const kept = excluded.size > 0 ? keepTable(sources, keyInUse, excluded) : null;
    if (kept) return kept;
    const compilation = new Compilation(open, onProgress, excluded);
    const compiled = compilation.run(sources, make);
    if (compiled) return compiled;
  }
}

/** Candidates whose first bytes tell that they are no lists. */
function excludeAtSight(sources: readonly CompileSource[], open: OpenText): Map<CopyFile, string> {
  const excluded = new Map<CopyFile, string>();
  for (const copy of sources.flatMap(({ copies }) => copies)) {
    if (copy.kind !== 'candidate') continue;
    const found = withCopy(copy, open, (text) => refuseBytes(headOf(text, SNIFF_BYTES), text.size));
    const reason = typeof found === 'string' ? found : found.value;
    if (reason !== null) excluded.set(copy, reason);
  }
  return excluded;
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

/** Runs `use` on the text of a copy and says where that was; or why the copy cannot be used. */
function withCopy<Value>(
  copy: CopyFile,
  open: OpenText,
  use: (text: ListText) => Value,
): { value: Value; path: string } | string {
  let reason = 'its file is missing';
  for (const path of copy.paths) {
    let text: ListText;
    try {
      text = open(path);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== 'ENOENT') reason = message;
      continue;
    }
    try {
      const damage = damageOf(text, copy.sha256);
      if (damage === '') return { value: use(text), path };
      reason = damage;
    } finally {
      text.close();
    }
  }
  return reason;
}

/** Why a text is not the one with this hash; '' when it is. */
function damageOf(text: ListText, sha256: string): string {
  try {
    return hashOf(text) === sha256 ? '' : 'its file is damaged';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** One attempt. It is given up, and begun again, when a copy has turned out to be none to use. */
class Compilation {
  readonly #open: OpenText;
  readonly #onProgress: (listId: number, lines: number) => void;
  readonly #excluded: Map<CopyFile, string>;
  /** There are rules in the builder of a copy that is excluded now. */
  #isSpoiled = false;

  constructor(
    open: OpenText,
    onProgress: (listId: number, lines: number) => void,
    excluded: Map<CopyFile, string>,
  ) {
    this.#open = open;
    this.#onProgress = onProgress;
    this.#excluded = excluded;
  }

  /** Null when a copy was added to the excluded ones. */
  run(sources: readonly CompileSource[], make: MakeRules): Compiled | null {
    const bytes = sources.reduce((sum, source) => sum + (source.copies[0]?.bytes ?? 0), 0);
    const builder = new RuleSetBuilder(bytes);
    const results: CompileResult[] = [];
    const inputs: KeyInput[] = [];
    try {
      for (const source of sources) {
        const { result, sha256 } = this.#addList(source, builder);
        results.push(result);
        if (result.used) inputs.push(keyInput(source, sha256));
      }
    } catch (error) {
      if (!(error instanceof TableFull)) throw error;
      this.#isSpoiled = true;
    }
    if (!this.#isSpoiled) return { rules: make(builder, tableKey(inputs)), results };
    builder.clear();
    return null;
  }

  #addList(
    source: CompileSource,
    builder: RuleSetBuilder,
  ): { result: CompileResult; sha256: string } {
    const { listId } = source;
    const refused: { kind: CopyFile['kind']; reason: string }[] = [];
    const none = { listId, used: null, path: '', report: null, names: 0, refused } as const;
    for (const copy of source.copies) {
      const before = builder.entryCount;
      const found =
        this.#excluded.get(copy) ??
        withCopy(copy, this.#open, (text) => this.#addRules(copy, text, source, builder));
      if (typeof found === 'string') {
        refused.push({ kind: copy.kind, reason: found });
        continue;
      }
      const { path, value: report } = found;
      const names = builder.entryCount - before;
      const result = { listId, used: copy.kind, path, report, names, refused };
      return { result, sha256: copy.sha256 };
    }
    return { result: none, sha256: '' };
  }

  /**
   * A copy that is refused is among the excluded ones afterwards. The lists behind it are looked at
   * all the same, so that one more attempt is enough for all.
   *
   * @throws TableFull  when the table became too full
   */
  #addRules(
    copy: CopyFile,
    text: ListText,
    source: CompileSource,
    builder: RuleSetBuilder,
  ): ListReport {
    const { listId } = source;
    builder.beginList(listId);
    try {
      const report = parseList(text, source, builder, (lines) => {
        this.#onProgress(listId, lines);
      });
      const isNew = copy.kind === 'candidate';
      const reason = isNew ? refuseReport(report, copy.namesBefore) : null;
      if (reason !== null) {
        this.#excluded.set(copy, reason);
        this.#isSpoiled = true;
      }
      return report;
    } catch (error) {
      // Too full with what is not to stay is no reason against this copy.
      if (error instanceof TableFull && !this.#isSpoiled) this.#excluded.set(copy, error.message);
      throw error;
    }
  }
}
