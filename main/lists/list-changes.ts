/**
 * What each turn of events makes of a list's meta: taken, held, rolled back, failed. Pure; used by
 * list-updater.ts, which moves the files.
 */
import type { CompileResult } from './compile/compile.ts';
import type { NameChanges } from './compile/list-diff.ts';
import type { CopyMeta, HoldKind, ListMeta, ReplayFacts } from './meta.ts';

/** A copy that may become the current one. */
export interface Candidate {
  /** 'accepted': a person wants it in spite of why it was held. */
  readonly kind: 'candidate' | 'accepted';
  readonly path: string;
  readonly copy: CopyMeta;
}

/** By list id. */
export type Candidates = Map<number, Candidate>;

/** The copy whose validators go with the next request: the newest that the server has given. */
export function knownCopy(meta: ListMeta): CopyMeta | null {
  const { held, rolledBack: sha256, previous, current } = meta;
  if (held?.isKept === true) return held.copy;
  return sha256 !== '' && previous?.sha256 === sha256 ? previous : current;
}

/**
 * Which of the copies at hand the server has given again.
 *
 * @param sha256  of what it has sent; null for "not modified"
 * @returns       null when it is none of them
 */
export function fetchedSame(
  meta: ListMeta,
  sha256: string | null,
): 'current' | 'held' | 'rolled-back' | null {
  const { held, current, rolledBack: skipped, url } = meta;
  const given = sha256 ?? known(meta);
  if (current?.url === url && current.sha256 === given) return 'current';
  if (held?.isKept === true && held.copy.sha256 === given) return 'held';
  return skipped === given && given !== '' ? 'rolled-back' : null;
}

function known(meta: ListMeta): string {
  return knownCopy(meta)?.sha256 ?? '';
}

/** The held copy as a candidate; null when there is none whose bytes were kept. */
export function acceptHeld(
  { held }: ListMeta,
  pathOf: (copy: CopyMeta) => string,
): Candidate | null {
  if (held?.isKept !== true) return null;
  return { kind: 'accepted', path: pathOf(held.copy), copy: held.copy };
}

/** Ids of candidates that the compiler has taken. */
export function candidatesOnly(
  results: readonly CompileResult[],
  candidates: Candidates,
): Set<number> {
  const taken = results.filter(({ listId, used }) => candidates.get(listId)?.kind === used);
  return new Set(taken.map(({ listId }) => listId));
}

export function failed(meta: ListMeta, checkedAtMs: number, error: string): ListMeta {
  return { ...meta, checkedAtMs, failures: meta.failures + 1, error };
}

/** A new copy was set aside. The next look at the server is an ordinary one. */
export function held(meta: ListMeta, copy: CopyMeta, kind: HoldKind, reason: string): ListMeta {
  const error = `update refused: ${reason}`;
  return { ...meta, held: { kind, reason, copy, isKept: true }, failures: 0, error };
}

/** Another copy is in use. */
export function taken(
  meta: ListMeta,
  current: CopyMeta,
  how: {
    readonly atMs: number;
    readonly replay: ReplayFacts | null;
    readonly names: NameChanges | undefined;
  },
): ListMeta {
  const { atMs, replay, names } = how;
  const change = { atMs, added: names?.added ?? null, removed: names?.removed ?? null, replay };
  const rest = { failures: 0, error: '', held: null, rolledBack: '', change };
  return { ...meta, current, previous: meta.current, ...rest };
}

/** The previous copy is in use again, and the one it replaces is not taken a second time. */
export function rolledBack(meta: ListMeta, atMs: number): ListMeta {
  const { current, previous } = meta;
  if (!previous) return meta;
  const change = { atMs, added: null, removed: null, replay: null };
  // Going back twice is going forward again: then nothing is left to be passed over.
  const skipped = meta.rolledBack === previous.sha256 ? '' : (current?.sha256 ?? '');
  return { ...meta, current: previous, previous: current, rolledBack: skipped, change, error: '' };
}
