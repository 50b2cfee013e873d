/** Words about a check. */
import type { CheckFound } from '../state/check.svelte.ts';
import { formatCount } from '../format/number.ts';

/** The word on the badge. */
export const decisionLabels: Record<CheckFound['decision'], string> = {
  blocked: 'Blocked',
  allowed: 'Not blocked',
  rewritten: 'Redirected',
  local: 'Answered here',
  rejected: 'Refused',
};

/** What a rule does. */
export const actionLabels: Record<CheckFound['matches'][number]['action'], string> = {
  block: 'Blocks',
  allow: 'Allows',
  redirect: 'Redirects',
};

/** Where a rule stands. */
export function placeOf({ source, list, line }: CheckFound['matches'][number]): string {
  switch (source) {
    case 'temporary':
      return 'Temporary rule';
    case 'rule':
      return `Your rules, ${numbered(line)}`;
    case 'group':
      return `Group ${list}, ${numbered(line)}`;
    case 'policy':
      return `Policy ${list}`;
    case 'service':
      return list;
    case 'list':
      return line > 0 ? `${list}, line ${formatCount(line)}` : list;
  }
}

function numbered(line: number): string {
  return `number ${formatCount(line)}`;
}

/** Under which condition a rule holds, and why it does not; '' for neither. */
export function notesOf(match: CheckFound['matches'][number]): string {
  const { important, condition, whyNot } = match;
  return [important ? 'important' : '', condition, whyNot].filter((note) => note !== '').join('; ');
}
