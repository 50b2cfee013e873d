/**
 * Opens the listeners of one data-plane thread: UDP and TCP on each endpoint, on the same port.
 * UDP is served in batches where the add-on is built (net/native-udp-listener.ts), else by
 * node:dgram; both behave alike.
 */
import { AppError } from '../contract/errors.ts';
import { openNativeUdpListener } from '../net/native-udp-listener.ts';
import type { UdpAddonResult } from '../net/native-udp-addon.ts';
import type { Listener, ListenerOptions } from '../net/packet-handler.ts';
import type { Endpoint } from '../net/server-address.ts';
import { openTcpListener } from '../net/tcp-listener.ts';
import { openUdpListener } from '../net/udp-listener.ts';

/** Ports tried until one is free for UDP and TCP alike, when the system chooses. */
const PORT_TRIES_MAX = 20;

/** What all listeners of the thread share. */
export type ListenerCommon = Pick<ListenerOptions, 'engine' | 'counters' | 'reusePort'>;

/** The open listeners of a thread. */
export interface Listeners {
  /** As bound, in the order asked. */
  readonly endpoints: readonly Endpoint[];
  stop(): void;
  close(): Promise<void>;
}

/**
 * Opens all endpoints or none.
 *
 * @throws AppError PORT_IN_USE, PORT_FORBIDDEN, ADDRESS_UNAVAILABLE
 */
export async function openListeners(
  listen: readonly Endpoint[],
  common: ListenerCommon,
  addon: UdpAddonResult['addon'],
): Promise<Listeners> {
  const open: Listener[] = [];
  const endpoints: Endpoint[] = [];
  const close = async (): Promise<void> => {
    await Promise.all(open.map((listener) => listener.close()));
  };
  try {
    for (const endpoint of listen) {
      const pair = await openPair(endpoint, common, addon);
      open.push(...pair);
      endpoints.push({ ...endpoint, port: pair[0].port });
    }
  } catch (error) {
    await close();
    throw error;
  }
  return {
    endpoints,
    close,
    stop: () => {
      for (const listener of open) listener.stop();
    },
  };
}

/**
 * Makes sure that nobody else holds the endpoints, by binding them alone for a moment. With
 * SO_REUSEPORT a second instance of the program would otherwise bind as well, and take every other
 * packet.
 *
 * @throws as openListeners
 */
export async function claimAlone(
  listen: readonly Endpoint[],
  common: ListenerCommon,
): Promise<void> {
  const fixed = listen.filter(({ port }) => port !== 0);
  const listeners = await openListeners(fixed, { ...common, reusePort: false }, null);
  await listeners.close();
}

type ListenerPair = readonly [udp: Listener, tcp: Listener];

async function openPair(
  { address, port }: Endpoint,
  common: ListenerCommon,
  addon: UdpAddonResult['addon'],
): Promise<ListenerPair> {
  for (let tries = 1; ; tries++) {
    const udp = await openUdp({ ...common, address, port }, addon);
    try {
      return [udp, await openTcpListener({ ...common, address, port: udp.port })];
    } catch (error) {
      await udp.close();
      const isTaken = error instanceof AppError && error.code === 'PORT_IN_USE';
      if (port !== 0 || !isTaken || tries === PORT_TRIES_MAX) throw error;
    }
  }
}

function openUdp(options: ListenerOptions, addon: UdpAddonResult['addon']): Promise<Listener> {
  return addon === null ? openUdpListener(options) : openNativeUdpListener(addon, options);
}
