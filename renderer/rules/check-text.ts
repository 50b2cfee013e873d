/** Words about the rules that a check found. */
import type { CheckFound } from '../state/check.svelte.ts';
import { t } from '../text.ts';

/** Where a rule stands. */
export function placeOf({ source, list, line }: CheckFound['matches'][number]): string {
  const said = t().rules.check;
  switch (source) {
    case 'temporary':
      return said.temporaryRule;
    case 'rule':
      return said.ownRule(line);
    case 'group':
      return said.groupRule(list, line);
    case 'policy':
      return said.policy(list);
    case 'service':
      return list;
    case 'list':
      return line > 0 ? said.listLine(list, line) : list;
  }
}

/** Under which condition a rule holds, and why it does not; '' for neither. */
export function notesOf(match: CheckFound['matches'][number]): string {
  const { important, condition, whyNot } = match;
  return [important ? t().rules.check.important : '', condition, whyNot]
    .filter((note) => note !== '')
    .join('; ');
}
