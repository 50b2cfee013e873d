/**
 * Notices that the machine is on another network or has slept: then every open connection to an
 * upstream may lead nowhere. Asked every few seconds by the service; holds no timer of its own.
 *
 * Networks are told apart by their default gateways, where these can be read (Linux), otherwise by
 * addresses. No network at all is not another one: coming back, answers are still right.
 *
 * Addresses are compared, not links: a network that gives the same address again keeps its
 * connections alive as well. Temporary IPv6 addresses change on a quiet network too, so only
 * networks are compared for IPv6 (the first 64 bits).
 */
import { readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import type { ServiceClock } from './clock.ts';

/** Time by which the wall clock runs ahead of the other one that shows a sleep. */
const SLEEP_MS = 30_000;

/** Address and whether it is loopback, as node:os gives them. */
export interface NetworkAddress {
  readonly address: string;
  readonly family: string;
  readonly internal: boolean;
}

/** sockets: connections are not to be trusted, answers are. other: neither, it is another network. */
export type NetworkChange = 'none' | 'sockets' | 'other';

/** Compares the machine's addresses, gateways and clocks with those of the last look. */
export class NetworkWatch {
  readonly #clock: ServiceClock;
  readonly #addresses: () => readonly NetworkAddress[];
  readonly #gateways: () => readonly string[] | null;
  #seen: string;
  /** What names the network, of the last time that there was one. */
  #marks: readonly string[];
  #aheadMs: number;

  /** @param addresses  for tests. @param gateways  for tests; null when they cannot be read */
  constructor(
    clock: ServiceClock,
    addresses = systemAddresses,
    gateways: () => readonly string[] | null = defaultGateways,
  ) {
    this.#clock = clock;
    this.#addresses = addresses;
    this.#gateways = gateways;
    this.#seen = this.#networks().join();
    this.#marks = this.#gateways() ?? this.#networks();
    this.#aheadMs = this.#ahead();
  }

  /** What has changed since the last look. */
  look(): NetworkChange {
    const networks = this.#networks();
    const seen = networks.join();
    const aheadMs = this.#ahead();
    const hasMoved = seen !== this.#seen;
    // A clock that is set looks like a sleep, and costs as little.
    const hasSlept = aheadMs - this.#aheadMs > SLEEP_MS;
    this.#seen = seen;
    this.#aheadMs = aheadMs;
    if (this.#isOther(this.#gateways() ?? networks)) return 'other';
    return hasMoved || hasSlept ? 'sockets' : 'none';
  }

  /** One mark in common is enough: IPv6 comes a moment after IPv4, a tunnel beside both. */
  #isOther(marks: readonly string[]): boolean {
    if (marks.length === 0) return false;
    const before = this.#marks;
    this.#marks = marks;
    return before.length > 0 && !marks.some((mark) => before.includes(mark));
  }

  #networks(): string[] {
    const networks = this.#addresses()
      .filter(({ internal }) => !internal)
      .map(({ address, family }) => (family === 'IPv6' ? prefixOf(address) : address));
    return [...new Set(networks)].sort();
  }

  #ahead(): number {
    return this.#clock.wallMs() - this.#clock.monotonicMs();
  }
}

/** The first four groups; enough to tell networks apart, however they are abbreviated. */
function prefixOf(address: string): string {
  return address.split(':').slice(0, 4).join(':');
}

function systemAddresses(): readonly NetworkAddress[] {
  try {
    return Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  } catch {
    // Some sandboxes forbid looking; then changes are not seen, and failures of servers are.
    return [];
  }
}

/** Addresses of the default routes' gateways; null where the kernel shows none of its routes. */
export function defaultGateways(proc = '/proc'): string[] | null {
  try {
    const v4 = rows(`${proc}/net/route`)
      .filter(([, target, gateway]) => target === '00000000' && gateway !== '00000000')
      .map(([link, , gateway]) => `${link ?? ''} ${gateway ?? ''}`);
    const v6 = rows(`${proc}/net/ipv6_route`)
      .filter(([target = '', bits, , , gateway = '']) => {
        return bits === '00' && /^0+$/.test(target) && !/^0*$/.test(gateway);
      })
      .map((row) => `${row.at(-1) ?? ''} ${row[4] ?? ''}`);
    return [...new Set([...v4, ...v6])];
  } catch {
    // Another system than Linux, or a kernel without IPv6: addresses have to do.
    return null;
  }
}

function rows(file: string): string[][] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/));
}
