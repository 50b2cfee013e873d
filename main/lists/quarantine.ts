/**
 * Decides whether a new copy that compiles is taken, by what it would do to the names in use, and
 * says it in words. Pure; called by list-updater.ts.
 */
import { LIMITS } from '../contract/limits.ts';
import type { HoldKind, ReplayFacts } from './meta.ts';

/**
 * Why a new copy waits for a person; null when it is taken.
 *
 * @param connectivity  connectivity-check names (engine/state/connectivity.ts) that it newly blocks. Lists
 *                      do not apply to them, but one that names them means far more than ads.
 */
export function holdReason(facts: ReplayFacts, connectivity: readonly string[]): string | null {
  const [first] = connectivity;
  if (first !== undefined) {
    return `it would block ${first}, by which systems find out whether there is an internet`;
  }
  const { newlyBlocked, used } = facts;
  const isMuch =
    newlyBlocked > LIMITS.quarantineNames && newlyBlocked * 100 > used * LIMITS.quarantinePercent;
  const isHalf = newlyBlocked >= LIMITS.quarantineHalfNames && newlyBlocked * 2 > used;
  return isMuch || isHalf ? `it ${changesText(facts)}` : null;
}

/** "would newly block 14 names you used, for example a, b, c". */
export function changesText({ newlyBlocked, blockedExamples }: ReplayFacts): string {
  const some = blockedExamples.slice(0, 3).join(', ');
  const names = newlyBlocked === 1 ? '1 name' : `${String(newlyBlocked)} names`;
  return `would newly block ${names} you used${some === '' ? '' : `, for example ${some}`}`;
}

/** Which kind of refusal a reason of validate.ts is. */
export function kindOfRefusal(reason: string): HoldKind {
  if (reason.startsWith('it fell from')) return 'collapse';
  return /^only \d+ of \d+ lines/.test(reason) ? 'parse-rate' : 'not-a-list';
}
