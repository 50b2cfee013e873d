/**
 * Methods about upstream servers and the answers that are kept of them; a part of the table in
 * methods.ts.
 */
import { z } from 'zod';
import { configSchema } from '../config.ts';
import { REASONS } from '../outcome.ts';

const count = z.number().min(0);

/** One upstream server and how it is doing, over all threads since it was configured. */
export const upstreamStateSchema = z.object({
  /** As in the settings, without options. */
  upstream: z.string(),
  protocol: z.enum(['udp', 'tcp', 'tls', 'https']),
  /** slow: answers late; refusing: only errors; unresolved: no address of its name is known. */
  state: z.enum(['up', 'slow', 'down', 'refusing', 'untried', 'unresolved']),
  /** Smoothed round trip; 0 before the first reply. */
  roundTripUs: count,
  sent: count,
  answered: count,
  /** Questions without a reply in time, and connections that failed. */
  failures: count,
  /** TLS connections made, and how many of them resumed a session. */
  connections: count,
  resumed: count,
  /** Why it failed last; '' when it does not. */
  trouble: z.string(),
  /** What it does not understand and is asked without for a while; '' for nothing. */
  askedWithout: z.string(),
});

/** One kept answer. */
export const cachedEntrySchema = z.object({
  /** Type of the question, or "any" for a name that does not exist, whatever the type. */
  typeName: z.string(),
  kind: z.enum(['answer', 'no-data', 'no-name', 'failure']),
  rcode: z.int(),
  reason: z.enum(REASONS),
  ageSeconds: z.int(),
  /** Negative: so long ago it expired; it may still serve while upstreams fail. */
  leftSeconds: z.int(),
  /** The question had DO, CD. */
  dnssecOk: z.boolean(),
  checkingDisabled: z.boolean(),
  bytes: count,
  /** Data-plane thread that holds it, from 1. */
  thread: z.int(),
  /** Answer section, "owner TTL type data" each; at most LIMITS.inspectRecordsMax. */
  records: z.array(z.string()),
});

const none = z.strictObject({});

export const UPSTREAM_METHODS = {
  /** Who is asked: the default upstreams, and those of suffixes behind them. */
  'upstreams.list': {
    permission: 'read',
    input: none,
    output: z.object({
      strategy: configSchema.shape.dns.unwrap().shape.strategy.unwrap(),
      upstreams: z.array(upstreamStateSchema),
    }),
  },
  /** What the caches hold about a name, one entry a question and thread. No traffic. */
  'cache.inspect': {
    permission: 'read',
    input: z.strictObject({ name: z.string().min(1).max(1_024) }),
    output: z.object({ name: z.string(), entries: z.array(cachedEntrySchema) }),
  },
  /** Forgets what is kept about a name, or everything without one. */
  'cache.flush': {
    permission: 'write',
    input: z.strictObject({
      name: z.string().min(1).max(1_024).optional(),
      /** All names below it too. */
      below: z.boolean().default(false),
    }),
    /** Answers forgotten. */
    output: z.object({ flushed: count }),
  },
} as const;
