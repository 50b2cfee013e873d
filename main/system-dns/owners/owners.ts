/**
 * The owners that this system can have, in the order in which they are asked whether they are in
 * charge: who stands nearest to the stub resolver comes first, the bare file last.
 */
import { runCommand, type RunCommand } from '../../system/command.ts';
import { MacosOwner } from './macos.ts';
import { NetworkManagerOwner } from './network-manager.ts';
import type { Detection, OwnerName, ResolverOwner } from './owner.ts';
import { ResolvFileOwner } from './resolv-file.ts';
import { ResolvconfOwner } from './resolvconf.ts';
import { ResolvedOwner } from './resolved.ts';
import { WindowsOwner } from './windows.ts';

export function systemOwners(
  platform: NodeJS.Platform = process.platform,
  run: RunCommand = runCommand,
): ResolverOwner[] {
  if (platform === 'darwin') return [new MacosOwner({ run })];
  if (platform === 'win32') return [new WindowsOwner({ run })];
  return [
    new ResolvedOwner({ run }),
    new NetworkManagerOwner({ run }),
    new ResolvconfOwner({ run }),
    new ResolvFileOwner({ run }),
  ];
}

export interface FoundOwner {
  readonly owner: ResolverOwner;
  readonly detection: Detection;
}

/** What each owner says of itself, for the network page. An owner that fails says so. */
export async function detectAll(
  owners: readonly ResolverOwner[],
): Promise<{ readonly name: OwnerName; readonly detection: Detection }[]> {
  return Promise.all(
    owners.map(async (owner) => ({ name: owner.name, detection: await detectOne(owner) })),
  );
}

/** The owner in charge; null when there is none, which only other systems than these have. */
export async function ownerInCharge(owners: readonly ResolverOwner[]): Promise<FoundOwner | null> {
  for (const owner of owners) {
    const detection = await detectOne(owner);
    if (detection.isInCharge) return { owner, detection };
  }
  return null;
}

async function detectOne(owner: ResolverOwner): Promise<Detection> {
  try {
    return await owner.detect();
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return { isPresent: true, isInCharge: false, detail, takesPort: false };
  }
}
