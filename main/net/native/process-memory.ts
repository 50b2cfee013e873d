/**
 * Memory of the whole process: how much it holds, and what malloc may keep of it; the latter by the
 * add-on, where there is one. Called in the main thread.
 */
import { readFileSync } from 'node:fs';
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

/** Returns to the system what malloc keeps free. Some milliseconds. */
export function trimMemory(): void {
  addon()?.trimMemory();
}

/** What the process holds, in bytes. */
export interface ProcessMemory {
  /** Resident: program code and other pages of files included, which the system can take back. */
  readonly rssBytes: number;
  /** Of it, what belongs to this process alone; null where the system does not say. */
  readonly anonymousBytes: number | null;
}

let lastRead: ProcessMemory = { rssBytes: 0, anonymousBytes: null };

/** Never throws: without a free descriptor to read it with, the figures read last. */
export function processMemory(): ProcessMemory {
  try {
    lastRead = process.platform === 'linux' ? linuxMemory() : otherMemory();
  } catch {
    // EMFILE: whoever asks wants a figure, and an older one is as good.
  }
  return lastRead;
}

function linuxMemory(): ProcessMemory {
  const status = readFileSync('/proc/self/status', 'latin1');
  return { rssBytes: bytesOf(status, 'VmRSS'), anonymousBytes: bytesOf(status, 'RssAnon') };
}

function otherMemory(): ProcessMemory {
  return { rssBytes: process.memoryUsage.rss(), anonymousBytes: null };
}

function bytesOf(status: string, field: string): number {
  const kib = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1];
  if (kib === undefined) throw new Error(`no ${field} in /proc/self/status`);
  return Number(kib) * 1024;
}

/** Whichever way UDP is served: the wish in SLUICE_UDP is none about memory. */
function addon() {
  const file = process.env['SLUICE_UDP_ADDON'];
  return loadUdpAddon(file === undefined ? {} : { SLUICE_UDP_ADDON: file }).addon;
}
