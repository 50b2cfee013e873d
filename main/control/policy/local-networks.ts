/**
 * The networks that this machine has an interface on: what "localnets" in `dns.allow` means, so that
 * neighbours with global IPv6 addresses, or public IPv4 ones, are answered without their prefixes in
 * the settings, which change. Read by the service, every second.
 *
 * An address says how long its network's prefix is. Of DHCPv6 it comes alone (/128): then the on-link
 * route tells (Linux), which has to hold an address of the same link, since a tunnel's routes lead
 * to half the world.
 */
import { readFileSync } from 'node:fs';
import { networkInterfaces, type NetworkInterfaceInfo } from 'node:os';
import { LIMITS } from '../../contract/limits.ts';
import { isIn, type Network } from '../../engine/filter/engine-config.ts';
import { parseNetwork } from './networks.ts';

/** Shorter prefixes are no link: a mistake, or a tunnel that takes everything. */
const IPV4_BITS_MIN = 96 + 8;
const IPV6_BITS_MIN = 48;
const ROUTE_UP = 0x1;
/** RTF_REJECT and RTF_LOCAL of linux/ipv6_route.h, linux/route.h. */
const ROUTE_REJECT = 0x200;
const ROUTE_LOCAL = 0x80000000;

export interface LocalNetworkSources {
  readonly interfaces: () => NodeJS.Dict<NetworkInterfaceInfo[]>;
  /** Text of /proc/net/ipv6_route; '' where there is none. */
  readonly routes: () => string;
}

const SYSTEM: LocalNetworkSources = {
  interfaces: networkInterfaces,
  routes: () => readFileSync('/proc/net/ipv6_route', 'latin1'),
};

/** At most LIMITS.localNetworksMax networks, each once, without host bits, in a stable order. */
export function localNetworks(sources = SYSTEM): readonly Network[] {
  const found = new Map<string, Network>();
  const links = attempt(sources.interfaces, {});
  const outward = Object.entries(links).filter(([, list]) => list?.some(isOutward) === true);
  const routes = outward.some(([, list]) => list?.some(isAlone) === true)
    ? onLinkRoutes(attempt(sources.routes, ''))
    : [];
  for (const [link, list] of outward) {
    const addresses = (list ?? []).filter(isOutward);
    for (const { cidr } of addresses) add(found, cidr === null ? undefined : parseNetwork(cidr));
    const own = addresses.map(({ address }) => parseNetwork(address.split('%', 1)[0] ?? ''));
    for (const route of routes.filter((one) => one.link === link)) {
      const isOwn = own.some((one) => one !== undefined && isIn([route.network], one.bytes));
      if (isOwn) add(found, route.network);
    }
  }
  return [...found.keys()]
    .sort()
    .slice(0, LIMITS.localNetworksMax)
    .flatMap((key) => found.get(key) ?? []);
}

function isOutward({ internal }: NetworkInterfaceInfo): boolean {
  return !internal;
}

/** An IPv6 address without its network. */
function isAlone({ cidr, internal }: NetworkInterfaceInfo): boolean {
  return !internal && cidr?.endsWith('/128') === true;
}

function add(found: Map<string, Network>, network: Network | undefined): void {
  if (network === undefined) return;
  const isV4 = network.bytes[10] === 0xff && network.bytes[0] === 0 && network.bits >= 96;
  if (network.bits < (isV4 ? IPV4_BITS_MIN : IPV6_BITS_MIN)) return;
  const bytes = network.bytes.map((byte, index) => {
    const kept = Math.min(Math.max(network.bits - index * 8, 0), 8);
    return byte & (0xff00 >>> kept);
  });
  found.set(`${Buffer.from(bytes).toString('hex')}/${String(network.bits)}`, { ...network, bytes });
}

/** "target bits source bits gateway metric references uses flags link" in hexadecimal. */
function onLinkRoutes(text: string): { link: string; network: Network }[] {
  return text.split('\n').flatMap((line) => {
    const words = line.trim().split(/\s+/);
    const [target = '', bits = '', , , gateway = ''] = words;
    if (target.length !== 32 || !/^0+$/.test(gateway) || !isInUse(words[8])) return [];
    const bytes = new Uint8Array(Buffer.from(target, 'hex'));
    return [{ link: words[9] ?? '', network: { bytes, bits: Number.parseInt(bits, 16) } }];
  });
}

function isInUse(text = ''): boolean {
  const flags = Number.parseInt(text, 16);
  return (flags & ROUTE_UP) !== 0 && (flags & ROUTE_REJECT) === 0 && flags < ROUTE_LOCAL;
}

/** Some sandboxes forbid looking, and only Linux has the file. */
function attempt<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
