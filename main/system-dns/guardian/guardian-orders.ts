/**
 * What the app and its guardian say to each other. Shared by guardian.ts and guardian-process.ts.
 */
import type { Verdict } from './guardian-watch.ts';
import type { Journal } from '../takeover/journal.ts';
import type { DnsServer } from '../owners/owner.ts';
import type { RestoreReport } from '../takeover/restore.ts';

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
  /** Of the takeover that it guards: the journal of any other is left alone. */
  readonly journalId: string;
  /** As written when the guardian started, should the file be gone; null when it is too large. */
  readonly journal: Journal | null;
}

/** An environment variable holds 128 KiB on Linux, 32 KiB on Windows. */
const JOURNAL_CHARACTERS_MAX = 24 * 1_024;

/** What of a journal goes into the orders. */
export function journalOrders(journal: Journal): Pick<GuardianOrders, 'journalId' | 'journal'> {
  const isSmall = JSON.stringify(journal).length <= JOURNAL_CHARACTERS_MAX;
  return { journalId: journal.id, journal: isSmall ? journal : null };
}

/** Left beside the journal for the next start to tell. */
export interface GuardianReport extends RestoreReport {
  readonly atMs: number;
  readonly verdict: Exclude<Verdict, 'fine'>;
}

export const REPORT_FILE = 'last-restore.json';
