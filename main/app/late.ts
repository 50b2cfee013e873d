/**
 * The parts call back as soon as they are open; what comes before the service stands, it reads.
 * Filled by compose.ts in the main thread while it builds the program.
 */
import type { DataPlane } from '../dataplane/data-plane.ts';
import type { ListManager } from '../lists/list-manager.ts';
import type { QueryLog } from '../log/query-log.ts';
import type { ControlPlane } from '../control/control-plane.ts';
import type { TakeoverSwitch } from '../control/machine/takeover-switch.ts';

/** What the parts call back into, once it stands. */
export interface Late {
  service?: ControlPlane;
  plane?: DataPlane;
  lists?: ListManager;
  log?: QueryLog;
  takeover?: TakeoverSwitch;
}
