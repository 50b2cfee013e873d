/**
 * Notices that the machine is on another network or has slept: then every open connection to an
 * upstream may lead nowhere. Asked every few seconds by the service; holds no timer of its own.
 *
 * Networks are told apart by their default gateways, where these can be read (Linux), otherwise by
 * addresses. Half the homes of the world have the gateway 192.168.1.1, so its hardware address counts
 * too, once the kernel knows it. No network at all is not another one: coming back, answers are still
 * right.
 *
 * Addresses are compared, not links: a network that gives the same address again keeps its
 * connections alive as well. Temporary IPv6 addresses change on a quiet network too, so only
 * networks are compared for IPv6 (the first 64 bits).
 */
import { existsSync, readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import type { ServiceClock } from '../../system/clock.ts';

/** Time by which the wall clock runs ahead of the other one that shows a sleep. */
const SLEEP_MS = 30_000;
/** Gateways of one network whose hardware addresses are remembered. */
const HARDWARE_MAX = 16;
/** ATF_COM of linux/if_arp.h: the hardware address is known. */
const ARP_COMPLETE = 2;

/** Address and whether it is loopback, as node:os gives them. */
export interface NetworkAddress {
  readonly address: string;
  readonly family: string;
  readonly internal: boolean;
}

/** A router that a default route leads to. */
export interface Gateway {
  /** Link and address, as the kernel writes them: "wlan0 0101A8C0". */
  readonly mark: string;
  /** "02:00:5e:10:00:01"; '' while the kernel does not know it, and always for IPv6. */
  readonly hardware: string;
}

/** sockets: connections are not to be trusted, answers are. other: neither, it is another network. */
export type NetworkChange = 'none' | 'sockets' | 'other';

/** Compares the machine's addresses, gateways and clocks with those of the last look. */
export class NetworkWatch {
  readonly #clock: ServiceClock;
  readonly #addresses: () => readonly NetworkAddress[];
  readonly #gateways: () => readonly Gateway[] | null;
  #seen: string;
  /** What names the network, of the last time that there was one. */
  #marks: readonly string[];
  /** Hardware address of each mark, as last known. */
  #hardware: ReadonlyMap<string, string>;
  #aheadMs: number;

  /** @param addresses  for tests. @param gateways  for tests; null when they cannot be read */
  constructor(
    clock: ServiceClock,
    addresses = systemAddresses,
    gateways: () => readonly Gateway[] | null = defaultGateways,
  ) {
    this.#clock = clock;
    this.#addresses = addresses;
    this.#gateways = gateways;
    this.#seen = this.#networks().join();
    const routers = this.#gateways();
    this.#marks = routers?.map(({ mark }) => mark) ?? this.#networks();
    this.#hardware = hardwareOf(routers ?? []);
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
    const routers = this.#gateways();
    const isOther = this.#isOther(routers?.map(({ mark }) => mark) ?? networks);
    if (this.#isReplaced(hardwareOf(routers ?? []), isOther) || isOther) return 'other';
    return hasMoved || hasSlept ? 'sockets' : 'none';
  }

  /** One mark in common is enough: IPv6 comes a moment after IPv4, a tunnel beside both. */
  #isOther(marks: readonly string[]): boolean {
    if (marks.length === 0) return false;
    const before = this.#marks;
    this.#marks = marks;
    return before.length > 0 && !marks.some((mark) => before.includes(mark));
  }

  /** A gateway has the address of a former one, but is another device. */
  #isReplaced(now: ReadonlyMap<string, string>, isOther: boolean): boolean {
    const before = this.#hardware;
    const isReplaced = [...now].some(([mark, own]) => (before.get(mark) ?? own) !== own);
    const isOld = isOther || isReplaced || before.size > HARDWARE_MAX;
    // Unknown until something was sent there: until then the former one counts.
    this.#hardware = isOld ? now : new Map([...before, ...now]);
    return isReplaced;
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

/** The default routes' gateways; null where the kernel shows none of its routes. */
export function defaultGateways(proc = '/proc'): Gateway[] | null {
  try {
    const v4 = rows(`${proc}/net/route`)
      .filter(([, target, gateway]) => target === '00000000' && gateway !== '00000000')
      .map(([link, , gateway]) => `${link ?? ''} ${gateway ?? ''}`);
    const v6 = rows(`${proc}/net/ipv6_route`)
      .filter(([target = '', bits, , , gateway = '']) => {
        return bits === '00' && /^0+$/.test(target) && !/^0*$/.test(gateway);
      })
      .map((row) => `${row.at(-1) ?? ''} ${row[4] ?? ''}`);
    const known = neighbours(proc);
    return [...new Set([...v4, ...v6])].map((mark) => {
      return { mark, hardware: known.get(mark) ?? '' };
    });
  } catch {
    // Another system than Linux, or a kernel without IPv6: addresses have to do.
    return null;
  }
}

/** Hardware addresses of the IPv4 neighbours, by link and address as the routes have them. */
function neighbours(proc: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const file = `${proc}/net/arp`;
  if (!existsSync(file)) return found;
  for (const [address = '', , flags, hardware = '', , link = ''] of rows(file)) {
    if (!/^\d/.test(address) || (Number(flags) & ARP_COMPLETE) === 0) continue;
    const bytes = address.split('.').map(Number);
    const isLittle = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;
    const hex = Buffer.from(isLittle ? bytes.reverse() : bytes).toString('hex');
    found.set(`${link} ${hex.toUpperCase()}`, hardware.toLowerCase());
  }
  return found;
}

function hardwareOf(gateways: readonly Gateway[]): ReadonlyMap<string, string> {
  const known = gateways.filter(({ hardware }) => hardware !== '');
  return new Map(known.map(({ mark, hardware }) => [mark, hardware]));
}

function rows(file: string): string[][] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/));
}
