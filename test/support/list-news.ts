/** The part of a list's status that tells what updates did, for a list that nothing happened to. */
import type { ListStatus } from '../../main/contract/methods.ts';

export const NO_UPDATES: Pick<ListStatus, 'change' | 'quarantine' | 'generations' | 'rolledBack'> =
  { change: null, quarantine: null, generations: [], rolledBack: false };
