/**
 * Opens a UDP listener the fastest way this machine offers: in batches when the add-on is there,
 * else with node:dgram. Called by the data-plane thread.
 */
import { loadUdpAddon } from './native-udp-addon.ts';
import { openNativeUdpListener } from './native-udp-listener.ts';
import type { Listener, ListenerOptions } from './packet-handler.ts';
import { openUdpListener } from './udp-listener.ts';

/**
 * @throws AppError PORT_IN_USE (naming the process), PORT_FORBIDDEN, ADDRESS_UNAVAILABLE;
 *         CONFIG_INVALID when SLUICE_UDP=native and there is no add-on
 */
export async function openFastestUdpListener(options: ListenerOptions): Promise<Listener> {
  const { addon } = loadUdpAddon();
  return addon === null ? openUdpListener(options) : openNativeUdpListener(addon, options);
}

/** How UDP is received here, for the health report: 'batched', or why it is not. */
export function udpReceiving(): string {
  const { addon, reason } = loadUdpAddon();
  return addon === null ? `one by one (${reason})` : 'batched';
}
