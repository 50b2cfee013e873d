/**
 * What the app and its guardian say to each other. Shared by guardian.ts and guardian-process.ts.
 */
import type { Verdict } from './guardian-watch.ts';
import type { DnsServer } from './owner.ts';
import type { RestoreReport } from './restore.ts';

/** First line that the guardian reads. */
export interface GuardianOrders {
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
