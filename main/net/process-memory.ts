/**
 * Memory of the whole process, as far as JavaScript cannot reach it; by the add-on, where there is
 * one. Called by headless.ts in the main thread.
 */
import { loadUdpAddon } from './native-udp-addon.ts';

/**
 * Areas of glibc's malloc. Its default, eight a core, leaves each of a dozen threads an area of its
 * own with freed memory that the others cannot use; JavaScript allocates too little there to
 * contend for them.
 */
const ARENAS = 2;

/** To be called before threads are started. */
export function limitArenas(): void {
  addon()?.limitArenas(ARENAS);
}

/** Returns freed memory, and pages of program code that only starting needed. Some 10 ms. */
export function giveBackMemory(): void {
  addon()?.giveBackMemory();
}

/** Whichever way UDP is served: the wish in SLUICE_UDP is none about memory. */
function addon() {
  const file = process.env['SLUICE_UDP_ADDON'];
  return loadUdpAddon(file === undefined ? {} : { SLUICE_UDP_ADDON: file }).addon;
}
