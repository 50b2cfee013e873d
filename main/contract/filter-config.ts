/**
 * The part of the settings file that says what is answered to whom: policies, clients and groups,
 * blocked services, safe search, local records. Used by config.ts; what a schema cannot say is
 * checked in control/settings/filter-conflicts.ts.
 */
import { z } from 'zod';
import { POLICY_ACTIONS, RECORD_TYPES, SAFE_ENGINES, WEEKDAYS } from './filter-words.ts';
import { LIMITS } from './limits.ts';

/** Shown to people; unique among its kind. */
const title = z
  .string()
  .min(1)
  .max(64)
  .regex(/^[^\p{Cc}\s]([^\p{Cc}]*[^\p{Cc}\s])?$/u, {
    error: 'a name without control characters, and without spaces at its ends',
  });

/** x.example: the name and all below it; *.x.example: only what is below it. */
const pattern = z
  .string()
  .max(256)
  .regex(/^(\*\.)?([^\s.*/|^]{1,63}\.)*[^\s.*/|^]{1,63}\.?$/, {
    error: 'a domain name such as x.example, or *.x.example for what is below it',
  });

/** A domain name, also with a first label of service kind, such as _dns. */
const ownerName = z
  .string()
  .max(254)
  .regex(/^(\*\.)?([A-Za-z0-9_-]{1,63}\.)*[A-Za-z0-9_-]{1,63}\.?$/, {
    error: 'a domain name such as nas.example, or *.nas.example for all names below it',
  });

const dayTime = z
  .string()
  .regex(/^([01]\d|2[0-3]):[0-5]\d$/, { error: 'a time from 00:00 to 23:59' });

const tag = z
  .string()
  .max(64)
  .regex(/^[a-z0-9_-]+$/, { error: 'lower-case letters, digits, "-" and "_"' });

const scheduleSchema = z.strictObject({
  /** Days on which it begins; a time that crosses midnight ends on the day after. */
  days: z
    .array(z.enum(WEEKDAYS))
    .min(1)
    .max(7)
    .default([...WEEKDAYS]),
  from: dayTime.default('00:00'),
  /** Not included. The same as `from` is not allowed, but for 00:00 twice: the whole day. */
  to: dayTime.default('00:00'),
  /** As in the IANA database, Europe/Berlin; '' is the machine's own. */
  timeZone: z.string().max(64).default(''),
});

export const policySchema = z.strictObject({
  name: title,
  enabled: z.boolean().default(true),
  action: z.enum(POLICY_ACTIONS),
  /** The larger one decides. */
  priority: z.int().min(0).max(1_000).default(100),
  domains: z.array(pattern).max(LIMITS.policyDomainsMax).default([]),
  /** Searched for in the lower-case name without a trailing dot. */
  regex: z.array(z.string().min(1).max(512)).max(LIMITS.policyRegexMax).default([]),
  /** Names of clients or groups, addresses, networks; none: everybody. */
  clients: z.array(z.string().min(1).max(64)).max(LIMITS.policyClientsMax).default([]),
  /** When it holds; always without one. */
  schedule: scheduleSchema.optional(),
  /** With the action redirect: addresses, or another name whose records are given. */
  redirect: z
    .strictObject({
      addresses: z.array(z.string().max(64)).max(LIMITS.redirectAddressesMax).default([]),
      name: z.string().max(254).default(''),
    })
    .optional(),
});

export const clientSchema = z.strictObject({
  name: title,
  /** IP addresses, networks, MAC addresses. */
  ids: z.array(z.string().min(1).max(64)).min(1).max(LIMITS.clientIdsMax),
  /** For rules with $ctag. */
  tags: z.array(tag).max(LIMITS.clientTagsMax).default([]),
  /** Name of its group; '' for none. */
  group: z.string().max(64).default(''),
});

const engines = z.array(z.enum(SAFE_ENGINES)).max(SAFE_ENGINES.length);

export const groupSchema = z.strictObject({
  name: title,
  /** Names of the lists that apply; all that are enabled without this key. */
  lists: z.array(z.string().max(64)).max(LIMITS.listsMax).optional(),
  /** As `rules` at the root, before those. */
  rules: z.array(z.string().min(1).max(512)).max(LIMITS.groupRulesMax).default([]),
  /** Blocked beside those that are blocked for everybody. */
  services: z.array(z.string().max(64)).max(LIMITS.servicesMax).default([]),
  /** Instead of what holds for everybody. */
  safeSearch: z.union([z.boolean(), engines]).optional(),
  /** False: nothing is filtered for its clients. */
  filtering: z.boolean().default(true),
});

export const recordSchema = z.strictObject({
  name: ownerName,
  type: z.enum(RECORD_TYPES),
  /** As in a zone file: an address, a name, "10 mail.example", "0 5 443 host.example", a text. */
  value: z.string().min(1).max(4_096),
  ttlSeconds: z.int().min(0).max(604_800).default(300),
});

export const serviceIds = z.array(z.string().min(1).max(64)).max(LIMITS.servicesMax);

export const safeSearchSchema = z.strictObject({
  enabled: z.boolean().default(false),
  engines: engines.default([...SAFE_ENGINES]),
  youtube: z.enum(['strict', 'moderate']).default('moderate'),
});

export const bypassSchema = z.strictObject({
  /** Blocks names by which programs go past this filter: public DoH servers, relays. */
  block: z.boolean().default(false),
});

export type PolicySettings = z.infer<typeof policySchema>;
export type ScheduleSettings = z.infer<typeof scheduleSchema>;
export type ClientSettings = z.infer<typeof clientSchema>;
export type GroupSettings = z.infer<typeof groupSchema>;
export type RecordSettings = z.infer<typeof recordSchema>;
export type SafeSearchSettings = z.infer<typeof safeSearchSchema>;
