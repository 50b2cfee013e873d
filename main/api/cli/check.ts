/**
 * `sluice check`, `allow` and `block`: what a name would get as text for people, and the rules that
 * those commands ask for. Used by cli.ts.
 */
import { InvalidArgumentError } from 'commander';
import { LIMITS } from '../../contract/limits.ts';
import type { MethodInput, MethodOutput } from '../../contract/methods/methods.ts';
import { readTypedName } from '../../dns/typed-name.ts';
import { t } from './language.ts';
import { duration, leftText } from './text.ts';

type Check = MethodOutput<'check'>;

export interface RuleOptions {
  /** Minutes. */
  readonly for?: number;
  readonly client?: string;
}

/** @throws AppError ARGUMENT_INVALID when the name is none */
export function ruleInput(
  action: 'allow' | 'block',
  name: string,
  { for: minutes, client }: RuleOptions,
): MethodInput<'rules.add'> {
  const rule = `${action === 'allow' ? '@@' : ''}||${readTypedName(name).replace(/\.$/, '')}^`;
  return { rule, ...(minutes && { minutes }), ...(client !== undefined && { client }) };
}

const UNIT_MINUTES: Readonly<Record<string, number>> = { '': 1, m: 1, h: 60, d: 24 * 60 };

/** Reads 10, 10m, 2h or 1d as minutes. */
export function spanMinutes(text: string): number {
  const [, digits, unit = ''] = /^(\d{1,4})([mhd]?)$/i.exec(text.trim()) ?? [];
  const minutes = Number(digits) * (UNIT_MINUTES[unit.toLowerCase()] ?? NaN);
  if (minutes >= 1 && minutes <= LIMITS.temporaryMinutesMax) return minutes;
  throw new InvalidArgumentError('write a time such as 10m or 2h, at most 24h.');
}

export function checkText(found: Check): string {
  const said = t().cli.check;
  return [
    `${found.name}: ${found.decision}`,
    found.why,
    said.answer(found.answer.text),
    ...section(said.steps, found.steps.map(stepText)),
    ...section(said.matches, found.matches.map(matchText)),
    ...section(said.targets, found.chain.map(linkText)),
    ...section(said.cached, found.cache.entries.map(cachedText)),
    ...resolvedText(found.resolved),
  ].join('\n');
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [title, ...lines];
}

function stepText({ step, result, decides }: Check['steps'][number]): string {
  return `  ${decides ? '*' : ' '} ${step}: ${result}`;
}

function matchText(match: Check['matches'][number]): string {
  const { action, list, line, rule, matchedName, important, condition, whyNot } = match;
  const mark = match.won ? '*' : match.applies ? ' ' : '-';
  const place = line > 0 ? `${list}:${String(line)}` : list;
  const notes = [
    match.source === 'temporary' ? t().cli.check.temporary : '',
    important ? t().cli.check.important : '',
    condition,
    whyNot,
  ].filter((note) => note !== '');
  const said = notes.length === 0 ? '' : `  (${notes.join('; ')})`;
  return `  ${mark} ${action.padEnd(8)} ${place}  ${rule || matchedName}${said}`;
}

function linkText({ owner, typeName, target, decision, why }: Check['chain'][number]): string {
  return `    ${owner} ${typeName} ${target}: ${decision}, ${why}`;
}

function cachedText(entry: Check['cache']['entries'][number]): string {
  const { typeName, kind, leftSeconds, records } = entry;
  const head = `    ${typeName} ${kind}, ${leftText(leftSeconds)}`;
  return [head, ...records.map((one) => `      ${one}`)].join('\n');
}

function resolvedText(resolved: Check['resolved']): string[] {
  if (resolved === null) return [];
  const { outcome, rcode, upstream, durationUs, records } = resolved;
  const said = t().cli.check;
  const from = upstream === '' ? '' : ` ${said.by(upstream)}`;
  const answer = rcode === '' ? said.noAnswer : rcode;
  const took = said.took(duration(durationUs));
  return [
    `${said.resolved} ${answer}, ${outcome}${from} ${took}`,
    ...records.map((one) => `    ${one}`),
  ];
}
