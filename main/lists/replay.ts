/**
 * Tries two tables on the names that were asked for lately: what would the new one newly block, or
 * newly allow? Called by list-updater.ts in the main thread, which it never holds for longer than
 * LIMITS.replaySliceMs at a time.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LIMITS } from '../contract/limits.ts';
import type { NameView } from '../dns/name.ts';
import { hashSuffixes, writeName } from '../dns/name.ts';
import type { ReplayFacts } from './meta.ts';

/** Names between two looks at the clock. */
const NAMES_PER_LOOK = 64;

/** The id of the list that blocks a name; 0 when none does. */
export type BlockerOf = (view: NameView) => number;

/** A name whose fate changes. `listId` blocks it now, or has blocked it before. */
export interface ChangedName {
  readonly name: string;
  readonly listId: number;
}

export interface Replay {
  /** Distinct names that were tried. */
  readonly names: number;
  /** Of them, not blocked before. */
  readonly used: number;
  /** In the order of the names given. */
  readonly blocked: readonly ChangedName[];
  readonly allowed: readonly ChangedName[];
}

/**
 * @param names   presentation form, the most asked for first; what is no name is passed over
 * @param signal  ends it early; the result then covers the names that were done
 */
export async function replayNames(
  names: readonly string[],
  before: BlockerOf,
  after: BlockerOf,
  signal: AbortSignal,
): Promise<Replay> {
  const blocked: ChangedName[] = [];
  const allowed: ChangedName[] = [];
  const view = new NameReader();
  let tried = 0;
  let used = 0;
  let sliceMs = performance.now();
  for (const [index, name] of names.entries()) {
    if (index % NAMES_PER_LOOK === 0 && isOver(sliceMs)) {
      await nextTurn();
      if (signal.aborted) break;
      sliceMs = performance.now();
    }
    if (!view.read(name)) continue;
    tried++;
    const old = before(view);
    const now = after(view);
    if (old === 0) used++;
    if ((old === 0) === (now === 0)) continue;
    if (old === 0) blocked.push({ name, listId: now });
    else allowed.push({ name, listId: old });
  }
  return { names: tried, used, blocked, allowed };
}

function isOver(sliceMs: number): boolean {
  return performance.now() - sliceMs > LIMITS.replaySliceMs;
}

/**
 * One list's part of a replay. A change whose list is none of the new copies came about by an
 * exception that one of them has or lacks: it is counted for each of them.
 */
export function factsFor(replay: Replay, listId: number, newIds: ReadonlySet<number>): ReplayFacts {
  const own = (changed: readonly ChangedName[]): string[] =>
    changed
      .filter((one) => one.listId === listId || !newIds.has(one.listId))
      .map(({ name }) => name);
  const blocked = own(replay.blocked);
  const allowed = own(replay.allowed);
  return {
    names: replay.names,
    used: replay.used,
    newlyBlocked: blocked.length,
    newlyAllowed: allowed.length,
    blockedExamples: blocked.slice(0, LIMITS.replayExamplesMax),
    allowedExamples: allowed.slice(0, LIMITS.replayExamplesMax),
  };
}

/** Turns texts into views, in one set of arrays. */
class NameReader implements NameView {
  readonly name = new Uint8Array(LIMITS.nameBytesMax + 1);
  nameLength = 0;
  labelCount = 0;
  readonly labelStarts = new Uint8Array(LIMITS.labelsMax + 1);
  readonly suffixHashes = new Int32Array(LIMITS.labelsMax + 1);

  /** False for what is no name, and for the root. */
  read(text: string): boolean {
    this.nameLength = writeName(text, this.name, 0);
    if (this.nameLength <= 0) return false;
    this.labelCount = 0;
    for (let at = 0; at < this.nameLength; at += (this.name[at] as number) + 1) {
      this.labelStarts[this.labelCount++] = at;
    }
    const { name, nameLength, labelStarts, labelCount, suffixHashes } = this;
    hashSuffixes(name, nameLength, labelStarts, labelCount, suffixHashes);
    return true;
  }
}
