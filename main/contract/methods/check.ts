/**
 * Methods that say what a name would get and why, and those that change it by a rule of the user's
 * own; a part of the table in methods.ts.
 */
import { z } from 'zod';
import { LIMITS } from '../limits.ts';
import { OUTCOMES, REASONS } from '../outcome.ts';
import { cachedEntrySchema } from './upstream.ts';

/** What would become of a question. */
export const DECISIONS = ['blocked', 'allowed', 'rewritten', 'local', 'rejected'] as const;

/** Where a rule stands. */
export const MATCH_SOURCES = ['temporary', 'rule', 'group', 'policy', 'service', 'list'] as const;

/** One stage of the pipeline, in its order. */
export const checkStepSchema = z.object({
  step: z.string(),
  /** What it found, in words. */
  result: z.string(),
  /** Whether what is answered was settled here. */
  decides: z.boolean(),
});

/** A rule, policy or service that names this name or one above it. */
export const checkMatchSchema = z.object({
  source: z.enum(MATCH_SOURCES),
  action: z.enum(['block', 'allow', 'redirect']),
  /** Name of the list, group, policy or service; "rules" for your own. */
  list: z.string(),
  /** 1-based line in the list or number of the rule; 0 when there is none. */
  line: z.int(),
  /** As written there; '' when that is not known. */
  rule: z.string(),
  /** The name that it gives; the whole name for a pattern. */
  matchedName: z.string(),
  /** Comes before all rules of its layer that are not. */
  important: z.boolean(),
  /** Under which condition it holds, in words; '' for always. */
  condition: z.string(),
  /** Whether it holds for this client, type and time. */
  applies: z.boolean(),
  /** Why it does not; '' when it does. */
  whyNot: z.string(),
  /** Whether it decides, or would if filtering were on. */
  won: z.boolean(),
});

/** A name that the answer leads to. */
export const checkLinkSchema = z.object({
  owner: z.string(),
  typeName: z.enum(['CNAME', 'SVCB', 'HTTPS']),
  target: z.string(),
  decision: z.enum(['blocked', 'allowed']),
  /** In one sentence. */
  why: z.string(),
});

export const checkSchema = z.object({
  name: z.string(),
  /** Mnemonic of the type. */
  type: z.string(),
  decision: z.enum(DECISIONS),
  /** Who decides, and over what, in one plain sentence. */
  why: z.string(),
  /** When the temporary rule ends that decides; null when none does. */
  endsAtMs: z.number().nullable(),
  /** For whom; null when no client was given: then what holds for unknown clients is told. */
  client: z
    .object({
      address: z.string(),
      /** As configured; '' for a client without settings of its own. */
      name: z.string(),
      group: z.string(),
      /** The id in the settings that it is known by; ''. */
      knownBy: z.string(),
    })
    .nullable(),
  steps: z.array(checkStepSchema),
  matches: z.array(checkMatchSchema),
  /** What would be answered now. */
  answer: z.object({
    /** In words: "0.0.0.0 for 10 s", "the kept answer". */
    text: z.string(),
    rcode: z.string(),
    /** Answer section, "owner TTL type data" each; [] when it has to be asked for. */
    records: z.array(z.string()),
  }),
  cache: z.object({
    state: z.enum(['none', 'fresh', 'negative', 'stale', 'failure']),
    /** Seconds until it expires; negative: since. 0 without one. */
    leftSeconds: z.int(),
    entries: z.array(cachedEntrySchema),
  }),
  /** Who would be asked. */
  upstream: z.object({
    /** The suffix of dns.suffixes that it falls under; '' for the servers of all names. */
    suffix: z.string(),
    servers: z.array(z.string()),
  }),
  /** Aliases and targets, of the kept answer or of the one that was asked for. */
  chain: z.array(checkLinkSchema),
  /** With `resolve`: what came of asking; null when nothing was asked. */
  resolved: z
    .object({
      outcome: z.enum(OUTCOMES),
      reason: z.enum(REASONS),
      rcode: z.string(),
      records: z.array(z.string()),
      /** Who answered; '' when that was not an upstream. */
      upstream: z.string(),
      durationUs: z.number(),
    })
    .nullable(),
});

export const temporaryRuleSchema = z.object({
  rule: z.string(),
  /** Milliseconds since 1970. */
  endsAtMs: z.number(),
});

const rulesSchema = z.object({
  rules: z.array(z.string()),
  /** Those that end by themselves, the next to end first; before all others. */
  temporary: z.array(temporaryRuleSchema),
});

const none = z.strictObject({});
const ruleText = z.string().min(1).max(512);
const clientText = z.string().min(1).max(64);

export const CHECK_METHODS = {
  /** Sends nothing and logs nothing, unless `resolve` is given. */
  check: {
    permission: 'read',
    input: z.strictObject({
      name: z.string().min(1).max(1_024),
      type: z.string().max(16).default('A'),
      /** An address, or the name of a client in the settings. */
      client: clientText.optional(),
      /** Asks once, through the data plane, as this client would; the query is counted and logged. */
      resolve: z.boolean().default(false),
    }),
    output: checkSchema,
  },
  'rules.list': { permission: 'read', input: none, output: rulesSchema },
  'rules.add': {
    permission: 'write',
    input: z.strictObject({
      rule: ruleText,
      /** The rule ends by itself after so long, and is not written into the settings. */
      minutes: z.coerce.number().int().min(1).max(LIMITS.temporaryMinutesMax).optional(),
      /** For this client only: an address, or the name of a client in the settings. */
      client: clientText.optional(),
    }),
    output: rulesSchema,
  },
  /** Also ends a temporary rule. */
  'rules.remove': {
    permission: 'write',
    input: z.strictObject({ rule: ruleText }),
    output: rulesSchema,
  },
} as const;
