/** What is said about lists: their state, their form, their versions. */
import type { ListStatus } from '../../main/contract/methods/methods.ts';
import type { ListSource } from '../client/answers.ts';
import { formatCount, formatNoun } from '../format/number.ts';

export const listStateLabels: Record<ListStatus['state'], string> = {
  ok: 'In use',
  updating: 'Updating…',
  failed: 'Update failed',
  waiting: 'Not fetched yet',
  disabled: 'Switched off',
};

/** Formats a person can choose when the form of a list is not recognised by itself. */
export const listFormatLabels = {
  auto: 'Recognise by itself',
  hosts: 'Hosts file (0.0.0.0 name)',
  domains: 'One name a line',
  adblock: 'Adblock (||name^)',
  wildcard: 'Wildcards (*.name)',
  dnsmasq: 'dnsmasq (address=/name/)',
  unbound: 'unbound (local-zone)',
  rpz: 'Response policy zone',
  regex: 'Regular expressions',
} as const;
export type ListFormat = keyof typeof listFormatLabels;

const formWords: Readonly<Record<string, string>> = {
  auto: '',
  hosts: 'hosts file',
  domains: 'one name a line',
  adblock: 'Adblock rules',
  wildcard: 'wildcards',
  dnsmasq: 'dnsmasq settings',
  unbound: 'unbound settings',
  rpz: 'response policy zone',
  regex: 'regular expressions',
};

/** The form that a list was found to have; '' while it is not known. */
export function describeForm(format: string): string {
  return formWords[format] ?? format;
}

/** What the lines of its copy are; '' before one was read. Those ignored are told apart. */
export function describeLines({ lines, rules, comments }: ListStatus): string {
  if (lines === 0) return '';
  const all = formatNoun(lines, 'line', 'lines');
  const others = `${formatNoun(comments, 'comment', 'comments')} or blank`;
  return `${all}: ${formatCount(rules)} with rules, ${others}`;
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
  return [
    source?.action === 'allow' ? 'allows what it names' : '',
    source?.match === 'exact' ? 'exact names only' : '',
    source?.allowWide === true ? 'may name whole top-level domains' : '',
  ]
    .filter((text) => text !== '')
    .join(', ');
}

export type ListHealth = 'good' | 'warn' | 'bad' | 'plain';

/** One word or two about a list, and how much it matters. */
export function healthOf(list: ListStatus): { label: string; tone: ListHealth } {
  if (list.enabled && list.quarantine?.acceptable === true && list.state !== 'updating') {
    return { label: 'New version waits for you', tone: 'warn' };
  }
  const label = listStateLabels[list.state];
  if (list.state === 'ok') return { label, tone: 'good' };
  return { label, tone: list.state === 'failed' ? 'bad' : 'plain' };
}

/** "+1,204 / −88 names"; '' when there was nothing to compare with. */
export function describeChange(change: NonNullable<ListStatus['change']>): string {
  const { added, removed } = change;
  if (added === null || removed === null) return '';
  return `+${formatCount(added)} / −${formatCount(removed)} names`;
}

/** What a copy did to names that were asked for: sentences; '' when it changed nothing of these. */
export function describeReplay(replay: NonNullable<ListStatus['change']>['replay']): string {
  if (replay === null) return '';
  return [
    effect('Newly blocks', replay.newlyBlocked, replay.blockedExamples),
    effect('No longer blocks', replay.newlyAllowed, replay.allowedExamples),
  ]
    .filter((text) => text !== '')
    .join(' ');
}

function effect(verb: string, count: number, examples: readonly string[]): string {
  if (count === 0) return '';
  const some = examples.slice(0, 3).join(', ');
  const names = `${formatNoun(count, 'name', 'names')} you used`;
  const end = count > examples.slice(0, 3).length ? ' …' : '.';
  return some === '' ? `${verb} ${names}.` : `${verb} ${names}: ${some}${end}`;
}
