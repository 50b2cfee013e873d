/**
 * Words of the settings for policies, safe search and local records. Apart from the schemas, which
 * the start of the program does without.
 */

/** What a policy does with a name; also the order at equal priority: allow, redirect, block. */
export const POLICY_ACTIONS = ['allow', 'redirect', 'block'] as const;
export type PolicyAction = (typeof POLICY_ACTIONS)[number];

/** Days as settings write them; index = Date.getUTCDay of a wall-clock time. */
export const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;
export type Weekday = (typeof WEEKDAYS)[number];

/** Search engines whose safe form is known (control/policy/safe-search.ts). */
export const SAFE_ENGINES = [
  'google',
  'youtube',
  'bing',
  'duckduckgo',
  'yandex',
  'pixabay',
  'brave',
  'ecosia',
] as const;
export type SafeEngine = (typeof SAFE_ENGINES)[number];

export const RECORD_TYPES = ['A', 'AAAA', 'CNAME', 'TXT', 'MX', 'SRV', 'PTR'] as const;
export type RecordType = (typeof RECORD_TYPES)[number];

/** In `dns.allow`: the networks that this machine has an interface on. */
export const LOCAL_NETWORKS = 'localnets';
