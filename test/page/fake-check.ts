/** What the fake service says of a checked name: a blocked one, a cloaked one, and all others. */
import type { MethodOutput } from '../../main/contract/methods/methods.ts';
import { textOf, type MethodArguments } from './fake-refusal.ts';

type Check = MethodOutput<'check'>;

const LIST_MATCHES: Check['matches'] = [
  {
    ...{ source: 'list', action: 'block', list: 'StevenBlack', line: 41_233 },
    ...{ rule: '0.0.0.0 doubleclick.net', matchedName: 'doubleclick.net', important: false },
    ...{ condition: '', applies: true, whyNot: '', won: true },
  },
  {
    ...{ source: 'list', action: 'block', list: 'Tracker domains', line: 902 },
    ...{ rule: '||doubleclick.net^$important', matchedName: 'doubleclick.net', important: true },
    ...{ condition: '', applies: false, whyNot: 'this client does not use the list', won: false },
  },
  {
    ...{ source: 'policy', action: 'block', list: 'Homework', line: 0, rule: '', important: false },
    ...{ matchedName: 'doubleclick.net', applies: false, whyNot: 'it is not in force now' },
    ...{ condition: 'priority 100; only for kids; mon, tue 14:00 to 18:00', won: false },
  },
];

const NO_STEP = { decides: false };

function base(name: string, input: MethodArguments): Check {
  const client = input['client'] === undefined ? null : textOf(input['client']);
  return {
    ...{ name, type: textOf(input['type']) || 'A', decision: 'allowed', endsAtMs: null },
    why: `${name} is allowed because no rule and no list names it.`,
    client: client === null ? null : { address: client, name: '', group: '', knownBy: '' },
    steps: [
      { ...NO_STEP, step: 'special names', result: 'not special' },
      {
        ...NO_STEP,
        step: 'client',
        result: 'nobody in particular; what holds for unknown clients',
      },
      { ...NO_STEP, step: 'your rules', result: 'nothing names it' },
      { ...NO_STEP, step: 'lists', result: 'nothing names it' },
      { ...NO_STEP, step: 'cache', result: 'nothing is kept' },
      { step: 'upstream', result: 'https://dns.quad9.net/dns-query, 9.9.9.9', decides: true },
    ],
    matches: [],
    answer: { text: 'asked upstream', rcode: '', records: [] },
    cache: { state: 'none', leftSeconds: 0, entries: [] },
    upstream: { suffix: '', servers: ['https://dns.quad9.net/dns-query', '9.9.9.9'] },
    chain: [],
    resolved: null,
  };
}

/** @param temporary  rules of the user's that end by themselves */
export function fakeCheck(
  input: MethodArguments,
  temporary: readonly { readonly rule: string; readonly endsAtMs: number }[],
): Check {
  const name = String(input['name']);
  const found = base(name, input);
  if (name.endsWith('doubleclick.net')) return blocked(found, temporary);
  if (name === 'metrics.shop.example') return cloaked(found);
  if (input['resolve'] !== true) return found;
  const resolved: Check['resolved'] = {
    outcome: 'forwarded',
    reason: 'none',
    rcode: 'NOERROR',
    records: [`${name} 300 A 192.0.2.7`],
    upstream: 'https://dns.quad9.net/dns-query',
    durationUs: 18_300,
  };
  return { ...found, resolved };
}

function blocked(found: Check, temporary: Parameters<typeof fakeCheck>[1]): Check {
  const allow = temporary.find(({ rule }) => rule.startsWith('@@'));
  const [special, client] = found.steps;
  const steps = [special, client].filter((step) => step !== undefined);
  if (allow) {
    return {
      ...{ ...found, endsAtMs: allow.endsAtMs },
      why: `${found.name} is allowed because a temporary rule of yours, 10 minutes left, allows it.`,
    };
  }
  return {
    ...{ ...found, decision: 'blocked' },
    why: `${found.name} is blocked because the list "StevenBlack" blocks doubleclick.net.`,
    steps: [
      ...steps,
      { ...NO_STEP, step: 'your rules', result: 'nothing names it' },
      { ...NO_STEP, step: 'policies', result: 'nothing applies; 1 that does not apply' },
      { step: 'lists', result: 'StevenBlack blocks doubleclick.net', decides: true },
      { ...NO_STEP, step: 'answer', result: '0.0.0.0 for 10 s' },
    ],
    matches: LIST_MATCHES,
    answer: { text: '0.0.0.0 for 10 s', rcode: 'NOERROR', records: [`${found.name} 10 A 0.0.0.0`] },
  };
}

function cloaked(found: Check): Check {
  const { name } = found;
  return {
    ...{ ...found, decision: 'blocked' },
    why: `${name} is blocked because it leads to shop.tracker.example, which the list "StevenBlack" blocks.`,
    chain: [
      {
        ...{ owner: name, typeName: 'CNAME', target: 'edge.cdn.example', decision: 'allowed' },
        why: 'no rule and no list names it',
      },
      {
        ...{ owner: 'edge.cdn.example', typeName: 'CNAME', target: 'shop.tracker.example' },
        ...{ decision: 'blocked', why: 'the list "StevenBlack" blocks tracker.example' },
      },
    ],
    answer: { text: '0.0.0.0 for 10 s', rcode: 'NOERROR', records: [] },
  };
}
