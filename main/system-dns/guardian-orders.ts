/**
 * What the app and its guardian say to each other. Shared by guardian.ts and guardian-process.ts.
 */
import type { Verdict } from './guardian-watch.ts';
import type { DnsServer } from './owner.ts';
import type { RestoreReport } from './restore.ts';

/** Environment variable with the orders as JSON: nobody else's process can read it. */
export const ORDERS_VARIABLE = 'SLUICE_GUARDIAN_ORDERS';

/**
 * Environment variable with a verdict: the watcher (native/guardian/watcher.c) has watched, and the
 * guardian process has to give back at once.
 */
export const VERDICT_VARIABLE = 'SLUICE_GUARDIAN_VERDICT';

/** What the guardian has to know. */
export interface GuardianOrders {
  /** PID of the app, whose child the guardian is. */
  readonly appPid: number;
  /** Of the journal. */
  readonly directory: string;
  /** Where the engine answers. */
  readonly servers: readonly DnsServer[];
  /** Instance id of the engine, for the probe name. */
  readonly instance: string;
}

/** Left beside the journal for the next start to tell. */
export interface GuardianReport extends RestoreReport {
  readonly atMs: number;
  readonly verdict: Exclude<Verdict, 'fine'>;
}

export const REPORT_FILE = 'last-restore.json';
