/** Words of the Network page. */
import type { NetworkReport, Takeover } from '../state/takeover.svelte.ts';

/** One line for each state of the takeover. */
export const takeoverTitles: Readonly<Record<Takeover['state'], string>> = {
  off: 'This machine asks its own DNS servers',
  applying: 'Taking over…',
  on: 'The whole machine asks Sluice',
  degraded: 'Not everything asks Sluice',
  portal: 'Open for a login page',
  restoring: 'Giving back…',
};

export const ownerNames: Readonly<Record<string, string>> = {
  'systemd-resolved': 'systemd-resolved',
  networkmanager: 'NetworkManager',
  resolvconf: 'resolvconf',
  'resolv.conf': 'the file /etc/resolv.conf',
  macos: 'macOS',
  windows: 'Windows',
};

export const rungLabels: Readonly<Record<NetworkReport['ladder'][number]['state'], string>> = {
  works: 'works here',
  possible: 'possible',
  'not here': 'not here',
};

export const bypassLabels: Readonly<Record<NetworkReport['bypasses'][number]['state'], string>> = {
  bypasses: 'goes past Sluice',
  prevented: 'asks Sluice',
  unknown: 'not known',
};

export const verdictTexts: Readonly<
  Record<NonNullable<NetworkReport['lastRescue']>['verdict'], string>
> = {
  'app-ended': 'Sluice had ended',
  'engine-silent': 'its engine did not answer',
};
