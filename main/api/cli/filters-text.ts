/**
 * Writes policies, clients, services and records as text for people. Pure; used by cli-filters.ts
 * without --json.
 */
import type { MethodOutput } from '../../contract/methods/methods.ts';
import { table } from './table.ts';

export function policiesText({ policies, inForce }: MethodOutput<'policies.list'>): string {
  if (policies.length === 0) return 'no policies';
  const rows = policies.map((policy): string[] => {
    const { name, action, priority, domains, regex, clients, enabled, schedule } = policy;
    const state = inForce.includes(name) ? 'in force' : enabled ? 'not now' : 'disabled';
    const names = [...domains, ...regex.map((text) => `/${text}/`)];
    const time = schedule ? `${schedule.from}-${schedule.to} ${schedule.days.join(',')}` : 'always';
    return [name, state, action, String(priority), some(names), some(clients, 'everybody'), time];
  });
  return table([['name', 'state', 'action', 'priority', 'names', 'for', 'when'], ...rows]);
}

export function clientsText({ clients, groups }: MethodOutput<'clients.list'>): string {
  if (clients.length + groups.length === 0) return 'no clients';
  const clientRows = clients.map((client): string[] => [
    client.name,
    client.group === '' ? '-' : client.group,
    client.ids.join(', '),
  ]);
  const groupRows = groups.map((group): string[] => [
    group.name,
    group.filtering ? (group.lists ? some(group.lists, 'no lists') : 'all lists') : 'not filtered',
    `${String(group.rules.length)} rules`,
    some(group.services, 'no services of its own'),
  ]);
  return [
    table([['client', 'group', 'ids'], ...clientRows]),
    ...(groups.length === 0
      ? []
      : ['', table([['group', 'lists', 'rules', 'blocks'], ...groupRows])]),
  ].join('\n');
}

export function servicesText(found: MethodOutput<'services.list'>): string {
  const { catalogue, services, safeSearch, bypass } = found;
  const rows = catalogue.map(({ id, title, category }): string[] => [
    services.includes(id) ? 'blocked' : '',
    id,
    category,
    title,
  ]);
  const search = safeSearch.enabled
    ? `on for ${safeSearch.engines.join(', ')}; YouTube ${safeSearch.youtube}`
    : 'off';
  return [
    table(rows),
    `safe search ${search}`,
    `ways past the filter are ${bypass.block ? 'blocked' : 'left open'}`,
  ].join('\n');
}

export function recordsText({ records }: MethodOutput<'records.list'>): string {
  if (records.length === 0) return 'no records';
  return table(
    records.map(({ name, type, value, ttlSeconds }) => [name, String(ttlSeconds), type, value]),
  );
}

/** The first of them, and how many more. */
function some(texts: readonly string[], none = '-'): string {
  const [first] = texts;
  if (first === undefined) return none;
  return texts.length === 1 ? first : `${first} and ${String(texts.length - 1)} more`;
}
