/**
 * Opens the doors: HTTP, on a free port when that is allowed, and the socket of the command line.
 * Called by compose.ts.
 */
import type { AddressInfo } from 'node:net';
import type { HttpChoice } from './options.ts';
import type { Config } from '../contract/config.ts';
import { AppError } from '../contract/errors.ts';
import { LIMITS } from '../contract/limits.ts';
import type { AccessToken } from '../api/http/access-token.ts';
import { controlPlace, controlSocketPath } from '../api/http/control-socket.ts';
import { openHttpDoor, type HttpDoor } from '../api/http/door.ts';
import { bindError } from '../net/listen/bind-error.ts';
import { handlesFor } from '../net/handle-limit.ts';
import { formatEndpoint, isLoopbackAddress, parseListen } from '../net/server-address.ts';
import { writeTrouble } from '../control/process/data-folder.ts';
import { rendererPath } from '../control/process/resources.ts';
import type { ControlPlane } from '../control/control-plane.ts';
import { isPortTrouble } from './plane.ts';

export interface DoorParts {
  readonly service: ControlPlane;
  readonly token: AccessToken;
  readonly version: string;
  /** The settings in use now. */
  readonly config: () => Config;
}

/**
 * An address that the machine does not have (yet) is told in health and tried again, as those of DNS
 * are.
 *
 * @param onOpen  called each time that it is open, with where it is bound
 * @throws AppError PORT_IN_USE, PORT_FORBIDDEN, CONFIG_INVALID
 */
export async function openDoor(
  parts: DoorParts,
  choice: HttpChoice,
  say: (line: string) => void,
  onOpen: (endpoint: string) => void,
): Promise<HttpDoor> {
  const { service, token, version, config } = parts;
  const { http } = config();
  const { address, port } = parseListen(choice.listen ?? http.listen);
  requirePlain(address, http.plain, choice.listen ?? http.listen);
  const open = (chosen: number) =>
    openHttpDoor(
      {
        name: 'HTTP',
        listen: { host: address, port: chosen, exclusive: true },
        connectionsMax: handlesFor(LIMITS.httpConnectionsMax),
        onListening: (server) => {
          const bound = server.address() as AddressInfo;
          onOpen(formatEndpoint(bound.address, bound.port));
        },
        isPassing: (error) => {
          const { code, message } = bindError(error, 'tcp', address, chosen, 'http', true);
          if (code !== 'ADDRESS_UNAVAILABLE') return false;
          say(`${message}; it is tried again by itself`);
          return true;
        },
      },
      {
        ...{ service, version, pageFolder: rendererPath() },
        access: { token: () => token.value, hosts: () => config().http.hosts },
      },
    );
  const door = await open(port).catch((error: unknown) => {
    const refused = bindError(error as NodeJS.ErrnoException, 'tcp', address, port, 'http');
    if (choice.portFallback !== true || !isPortTrouble(refused)) throw refused;
    say(`${refused.message}; taking a free port`);
    return open(0);
  });
  token.onRenew(() => {
    door.dropClients();
  });
  if (!isLoopbackAddress(address)) {
    service.setNotice(
      'http plain',
      `Window and API are reached from the network at ${address} without encryption (http.plain): ` +
        'whoever can listen there can read the token.',
    );
  }
  return door;
}

/**
 * The door of the command line. DNS and HTTP do without it; health says why it is missing.
 *
 * @returns closes it again
 */
export async function openControlDoor(
  { service, version }: Pick<DoorParts, 'service' | 'version'>,
  dataDirectory: string,
): Promise<() => Promise<void>> {
  try {
    const socket = controlSocketPath(dataDirectory);
    if (socket === null) return () => Promise.resolve();
    const door = await openHttpDoor(
      { ...(await controlPlace(socket)), connectionsMax: handlesFor(LIMITS.httpConnectionsMax) },
      { service, version, pageFolder: rendererPath(), access: null },
    );
    return async () => {
      await door.close();
      socket.release();
    };
  } catch (error) {
    const why = writeTrouble(error, dataDirectory);
    service.setNotice('control', `The command line reaches Sluice by HTTP and token only: ${why}.`);
    return () => Promise.resolve();
  }
}

/** @throws AppError CONFIG_INVALID. The settings are checked as they are read; --http is not. */
function requirePlain(address: string, isAllowed: boolean, text: string): void {
  if (isAllowed || isLoopbackAddress(address)) return;
  throw new AppError(
    'CONFIG_INVALID',
    `http.listen: "${text}" is reached from the network and nothing encrypts it; set http.plain ` +
      'to true to allow that, or listen on 127.0.0.1',
  );
}
