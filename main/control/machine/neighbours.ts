/**
 * Which addresses the neighbours on the link have, by MAC address, so that a client can be known by
 * the latter. Read again every 30 seconds, and only while the settings name a MAC address.
 *
 * Linux tells in /proc/net/arp for IPv4. For IPv6 there is no such file: the command `ip -6 neigh`
 * is asked, and where there is none, IPv6 addresses of such clients stay unknown. Used by
 * service.ts in the main thread.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { LIMITS } from '../../contract/limits.ts';
import { parseAddress } from '../../net/listen/client-address.ts';
import { isIP } from 'node:net';
import type { ServiceClock } from '../../system/clock.ts';
import { parseMac } from '../policy/client-id.ts';

const REFRESH_MS = 30_000;
const COMMAND_MS = 5_000;
const COMMAND_BYTES_MAX = 4 * 1024 * 1024;

/** Addresses by MAC address: twelve lower-case digits, 16 bytes each. */
export type NeighbourMap = ReadonlyMap<string, readonly Uint8Array[]>;

export interface NeighbourSources {
  /** Text of /proc/net/arp; '' when there is none. */
  readonly arp: () => Promise<string>;
  /** What `ip -6 neigh show` writes; '' when there is none. */
  readonly ndp: () => Promise<string>;
}

export class Neighbours {
  readonly #clock: ServiceClock;
  readonly #sources: NeighbourSources;
  readonly #onChange: () => void;
  #map: NeighbourMap = new Map();
  #shown = '';
  #isWatching = false;
  #cancel: () => void = () => undefined;

  /** @param onChange  told when `map` is another one */
  constructor(clock: ServiceClock, onChange: () => void, sources: NeighbourSources = SYSTEM) {
    this.#clock = clock;
    this.#onChange = onChange;
    this.#sources = sources;
  }

  get map(): NeighbourMap {
    return this.#map;
  }

  /** Begins or ends watching. Idempotent. */
  watch(isNeeded: boolean): void {
    if (isNeeded === this.#isWatching) return;
    this.#isWatching = isNeeded;
    if (isNeeded) void this.refresh();
    else this.close();
  }

  /** Reads the tables now, and again after a while. */
  async refresh(): Promise<void> {
    this.#cancel();
    const [arp, ndp] = await Promise.all([this.#sources.arp(), this.#sources.ndp()]);
    if (!this.#isWatching) return;
    const pairs = [...parseArp(arp), ...parseNdp(ndp)].slice(0, LIMITS.neighboursMax);
    const shown = pairs.map((pair) => pair.join(' ')).sort();
    this.#cancel = this.#clock.after(REFRESH_MS, () => void this.refresh());
    if (shown.join('\n') === this.#shown) return;
    this.#shown = shown.join('\n');
    this.#map = toMap(pairs);
    this.#onChange();
  }

  close(): void {
    this.#isWatching = false;
    this.#cancel();
  }
}

type Pair = readonly [mac: string, address: string];

/** Columns: address, hardware type, flags, MAC address, mask, device. Flags 0: incomplete. */
export function parseArp(text: string): Pair[] {
  return text.split('\n').flatMap((line): Pair[] => {
    const [address = '', , flags = '', hardware = ''] = line.trim().split(/\s+/);
    const mac = parseMac(hardware);
    const isUsable = isIP(address) === 4 && flags !== '0x0' && mac !== undefined;
    return isUsable && mac !== '000000000000' ? [[mac, address]] : [];
  });
}

/** Lines such as "fe80::1 dev eth0 lladdr aa:bb:cc:dd:ee:ff router REACHABLE". */
export function parseNdp(text: string): Pair[] {
  return text.split('\n').flatMap((line): Pair[] => {
    const address = line.split(' ', 1)[0] ?? '';
    const mac = parseMac(/\blladdr (\S+)/.exec(line)?.[1] ?? '');
    return isIP(address) === 6 && mac !== undefined && !line.includes('FAILED')
      ? [[mac, address]]
      : [];
  });
}

function toMap(pairs: readonly Pair[]): NeighbourMap {
  const map = new Map<string, Uint8Array[]>();
  for (const [mac, address] of pairs) {
    const bytes = new Uint8Array(16);
    parseAddress(address, bytes);
    map.set(mac, [...(map.get(mac) ?? []), bytes]);
  }
  return map;
}

const SYSTEM: NeighbourSources = {
  // Both are absent on other systems: then nobody is known by a MAC address, as documented.
  arp: () => readFile('/proc/net/arp', 'utf8').catch(() => ''),
  ndp: () =>
    new Promise((resolve) => {
      const options = { timeout: COMMAND_MS, maxBuffer: COMMAND_BYTES_MAX };
      execFile('ip', ['-6', 'neigh', 'show'], options, (error, stdout) => {
        resolve(error ? '' : stdout);
      });
    }),
};
