/**
 * Where an instance keeps its files unless `--data-dir` says otherwise. Used by the headless entry
 * and the command line, which must agree on it.
 */
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

/** $SLUICE_DATA_DIR; for root /var/lib/sluice; else $XDG_DATA_HOME/sluice or ~/.local/share/sluice. */
export function defaultDataDirectory(
  environment: NodeJS.ProcessEnv = process.env,
  userId: number | undefined = process.getuid?.(),
): string {
  const { SLUICE_DATA_DIR: own, XDG_DATA_HOME: dataHome, APPDATA: roaming } = environment;
  if (own) return resolve(own);
  if (userId === 0) return '/var/lib/sluice';
  if (userId === undefined && roaming) return join(roaming, 'sluice');
  return join(dataHome ? resolve(dataHome) : join(homedir(), '.local', 'share'), 'sluice');
}
