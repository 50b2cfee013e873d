/**
 * The method table: every operation of the program, once. All doors (IPC, HTTP, CLI) serve exactly
 * this table through api/dispatch.ts, and clients take their types from it.
 */
import { z } from 'zod';
import { CHECK_METHODS } from './check.ts';
import { configSchema } from '../config.ts';
import { FILTER_METHODS } from './filter.ts';
import { IMPORT_METHODS } from './import.ts';
import { LIMITS } from '../limits.ts';
import { LIST_METHODS, listStatusSchema } from './list.ts';
import { OUTCOMES, REASONS } from '../outcome.ts';
import { protectionSchema } from '../protection-state.ts';
import { networkSchema, restoreReportSchema, takeoverSchema } from '../takeover-schema.ts';
import { UPSTREAM_METHODS } from './upstream.ts';

const count = z.number().min(0);

export const queryEventSchema = z.object({
  id: z.int(),
  timeMs: z.number(),
  client: z.string(),
  clientName: z.string(),
  name: z.string(),
  type: z.int(),
  typeName: z.string(),
  outcome: z.enum(OUTCOMES),
  reason: z.enum(REASONS),
  rcode: z.int(),
  list: z.string(),
  matchedName: z.string(),
  upstream: z.string(),
  durationUs: z.number(),
  transport: z.enum(['udp', 'tcp']),
});

/** A bounded queue and what it lost. */
export const queueSchema = z.object({
  name: z.string(),
  capacity: count,
  depth: count,
  dropped: count,
});

/** Totals since start, summed over threads. Always exact, whatever live rows were left out. */
export const totalsSchema = z.object({
  queries: count,
  forwarded: count,
  cached: count,
  blocked: count,
  local: count,
  failed: count,
  rejected: count,
  stale: count,
  logged: count,
  logDropped: count,
  /** Queries and connections of clients outside `dns.allow`, dropped. */
  denied: count,
});

/** Engine latency since start, receipt to send, microseconds. Edges of 6 % wide buckets. */
export const latencySchema = z.object({
  p50Us: count,
  p95Us: count,
  p99Us: count,
  p999Us: count,
});

export const statusSchema = z.object({
  version: z.string(),
  health: z.enum(['ok', 'degraded']),
  /** One plain sentence each; empty when health is ok. */
  degradedReasons: z.array(z.string()),
  /** Things worth telling that do not make the program degraded, e.g. a list never fetched. */
  notices: z.array(z.string()),
  startedAtMs: z.number(),
  listening: z.array(z.string()),
  protection: protectionSchema,
  takeover: takeoverSchema,
  totals: totalsSchema,
  latency: z.object({ local: latencySchema, upstream: latencySchema }),
  queues: z.array(queueSchema),
  blockedNames: count,
  policyVersion: count,
  upstreams: z.array(z.string()),
  log: z.object({
    mode: z.enum(['full', 'anonymous', 'off']),
    state: z.enum(['ok', 'degraded', 'off']),
    stored: count,
    bytes: count,
  }),
  memory: z.object({ rssBytes: count, anonymousBytes: count.nullable() }),
  /** The setting; a window may have its own. */
  language: z.enum(['auto', 'en', 'de']),
});

/** One step of a series for the chart. */
export const statisticsPointSchema = z.object({
  timeMs: z.number(),
  queries: count,
  blocked: count,
  cached: count,
  failed: count,
});

export const liveSchema = z.object({
  timeMs: z.number(),
  totals: totalsSchema,
  latency: z.object({ local: latencySchema, upstream: latencySchema }),
  protection: protectionSchema,
  takeover: takeoverSchema,
  health: z.enum(['ok', 'degraded']),
  degradedReasons: z.array(z.string()),
  queues: z.array(queueSchema),
  /** Newest last; at most LIMITS.liveRowsMax. */
  rows: z.array(queryEventSchema),
  /** Answers since the last update that `rows` leaves out. */
  rowsLeftOut: count,
});

const none = z.strictObject({});

/** What a method needs: 'local' ones work through the socket in the data folder only. */
export type Permission = 'read' | 'write' | 'local';

