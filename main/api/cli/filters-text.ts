/**
 * Writes policies, clients, services and records as text for people; used by filters.ts
 * without --json.
 */
import type { MethodOutput } from '../../contract/methods/methods.ts';
import { t } from './language.ts';
import { table } from './table.ts';

export function policiesText({ policies, inForce }: MethodOutput<'policies.list'>): string {
  const said = t().cli.filters;
  if (policies.length === 0) return said.noPolicies;
  const rows = policies.map((policy): string[] => {
    const { name, action, priority, domains, regex, clients, enabled, schedule } = policy;
    const state = inForce.includes(name) ? said.inForce : enabled ? said.notNow : said.disabled;
    const names = [...domains, ...regex.map((text) => `/${text}/`)];
    const time = schedule
      ? `${schedule.from}-${schedule.to} ${schedule.days.join(',')}`
      : said.always;
    return [name, state, action, String(priority), some(names), some(clients, said.everyone), time];
  });
  const head = [said.name, said.state, said.action, said.priority, said.domains];
  return table([[...head, said.clients, said.when], ...rows]);
}

export function clientsText({ clients, groups }: MethodOutput<'clients.list'>): string {
  const said = t().cli.filters;
  if (clients.length + groups.length === 0) return said.noClients;
  const clientRows = clients.map((client): string[] => [
    client.name,
    client.group === '' ? '-' : client.group,
    client.ids.join(', '),
  ]);
  const groupRows = groups.map((group): string[] => [
    group.name,
    group.filtering
      ? group.lists
        ? some(group.lists, said.noLists)
        : said.allLists
      : said.notFiltered,
    said.ruleCount(group.rules.length),
    some(group.services, said.noServices),
  ]);
  return [
    table([[said.client, said.group, said.identifiers], ...clientRows]),
    ...(groups.length === 0
      ? []
      : ['', table([[said.group, said.lists, said.rules, said.services], ...groupRows])]),
  ].join('\n');
}

export function servicesText(found: MethodOutput<'services.list'>): string {
  const { catalogue, services, safeSearch, bypass } = found;
  const said = t().cli.filters;
  const rows = catalogue.map(({ id, title, category }): string[] => [
    services.includes(id) ? said.blocked : '',
    id,
    category,
    title,
  ]);
  return [
    table(rows),
    safeSearch.enabled
      ? said.safeSearch(safeSearch.engines.join(', '), safeSearch.youtube)
      : said.noSafeSearch,
    bypass.block ? said.bypassBlocked : said.bypassAllowed,
  ].join('\n');
}

export function recordsText({ records }: MethodOutput<'records.list'>): string {
  if (records.length === 0) return t().cli.filters.noRecords;
  return table(
    records.map(({ name, type, value, ttlSeconds }) => [name, String(ttlSeconds), type, value]),
  );
}

/** The first of them, and how many more. */
function some(texts: readonly string[], none = '-'): string {
  const [first] = texts;
  if (first === undefined) return none;
  return texts.length === 1 ? first : t().cli.more(first, texts.length - 1);
}
