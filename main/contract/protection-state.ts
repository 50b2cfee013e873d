/**
 * The state of the switch, as several methods give it.
 */
import { z } from 'zod';

/** Whether names are being blocked now. */
export const protectionSchema = z.object({
  /** on: filtering; paused: forwarding until resumesAtMs; off: forwarding until switched on. */
  state: z.enum(['on', 'paused', 'off']),
  /** When a pause ends, milliseconds since 1970; null unless paused. */
  resumesAtMs: z.number().nullable(),
});
