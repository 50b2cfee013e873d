/** What is said about policies: what they do, with which names, for whom and when. */
import type { Policy } from '../client/answers.ts';
import { t } from '../text.ts';

type Schedule = NonNullable<Policy['schedule']>;
export type Weekday = Schedule['days'][number];

/** In the order of the week as most calendars have it. */
export const weekdays: readonly Weekday[] = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];

/** "x.example, y.example and 3 more". */
export function describeSome(entries: readonly string[], shown: number): string {
  const first = entries.slice(0, shown).join(', ');
  const left = entries.length - shown;
  return left > 0 ? t().policies.andMore(first, left) : first;
}

export function describeNames({ domains, regex }: Policy): string {
  return describeSome([...domains, ...regex.map((pattern) => `/${pattern}/`)], 2);
}

export function describeWho({ clients }: Policy): string {
  return clients.length === 0 ? t().policies.everyone : describeSome(clients, 2);
}

/** "Mon–Fri", "22:00–06:30", "Europe/Berlin"; "Always" without a schedule. */
export function describeWhen({ schedule }: Policy): string[] {
  if (schedule === undefined) return [t().policies.always];
  const { days, from, to, timeZone } = schedule;
  const hours = from === to ? '' : `${from}–${to}`;
  return [describeDays(days), hours, timeZone].filter((text) => text !== '');
}

/** Runs of three days and more are told by their ends. */
export function describeDays(days: readonly Weekday[]): string {
  if (days.length === weekdays.length) return t().policies.everyDay;
  const runs: Weekday[][] = [];
  for (const [index, day] of weekdays.entries()) {
    if (!days.includes(day)) continue;
    const last = runs.at(-1);
    if (last !== undefined && last.at(-1) === weekdays[index - 1]) last.push(day);
    else runs.push([day]);
  }
  return runs
    .flatMap((run) => {
      const names = run.map((day) => t().policies.weekdays[day].short);
      return run.length < 3 ? names : [`${names[0] ?? ''}–${names.at(-1) ?? ''}`];
    })
    .join(', ');
}

/** Where a redirect leads; '' for another action. */
export function describeTarget({ redirect }: Policy): string {
  if (redirect === undefined) return '';
  return redirect.name === '' ? describeSome(redirect.addresses, 2) : redirect.name;
}

/** Whether a policy with a schedule holds now; '' for one that is switched off, and without one. */
export function describeState(policy: Policy, inForce: readonly string[]): string {
  if (!policy.enabled || policy.schedule === undefined) return '';
  return inForce.includes(policy.name) ? t().policies.inForce : t().policies.notInForce;
}

/** As they decide: larger priority first; at equal priority allow, redirect, block. */
export function inOrder(policies: readonly Policy[]): Policy[] {
  const place: Record<Policy['action'], number> = { allow: 0, redirect: 1, block: 2 };
  return [...policies].sort(
    (left, right) => right.priority - left.priority || place[left.action] - place[right.action],
  );
}
