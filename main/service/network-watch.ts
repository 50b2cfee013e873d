/**
 * Notices that the machine is on another network or has slept: then every open connection to an
 * upstream may lead nowhere. Asked every few seconds by the service; holds no timer of its own.
 *
 * Addresses are compared, not links: a network that gives the same address again keeps its
 * connections alive as well. Temporary IPv6 addresses change on a quiet network too, so only
 * networks are compared for IPv6 (the first 64 bits).
 */
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

/** Compares the machine's addresses and clocks with those of the last look. */
export class NetworkWatch {
  readonly #clock: ServiceClock;
  readonly #addresses: () => readonly NetworkAddress[];
  #seen: string;
  #aheadMs: number;

  /** @param addresses  for tests */
  constructor(clock: ServiceClock, addresses = systemAddresses) {
    this.#clock = clock;
    this.#addresses = addresses;
    this.#seen = this.#networks();
    this.#aheadMs = this.#ahead();
  }

  /** True when connections made before the last look are not to be trusted. */
  hasChanged(): boolean {
    const seen = this.#networks();
    const aheadMs = this.#ahead();
    const isOther = seen !== this.#seen;
    // A clock that is set looks like a sleep, and costs as little.
    const hasSlept = aheadMs - this.#aheadMs > SLEEP_MS;
    this.#seen = seen;
    this.#aheadMs = aheadMs;
    return isOther || hasSlept;
  }

  #networks(): string {
    const networks = this.#addresses()
      .filter(({ internal }) => !internal)
      .map(({ address, family }) => (family === 'IPv6' ? prefixOf(address) : address));
    return [...new Set(networks)].sort().join();
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
