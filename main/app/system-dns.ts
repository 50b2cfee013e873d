/**
 * Opens the takeover of the system's resolver and its switch. Called by compose.ts in the main
 * thread, once the data plane answers; closed before it, so that nobody asks an engine that ended.
 */
import { join } from 'node:path';
import type { ComposeOptions } from './options.ts';
import { realClock } from '../system/clock.ts';
import type { Health } from '../control/process/health.ts';
import { TakeoverSwitch } from '../control/machine/takeover-switch.ts';
import { holdPoint } from '../system-dns/takeover/hold-point.ts';
import { restoreNow } from '../system-dns/takeover/restore-now.ts';
import { rootFilesWarning } from '../system-dns/rights/root-files.ts';
import { SystemDns } from '../system-dns/system-dns.ts';
import type { Late } from './late.ts';

/** Gives back what an instance left that died: before anything asks the system for its servers. */
export async function restoreLeftovers(say: (line: string) => void): Promise<void> {
  // A service: root runs it at boot, whoever changed it meanwhile.
  const isService = process.env['INVOCATION_ID'] !== undefined;
  const warning = isService ? rootFilesWarning(process.argv[1] ?? '') : '';
  if (warning !== '') say(warning);
  const { outcome, detail } = await restoreNow({ onlyLeftovers: true });
  if (outcome === 'restored') say(`the system resolver was given back: ${detail}`);
  if (outcome === 'partly') say(`giving the system resolver back failed: ${detail}`);
}

/** @param listening  addresses that the engine answers on now; @param instance  as in the policy */
export function openSystemDns(
  options: ComposeOptions,
  {
    listening,
    instance,
  }: { readonly listening: () => readonly string[]; readonly instance: string },
  health: Health,
  late: Late,
): { readonly systemDns: SystemDns; readonly takeover: TakeoverSwitch } {
  const systemDns = new SystemDns({
    listening,
    instance,
    onStep: holdPoint(),
    onChange: () => {
      late.takeover?.changed();
      late.service?.stateChanged();
    },
    onNetwork: (event) => {
      if (event === 'resumed') late.service?.networkChanged();
      else late.service?.lookAtNetwork();
    },
    onServers: (systemServers) => late.service?.setNetworkFacts({ systemServers }),
    onSplitRoutes: (routes) => late.service?.setNetworkFacts({ routes }),
    onPortal: (portalServers) => late.service?.setNetworkFacts({ portalServers }),
  });
  late.takeover = new TakeoverSwitch({
    ...{ systemDns, clock: realClock, health },
    file: options.remembersTakeover ? join(options.dataDirectory, 'takeover.json') : null,
  });
  return { systemDns, takeover: late.takeover };
}
