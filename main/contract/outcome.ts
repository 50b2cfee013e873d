/**
 * What can become of a query, as small numbers that fit a log record and a counter slot.
 *
 * Numbers are stored in log databases: never renumber, only append.
 */

/** What was answered. Index = stored number. */
export const OUTCOMES = [
  'forwarded', // answered by an upstream
  'cached', // answered from the cache
  'blocked', // answered by a block rule
  'local', // answered by ourselves: special names, local records
  'failed', // SERVFAIL: no upstream gave an answer
  'rejected', // FORMERR, NOTIMP, REFUSED, BADVERS: not a question we serve
  'stale', // answered from an expired cache entry
] as const;
export type OutcomeName = (typeof OUTCOMES)[number];
export const OUTCOME = {
  forwarded: 0,
  cached: 1,
  blocked: 2,
  local: 3,
  failed: 4,
  rejected: 5,
  stale: 6,
} as const satisfies Record<OutcomeName, number>;
export type Outcome = (typeof OUTCOME)[OutcomeName];

/** Why it was answered so. Index = stored number. */
export const REASONS = [
  'none',
  'list', // a block list names it
  'rule', // a user rule blocks it
  'allow-rule', // a user or list rule allows it although something else blocks it
  'paused', // filtering is off or paused
  'special-name', // RFC 6761 and its kind; or a connectivity check that a list names
  'malformed', // the query does not parse
  'not-implemented', // opcode or class that a gateway does not serve
  'upstream-timeout', // budget spent
  'upstream-refused', // every upstream answered with an error
  'upstream-full', // too many questions in flight
  'rebinding', // private address in a public name
  'cname', // blocked because of a name further down the chain
  'rate-limited',
  'policy', // a policy of the settings decides
  'service', // a blocked service
  'safe-search', // a search engine's safe form
  'bypass', // a way past the filter, which the settings close
  'local-record', // a record of the settings
] as const;
export type ReasonName = (typeof REASONS)[number];
export const REASON = {
  none: 0,
  list: 1,
  rule: 2,
  allowRule: 3,
  paused: 4,
  specialName: 5,
  malformed: 6,
  notImplemented: 7,
  upstreamTimeout: 8,
  upstreamRefused: 9,
  upstreamFull: 10,
  rebinding: 11,
  cname: 12,
  rateLimited: 13,
  policy: 14,
  service: 15,
  safeSearch: 16,
  bypass: 17,
  localRecord: 18,
} as const;
export type Reason = (typeof REASON)[keyof typeof REASON];
