/** What the methods about the system's resolver say: part of the method table (methods.ts). */
import { z } from 'zod';

const texts = z.array(z.string());

/** Whether the machine asks Sluice now. */
export const takeoverSchema = z.object({
  /**
   * on: every link leads here; degraded: asked for, but not, or not wholly, in force; portal: names
   * go past the filter to the network's own servers for a while.
   */
  state: z.enum(['off', 'applying', 'on', 'degraded', 'portal', 'restoring']),
  /** One plain sentence; '' when there is nothing to say. */
  reason: z.string(),
  /** Who keeps the system's resolver, such as systemd-resolved; '' while off. */
  owner: z.string(),
  /** Links, or files, that lead here. */
  covered: texts,
  portal: z.object({
    /** asking: a login page was seen in a network known as free, so a person has to open it. */
    phase: z.enum(['clear', 'asking', 'open', 'over']),
    /** Milliseconds since 1970; null unless open. */
    endsAtMs: z.number().nullable(),
  }),
});

/** What giving back did. */
export const restoreReportSchema = z.object({
  /** nothing: there was no takeover. partly: at least one item failed. */
  outcome: z.enum(['nothing', 'restored', 'partly']),
  detail: z.string(),
  items: z.array(
    z.object({
      label: z.string(),
      outcome: z.enum(['restored', 'unchanged', 'gone', 'yours', 'mended', 'failed']),
      reason: z.string(),
    }),
  ),
});

/** Everything about the system's resolver. */
export const networkSchema = z.object({
  takeover: takeoverSchema,
  owners: z.array(
    z.object({
      name: z.string(),
      isPresent: z.boolean(),
      isInCharge: z.boolean(),
      /** One plain sentence: by which signs. */
      detail: z.string(),
    }),
  ),
  links: z.array(
    z.object({
      label: z.string(),
      isCovered: z.boolean(),
      /** Why not; '' when covered. */
      reason: z.string(),
      servers: texts,
      /** From before the takeover. */
      serversBefore: texts,
      routingDomains: texts,
    }),
  ),
  journal: z.object({ directory: z.string(), writtenAtMs: z.number().nullable() }),
  /** What the guardian did last; null when it never had to. */
  lastRescue: restoreReportSchema
    .extend({ atMs: z.number(), verdict: z.enum(['app-ended', 'engine-silent']) })
    .nullable(),
  /** What goes past Sluice all the same. */
  bypasses: z.array(
    z.object({
      what: z.string(),
      state: z.enum(['bypasses', 'prevented', 'unknown']),
      detail: z.string(),
    }),
  ),
  /** Ways to port 53, in the order to try them. */
  ladder: z.array(
    z.object({
      id: z.string(),
      state: z.enum(['works', 'possible', 'not here']),
      title: z.string(),
      explains: z.string(),
      /** Commands for a terminal; '' when nothing is installed. */
      installs: z.string(),
      /** Commands that take it away again. */
      undo: z.string(),
      /** What the method `right` can do of it. */
      offers: z.enum(['install', 'remove', '']),
    }),
  ),
});

export type TakeoverStatus = z.output<typeof takeoverSchema>;
export type RestoreResult = z.output<typeof restoreReportSchema>;
export type NetworkStatus = z.output<typeof networkSchema>;
