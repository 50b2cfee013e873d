/** What is said about lists: their state, their form, their versions. */
import { en } from '../../main/texts/en/index.ts';
import type { ListStatus } from '../../main/contract/methods/methods.ts';
import type { ListSource } from '../client/answers.ts';
import { t } from '../text.ts';

/** Formats a person can choose when the format of a list is not detected. */
export const listFormats = Object.keys(en.lists.formats) as ListFormat[];
export type ListFormat = keyof typeof en.lists.formats;

/** The format that a list was found to have; '' while it is not known. */
export function describeForm(format: string): string {
  if (format === 'auto') return '';
  return (t().lists.formats as Readonly<Record<string, string>>)[format] ?? format;
}

/** What the lines of its copy are; '' before one was read. Those ignored are told apart. */
export function describeLines({ lines, rules, comments }: ListStatus): string {
  return lines === 0 ? '' : t().lists.lines(lines, rules, comments);
}

/** What a list's names are used for; in the settings, what is as usual is left out. */
export interface ListUse {
  readonly action: 'block' | 'allow';
  readonly match: 'subdomains' | 'exact';
  /** Takes lines for whole top-level domains, too. */
  readonly allowWide: boolean;
}

export const usualUse: ListUse = { action: 'block', match: 'subdomains', allowWide: false };

/** As the settings say, with what they leave out. */
export function useOf(source: ListSource): ListUse {
  const { action, match, allowWide } = source;
  return {
    action: action ?? usualUse.action,
    match: match ?? usualUse.match,
    allowWide: allowWide ?? usualUse.allowWide,
  };
}

/** Only what is not as usual, for the settings. */
export function unusual(use: ListUse): Partial<ListUse> {
  const { action, match, allowWide } = use;
  return {
    ...(action === usualUse.action ? {} : { action }),
    ...(match === usualUse.match ? {} : { match }),
    ...(allowWide ? { allowWide } : {}),
  };
}

/** What of a list's settings is worth telling on its card; '' when all is as usual. */
export function describeUse(source: ListSource | undefined): string {
  const said = t().lists.usedFor;
  return [
    source?.action === 'allow' ? said.allow : '',
    source?.match === 'exact' ? said.exact : '',
    source?.allowWide === true ? said.wide : '',
  ]
    .filter((text) => text !== '')
    .join(', ');
}

export type ListHealth = 'good' | 'warn' | 'bad' | 'plain';

/** The state of a list, and how much it matters. */
export function healthOf(list: ListStatus): {
  state: ListStatus['state'] | 'review';
  tone: ListHealth;
} {
  const { state } = list;
  if (list.enabled && list.quarantine?.acceptable === true && state !== 'updating') {
    return { state: 'review', tone: 'warn' };
  }
  if (state === 'ok') return { state, tone: 'good' };
  return { state, tone: state === 'failed' ? 'bad' : 'plain' };
}

/** "+1,204 / −88 domains"; '' when there was nothing to compare with. */
export function describeChange(change: NonNullable<ListStatus['change']>): string {
  const { added, removed } = change;
  if (added === null || removed === null) return '';
  return t().lists.change(added, removed);
}

/** What a copy did to names that were asked for: sentences; '' when it changed nothing of these. */
export function describeReplay(replay: NonNullable<ListStatus['change']>['replay']): string {
  if (replay === null) return '';
  const said = t().lists;
  return [
    effect(said.newlyBlocks, replay.newlyBlocked, replay.blockedExamples),
    effect(said.noLongerBlocks, replay.newlyAllowed, replay.allowedExamples),
  ]
    .filter((text) => text !== '')
    .join(' ');
}

function effect(
  describe: (names: number) => string,
  count: number,
  examples: readonly string[],
): string {
  if (count === 0) return '';
  const some = examples.slice(0, 3).join(', ');
  const end = count > examples.slice(0, 3).length ? ' …' : '.';
  return some === '' ? `${describe(count)}.` : `${describe(count)}: ${some}${end}`;
}
