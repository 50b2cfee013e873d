/**
 * Where the command line reaches the running instance without a token: `control.sock` in the data
 * folder, which only the folder's owner can open. Its mode is 0600 from its first moment, since
 * server.listen binds before it returns: also in a folder that others may enter. Used by app/door.ts and cli-client.ts, which must agree on it.
 *
 * Windows has no such sockets in files; there the command line uses the token.
 */
import { closeSync, constants, openSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { DoorPlace } from './door.ts';

/** Bytes of a path in a socket address, with the NUL at its end. Source: unix(7), unix(4). */
const PATH_BYTES_MAX = process.platform === 'linux' ? 108 : 104;

export interface SocketPath {
  readonly path: string;
  /** To be called once nobody binds, connects to or removes it any more. */
  release(): void;
}

/**
 * A path of the socket that fits into an address; through the open folder when its name is too long,
 * which Linux alone can do.
 *
 * @returns null where there is no such socket
 * @throws  the system's error when the folder cannot be opened
 */
export function controlSocketPath(dataDirectory: string): SocketPath | null {
  if (process.platform === 'win32') return null;
  const path = join(dataDirectory, 'control.sock');
  if (Buffer.byteLength(path) < PATH_BYTES_MAX) {
    return { path, release: () => undefined };
  }
  if (process.platform !== 'linux') return null;
  const folder = openSync(dataDirectory, constants.O_RDONLY | constants.O_DIRECTORY);
  return {
    path: `/proc/self/fd/${String(folder)}/control.sock`,
    release: () => {
      closeSync(folder);
    },
  };
}

/** Removes what another run left. To be called by the one instance that has claimed the folder. */
export async function controlPlace({ path }: SocketPath): Promise<DoorPlace> {
  await rm(path, { force: true });
  return {
    name: 'command line',
    listen: { path },
    around: (listen) => {
      const mask = process.umask(0o177);
      try {
        listen();
      } finally {
        process.umask(mask);
      }
    },
  };
}
