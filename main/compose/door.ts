/** Opens the HTTP door, on a free port when that is allowed. Called by compose.ts. */
import type { HttpChoice } from '../compose.ts';
import { openHttpDoor } from '../interfaces/http-door.ts';
import { bindError } from '../net/bind-error.ts';
import { parseListen } from '../net/server-address.ts';
import { rendererPath } from '../service/resources.ts';
import type { Service } from '../service/service.ts';
import { isPortTrouble } from './plane.ts';

export async function openDoor(
  service: Service,
  choice: HttpChoice,
  configured: string,
  { token, version }: { readonly token: string; readonly version: string },
  say: (line: string) => void,
) {
  const { address, port } = parseListen(choice.listen ?? configured);
  const open = (chosen: number) =>
    openHttpDoor({
      ...{ service, address, port: chosen, token, version },
      pageFolder: rendererPath(),
    });
  try {
    return await open(port);
  } catch (error) {
    const refused = bindError(error as NodeJS.ErrnoException, 'tcp', address, port, 'http');
    if (choice.portFallback !== true || !isPortTrouble(refused)) throw refused;
    say(`${refused.message}; taking a free port`);
    return open(0);
  }
}
