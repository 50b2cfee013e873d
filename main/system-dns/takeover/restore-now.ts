/**
 * Gives the resolver back by hand, at the next start, at boot and when the package is removed: what
 * `sluice restore` does. It needs nothing of the program but this folder, and no running instance.
 */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '../../system/command.ts';
import { JournalFile } from './journal.ts';
import { systemOwners } from '../owners/owners.ts';
import { isAlive } from '../../system/process-mark.ts';
import { restore, type RestoreReport } from './restore.ts';

/**
 * Where journals lie: one place for each machine and user, whatever data folder an instance uses,
 * because there is only one resolver to hold.
 */
export function journalDirectory(
  environment: NodeJS.ProcessEnv = process.env,
  userId: number | undefined = process.getuid?.(),
): string {
  const { SLUICE_JOURNAL_DIR: own, XDG_STATE_HOME: stateHome, ProgramData: shared } = environment;
  if (own) return own;
  if (userId === 0) return '/var/lib/sluice/system-dns';
  if (userId === undefined && shared) return join(shared, 'Sluice', 'system-dns');
  return join(stateHome ?? join(homedir(), '.local', 'state'), 'sluice', 'system-dns');
}

export interface RestoreNowOptions {
  readonly directory?: string;
  /** Leaves a takeover alone whose instance lives: for the next start and boot, not by hand. */
  readonly onlyLeftovers?: boolean;
}

/** Never throws: what failed is in the report. */
export async function restoreNow(options: RestoreNowOptions = {}): Promise<RestoreReport> {
  const journal = new JournalFile(options.directory ?? journalDirectory());
  const found = journal.read();
  if (options.onlyLeftovers === true && found.kind === 'whole' && isAlive(found.journal.holder)) {
    const pid = String(found.journal.holder.pid);
    return { outcome: 'nothing', detail: `process ${pid} holds the resolver`, items: [] };
  }
  // Of what was looked at, and of no takeover that begins meanwhile.
  const own = found.kind === 'whole' ? { id: found.journal.id } : {};
  return restore({ journal, owners: systemOwners(process.platform, runCommand), ...own });
}
