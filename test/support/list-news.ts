/** The part of a list's status that tells what updates did, for a list that nothing happened to. */
import type { ListStatus } from '../../main/contract/methods/methods.ts';

type Untouched = 'change' | 'quarantine' | 'generations' | 'rolledBack';
type Read = 'lines' | 'rules' | 'comments';

export const NO_UPDATES: Pick<ListStatus, Untouched | Read> = {
  ...{ change: null, quarantine: null, generations: [], rolledBack: false },
  ...{ lines: 0, rules: 0, comments: 0 },
};
