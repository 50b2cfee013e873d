/** The page Policies: blocked services, safe search, filter bypass and local records. */
import { wordingOf } from '../language/wording.ts';

const { number, counted } = wordingOf('en');

export const services = {
  title: 'Policies',
  lead: 'Block services, and set rules by client and schedule.',
  parts: {
    label: 'Parts of Policies',
    policies: 'Policies',
    services: 'Services',
    search: 'Safe search and bypass',
    names: 'Local records',
  },

  blocked: 'Blocked services',
  blockedLead:
    'Checked services are blocked for everyone. To block one for some clients only, use their group on the Clients page.',
  find: 'Find a service',
  findHint: 'Find a service or a domain',
  noneBlocked: 'none blocked',
  someBlocked: (blocked: number, all: number) => `${number(blocked)} of ${number(all)} blocked`,
  blockAll: 'Block all',
  blockNone: 'Unblock all',
  blockAllOf: (category: string) => `Block all of ${category}`,
  blockNoneOf: (category: string) => `Unblock all of ${category}`,
  noMatch: 'No matching service',
  noMatchHint: 'To block a domain that belongs to no service, use a rule or a policy.',
  nowBlocked: (count: number) => `${counted(count, 'service is', 'services are')} now blocked.`,
  noLongerBlocked: (count: number) =>
    `${counted(count, 'service is', 'services are')} no longer blocked.`,
  categories: {
    social: 'Social media',
    messaging: 'Messages and calls',
    video: 'Video',
    music: 'Music and audio',
    games: 'Games',
    shopping: 'Shopping',
    ai: 'AI assistants',
    dating: 'Dating',
    news: 'News',
    files: 'Files',
    other: 'Other',
  },

  safeSearch: 'Safe search',
  safeSearchLead:
    'Search engines leave out explicit results, whatever is set in the browser. Groups can override this.',
  safeSearchOf: (engine: string) => `Safe search for ${engine}`,
  on: 'On',
  off: 'Off',
  youtube: 'YouTube restriction',
  moderate: 'Moderate',
  strict: 'Strict',

  bypass: 'Filter bypass',
  bypassLead:
    'Browsers and devices can send encrypted queries to public servers instead of Sluice, or use a relay.',
  bypassSwitch: 'Block bypass (public DoH, relays)',
  bypassBlocked: 'Blocked',
  bypassOpen: 'Allowed',
  bypassBlockedMeans:
    "The names of known public DNS servers and relays are blocked, so that programs fall back to the network's own server. Programs that have the addresses built in are not stopped.",
  bypassOpenMeans:
    "Turn this on to block the names of known public DNS servers and relays, so that programs fall back to the network's own server.",

  records: {
    title: 'Local records',
    lead: 'Answered by Sluice before filtering, and never sent upstream. *.nas.example covers all names below it.',
    name: 'Name',
    type: 'Type',
    value: 'Value',
    valueOf: (means: string) => `Value: ${means}`,
    ttl: 'TTL',
    ttlSeconds: 'TTL in seconds',
    seconds: (seconds: number) => `${number(seconds)} s`,
    add: 'Add record',
    remove: 'Remove',
    removeOne: (type: string, name: string) => `Remove ${type} of ${name}`,
    removed: (name: string) => `The record of ${name} was removed.`,
    none: 'No local records',
    noneHint: 'Name a printer or a server in your network above, then reach it by that name.',
    values: {
      A: 'an IPv4 address',
      AAAA: 'an IPv6 address',
      CNAME: 'another name',
      TXT: 'a text',
      MX: 'preference and name',
      SRV: 'priority, weight, port and name',
      PTR: 'the name of an address',
    },
  },
};
