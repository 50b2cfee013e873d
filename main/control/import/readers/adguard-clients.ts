/**
 * Takes over AdGuard Home's clients with what each has of its own, its blocked services with their
 * hours, and safe search. Used by adguard-home.ts.
 */
import type { PolicySettings } from '../../../contract/filter-config.ts';
import {
  SAFE_ENGINES,
  WEEKDAYS,
  type SafeEngine,
  type Weekday,
} from '../../../contract/filter-words.ts';
import { serviceCatalogue } from '../../policy/services.ts';
import type { ImportDraft } from '../draft/draft.ts';
import type { Share } from '../draft/share.ts';
import { cleanTitle } from '../draft/titles.ts';
import { clientIdOf, durationSeconds, fields, isSet, items, text, texts } from '../draft/values.ts';
import type { Fields } from '../draft/values.ts';

const DAY_SECONDS = 86_400;

interface BlockedServices {
  readonly services: ReadonlySet<string>;
  /** When there are hours in which they are not blocked. */
  readonly policies: ReadonlySet<PolicySettings>;
}

/** Newer layouts have a schedule beside the ids. */
export function blockedServices(value: unknown, draft: ImportDraft): BlockedServices {
  const services = new Set<string>();
  for (const id of texts(Array.isArray(value) ? value : fields(value)['ids'])) {
    draft.addService(id, services);
  }
  const schedule = fields(fields(value)['schedule']);
  const windows = blockedWindows(schedule);
  if (windows === null || services.size === 0) return { services, policies: new Set() };
  const zone = text(schedule['time_zone']);
  const timeZone = /^local$/i.test(zone) ? '' : zone;
  const domains = serviceCatalogue()
    .filter(({ id }) => services.has(id))
    .flatMap((service) => service.domains);
  const policies = windows.map(({ days, from, to }): PolicySettings => ({
    name: `Services ${days.join(' ')} ${from}-${to}`.slice(0, 64),
    enabled: true,
    action: 'block',
    priority: 100,
    domains: [...domains],
    regex: [],
    clients: [],
    schedule: { days, from, to, timeZone },
  }));
  return { services: new Set(), policies: new Set(policies) };
}

interface Window {
  readonly days: Weekday[];
  readonly from: string;
  readonly to: string;
}

/** The schedule says when services are open; this is when they are not. Null without any hours. */
function blockedWindows(schedule: Fields): Window[] | null {
  const windows = new Map<string, Window>();
  let hasHours = false;
  for (const day of WEEKDAYS) {
    const [start, end] = openSeconds(fields(schedule[day]));
    hasHours ||= end > start;
    const parts =
      end > start
        ? [
            [0, start],
            [end, DAY_SECONDS],
          ]
        : [[0, DAY_SECONDS]];
    for (const [first = 0, last = 0] of parts) {
      if (first >= last) continue;
      const [from, to] = [clock(first), clock(last)];
      const window = windows.get(`${from} ${to}`) ?? { days: [], from, to };
      window.days.push(day);
      windows.set(`${from} ${to}`, window);
    }
  }
  return hasHours ? [...windows.values()] : null;
}

/** Durations since midnight; older files have milliseconds. */
function openSeconds(day: Fields): [start: number, end: number] {
  const [start = 0, end = 0] = ['start', 'end'].map((key) => {
    const value = day[key];
    if (typeof value === 'number') return value / 1_000;
    return durationSeconds(text(value)) ?? 0;
  });
  return [Math.max(0, start), Math.min(DAY_SECONDS, end)];
}

/** "24:00" is the next day's "00:00". */
function clock(seconds: number): string {
  const minutes = Math.round(seconds / 60) % (24 * 60);
  const digits = (value: number): string => String(value).padStart(2, '0');
  return `${digits(Math.floor(minutes / 60))}:${digits(minutes % 60)}`;
}

export function safeSearch(value: unknown): ImportDraft['safeSearch'] {
  if (value === true) return { enabled: true, engines: [...SAFE_ENGINES], youtube: 'moderate' };
  const set = fields(value);
  if (set['enabled'] !== true) return null;
  return { enabled: true, engines: enginesOf(set), youtube: 'moderate' };
}

function enginesOf(set: Fields): SafeEngine[] {
  return SAFE_ENGINES.filter((engine) => set[engine] !== false);
}

export function takeClients(value: unknown, draft: ImportDraft): void {
  const rows = Array.isArray(value) ? value : fields(value)['persistent'];
  for (const client of items(rows).map(fields)) {
    const name = cleanTitle(text(client['name'])) || 'Client';
    const written = Array.isArray(client['ids'])
      ? texts(client['ids'])
      : [text(client['ip']), text(client['mac'])].filter((id) => id !== '');
    const ids = written.map(clientIdOf).filter((id) => id !== '');
    for (const id of written.filter((one) => clientIdOf(one) === '')) {
      draft.skip('clients', id, 'clients are known by address, network or MAC only');
    }
    takeNot(name, client, draft);
    if (ids.length === 0) continue;
    const title = `${name.slice(0, 50)} settings`;
    const share = shareOf(client, draft);
    draft.addMember({ name, ids, tags: texts(client['tags']), title, share });
  }
}

function takeNot(name: string, client: Fields, draft: ImportDraft): void {
  for (const server of texts(client['upstreams'])) {
    draft.skip('upstreams', `${name}: ${server}`, 'a client has no servers of its own here');
  }
  for (const key of ['ignore_querylog', 'ignore_statistics']) {
    if (isSet(client[key]))
      draft.skip('clients', `${name}: ${key}`, 'the log has all clients here');
  }
  if (client['use_global_settings'] !== false) return;
  for (const key of ['parental_enabled', 'safebrowsing_enabled']) {
    if (isSet(client[key])) {
      draft.skip('other', `${name}: ${key}`, 'a service on the internet; add a list instead');
    }
  }
}

/** Null for a client that has nothing of its own. */
function shareOf(client: Fields, draft: ImportDraft): Share | null {
  const hasOwn = client['use_global_settings'] === false;
  const hasServices = client['use_global_blocked_services'] === false;
  if (!hasOwn && !hasServices) return null;
  const own = hasServices ? blockedServices(client['blocked_services'], draft) : NO_SERVICES;
  const share = { lists: null, rules: null, ...own, filtering: true };
  if (!hasOwn) return share;
  const withSearch = { ...share, safeSearch: ownSafeSearch(client) };
  return client['filtering_enabled'] === false ? unfiltered(withSearch, draft) : withSearch;
}

const NO_SERVICES = { services: null, policies: null };

/** Without lists and rules; services and safe search stay as they are. */
function unfiltered(share: Share, { everybody }: ImportDraft): Share {
  const services = share.services ?? everybody.services;
  const policies = share.policies ?? everybody.policies;
  const filtering = services.size + policies.size > 0 || share.safeSearch !== false;
  return { ...share, lists: new Set(), rules: new Set(), filtering };
}

function ownSafeSearch(client: Fields): SafeEngine[] | false {
  const own = fields(client['safe_search']);
  return (own['enabled'] ?? client['safesearch_enabled']) === true ? enginesOf(own) : false;
}
