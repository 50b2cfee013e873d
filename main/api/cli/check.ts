/**
 * `sluice check`, `allow` and `block`: what a name would get as text for people, and the rules that
 * those commands ask for. Used by cli.ts.
 */
import { InvalidArgumentError } from 'commander';
import { LIMITS } from '../../contract/limits.ts';
import type { MethodInput, MethodOutput } from '../../contract/methods/methods.ts';
import { readTypedName } from '../../dns/typed-name.ts';

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
  return [
    `${found.name}: ${found.decision}`,
    found.why,
    `answer: ${found.answer.text}`,
    ...section('steps (* decided):', found.steps.map(stepText)),
    ...section('rules that name it (* decides, - does not apply):', found.matches.map(matchText)),
    ...section('leads to:', found.chain.map(linkText)),
    ...section('kept:', found.cache.entries.map(keptText)),
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
    match.source === 'temporary' ? 'temporary' : '',
    important ? 'important' : '',
    condition,
    whyNot,
  ].filter((note) => note !== '');
  const said = notes.length === 0 ? '' : `  (${notes.join('; ')})`;
  return `  ${mark} ${action.padEnd(8)} ${place}  ${rule || matchedName}${said}`;
}

function linkText({ owner, typeName, target, decision, why }: Check['chain'][number]): string {
  return `    ${owner} ${typeName} ${target}: ${decision}, ${why}`;
}

function keptText(entry: Check['cache']['entries'][number]): string {
  const { typeName, kind, leftSeconds, records } = entry;
  const left = leftSeconds >= 0 ? `${String(leftSeconds)} s left` : 'expired';
  return [`    ${typeName} ${kind}, ${left}`, ...records.map((one) => `      ${one}`)].join('\n');
}

function resolvedText(resolved: Check['resolved']): string[] {
  if (resolved === null) return [];
  const { outcome, rcode, upstream, durationUs, records } = resolved;
  const from = upstream === '' ? '' : ` by ${upstream}`;
  const took = `${(durationUs / 1_000).toFixed(1)} ms`;
  const answer = rcode === '' ? 'no answer' : rcode;
  return [`asked: ${answer}, ${outcome}${from} in ${took}`, ...records.map((one) => `    ${one}`)];
}