/** name → input, output, permission. GET is served for 'read' methods, POST for all. */
export const METHODS = {
  status: { permission: 'read', input: none, output: statusSchema },
  pause: {
    permission: 'write',
    /** Without minutes: off until resume. */
    input: z.strictObject({
      minutes: z.coerce.number().positive().max(LIMITS.pauseMinutesMax).optional(),
    }),
    output: protectionSchema,
  },
  resume: { permission: 'write', input: none, output: protectionSchema },
  /** Leads the whole machine's questions here, until `restore` or the end of the program. */
  takeover: { permission: 'write', input: none, output: takeoverSchema },
  /** Gives the system's resolver back, as it was before. Harmless when it was not taken over. */
  restore: { permission: 'write', input: none, output: restoreReportSchema },
  /** Who keeps the system's resolver, what is covered and what is not. */
  network: { permission: 'read', input: none, output: networkSchema },
  /** Lets names go past the filter for at most five minutes, so that a login page opens. */
  /** Installs a right of the ladder with the commands it shows, after a question for a password. */
  right: {
    permission: 'write',
    input: z.strictObject({ id: z.string().max(64), change: z.enum(['install', 'remove']) }),
    output: networkSchema,
  },
  portal: {
    permission: 'write',
    input: z.strictObject({ open: z.boolean() }),
    output: takeoverSchema,
  },
  'queries.search': {
    permission: 'read',
    input: z.strictObject({
      /** Part of a name. */
      text: z.string().max(255).default(''),
      /** Part of an address, or of a client's name. */
      client: z.string().max(64).default(''),
      outcome: z.enum(OUTCOMES).optional(),
      sinceMs: z.coerce.number().optional(),
      untilMs: z.coerce.number().optional(),
      /** Rows with a smaller id: the `nextBeforeId` of the page before. */
      beforeId: z.coerce.number().int().positive().optional(),
      limit: z.coerce.number().int().min(1).max(LIMITS.searchRowsMax).default(100),
    }),
    output: z.object({
      /** Newest first. */
      rows: z.array(queryEventSchema),
      nextBeforeId: z.int().nullable(),
      /** True when the time limit ended the search before the whole range was read. */
      incomplete: z.boolean(),
    }),
  },
  statistics: {
    permission: 'read',
    input: z.strictObject({
      sinceMs: z.coerce.number().optional(),
      untilMs: z.coerce.number().optional(),
      /** Length of a step; rounded up to whole minutes. */
      stepMinutes: z.coerce.number().int().min(1).max(1_440).default(5),
    }),
    output: z.object({
      sinceMs: z.number(),
      untilMs: z.number(),
      stepMinutes: z.int(),
      points: z.array(statisticsPointSchema),
      topBlocked: z.array(z.object({ name: z.string(), count })),
      topClients: z.array(z.object({ client: z.string(), clientName: z.string(), count })),
    }),
  },
  ...CHECK_METHODS,
  ...LIST_METHODS,
  ...FILTER_METHODS,
  ...IMPORT_METHODS,
  ...UPSTREAM_METHODS,
  'settings.get': { permission: 'read', input: none, output: z.object({ config: configSchema }) },
  /** Makes a new token; the old one and everything opened with it end. */
  'token.renew': { permission: 'local', input: none, output: none },
} as const satisfies Record<
  string,
  { permission: Permission; input: z.ZodType; output: z.ZodType }
>;

export type MethodName = keyof typeof METHODS;
export type MethodInput<Name extends MethodName> = z.input<(typeof METHODS)[Name]['input']>;
export type MethodArguments<Name extends MethodName> = z.output<(typeof METHODS)[Name]['input']>;
export type MethodOutput<Name extends MethodName> = z.output<(typeof METHODS)[Name]['output']>;

/** The live topic: the one stream, at most one update every LIMITS.liveIntervalMs. */
export type LiveUpdate = z.output<typeof liveSchema>;
export type ListStatus = z.output<typeof listStatusSchema>;
export type Protection = z.output<typeof protectionSchema>;
export type QueueStatus = z.output<typeof queueSchema>;
export type UpstreamRow = MethodOutput<'upstreams.list'>['upstreams'][number];
export type Status = z.output<typeof statusSchema>;
export type Totals = z.output<typeof totalsSchema>;
export type Latency = z.output<typeof latencySchema>;

/** Who calls, and what they may do. */
export interface Caller {
  readonly permission: 'read' | 'write';
  /** Came through the socket in the data folder: may name files of this machine. */
  readonly isLocal: boolean;
}

/** What a door offers and the renderer's client has: one call, one subscription. */
export interface ServiceClient {
  call<Name extends MethodName>(name: Name, input: MethodInput<Name>): Promise<MethodOutput<Name>>;
  /** Calls `onUpdate` for each live update until the returned function is called. */
  subscribe(onUpdate: (update: LiveUpdate) => void): () => void;
}
