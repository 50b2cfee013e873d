/**
 * What to do when the resolver's owner refuses this user: the sentence that a person needs in place of
 * the tool's own words. Used by takeover.ts, in the app.
 */
import type { OwnerName } from '../owners/owner.ts';

/** Words of polkit, D-Bus, nmcli and the kernel for the same thing. */
const REFUSED =
  /interactive authentication required|access denied|not authorized|insufficient privileges|permission denied|\bEACCES\b|\bEPERM\b|must be root/i;

/** @returns the error's text; with what helps, where the user's rights were missing */
export function explainRefusal(owner: OwnerName, error: unknown): string {
  const said = error instanceof Error ? error.message : String(error);
  if (!REFUSED.test(said)) return said;
  return `this user may not change the servers of ${owner}: ${WAYS[owner] ?? ROOT} (${said})`;
}

const ROOT = 'run Sluice as root or as a service of the system, see "sluice network"';
const WAYS: Partial<Record<OwnerName, string>> = {
  'systemd-resolved':
    'install the polkit rule that "sluice network" shows, or run Sluice as a service of the system',
};
