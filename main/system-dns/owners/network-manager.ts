/**
 * NetworkManager: servers of each device, changed for as long as the device stays connected
 * (`nmcli device modify`), read over D-Bus. Saved connections are never rewritten.
 *
 * While we are on, each ordinary device has our servers in both families, ignores those of DHCP and
 * router advertisements, and goes before every other device. NetworkManager writes servers without
 * a port, so we have to listen on port 53. Split DNS is not its business in this mode: the routing
 * domains of tunnels are reported, for the engine to forward.
 */
import { readFileSync } from 'node:fs';
import { addressText, busCall, busProperties, isOnBus } from './bus.ts';
import type { RunCommand } from '../../system/command.ts';
import { linkKind, skipReason } from './links.ts';
import type { Detection, DnsServer, OwnerItem, Properties, ResolverOwner } from './owner.ts';

const SERVICE = 'org.freedesktop.NetworkManager';
const PATH = '/org/freedesktop/NetworkManager';
/** Where NetworkManager lists all its objects with their properties. */
const ROOT = '/org/freedesktop';
const OBJECTS = 'org.freedesktop.DBus.ObjectManager';
const DNS_PORT = 53;
/** Below zero: servers of devices with a higher number are not asked at all. */
const PRIORITY = -4_200;
/** NM_DEVICE_STATE_ACTIVATED. */
const ACTIVATED = 100;
/** A device changes a few times while it gets its addresses. */
const MODIFY_TRIES = 4;
/** Methods of a family that take servers. */
const METHODS_WITH_DNS = new Set(['auto', 'manual', 'dhcp', 'shared']);

/** Properties by object path and interface. */
type Objects = Record<string, Record<string, Record<string, unknown> | undefined> | undefined>;
type Settings = Record<string, Record<string, unknown> | undefined>;

export interface NetworkManagerOptions {
  readonly run: RunCommand;
  readonly sys?: string;
  readonly etc?: string;
}

export class NetworkManagerOwner implements ResolverOwner {
  readonly name = 'networkmanager';
  readonly #run: RunCommand;
  readonly #sys: string;
  readonly #etc: string;

  constructor({ run, sys = '/sys', etc = '/etc' }: NetworkManagerOptions) {
    this.#run = run;
    this.#sys = sys;
    this.#etc = etc;
  }

  async detect(): Promise<Detection> {
    const absent = { isPresent: false, isInCharge: false, takesPort: false };
    if (!(await isOnBus(this.#run, SERVICE))) {
      return { ...absent, detail: 'NetworkManager does not run' };
    }
    const path = `${PATH}/DnsManager`;
    const found = await busProperties(this.#run, SERVICE, path, `${SERVICE}.DnsManager`);
    const mode = String(found['Mode']);
    const writer = String(found['RcManager']);
    const isInCharge =
      (mode === 'default' || mode === 'dnsmasq') && writer !== 'unmanaged' && this.#wroteFile();
    const does = isInCharge ? 'writes /etc/resolv.conf' : 'leaves /etc/resolv.conf to others';
    return {
      isPresent: true,
      isInCharge,
      takesPort: false,
      detail: `NetworkManager runs and ${does} (dns=${mode}, rc-manager=${writer})`,
    };
  }

  async capture(): Promise<OwnerItem[]> {
    // One call for all objects: on a busy machine each start of a command counts.
    const [found] = await busCall(this.#run, [SERVICE, ROOT, OBJECTS, 'GetManagedObjects']);
    const objects = found as Objects;
    const items = await Promise.all(
      Object.keys(objects).map((path) => this.#readDevice(path, objects)),
    );
    return items.filter((item) => item !== null);
  }

  target(before: OwnerItem, servers: readonly DnsServer[]): Properties | null {
    if (before.skip !== '' || servers.some(({ port }) => port !== DNS_PORT)) return null;
    const wanted: Record<string, boolean | number | string[]> = {};
    for (const family of ['ipv4', 'ipv6'] as const) {
      if (before.properties[`${family}.dns`] === undefined) continue;
      wanted[`${family}.dns`] = servers
        .map(({ address }) => address)
        .filter((address) => address.includes(':') === (family === 'ipv6'));
      wanted[`${family}.ignore-auto-dns`] = true;
      wanted[`${family}.dns-priority`] = PRIORITY;
    }
    return wanted;
  }

  async write(before: OwnerItem, properties: Properties): Promise<void> {
    const words = Object.entries(properties).flatMap(([name, value]) => [name, wordOf(value)]);
    if (words.length > 0) await this.#modify(before.label, words);
  }

  async release(now: OwnerItem): Promise<void> {
    const words = Object.keys(now.properties).flatMap((name) => [
      name,
      name.endsWith('.dns') ? '' : name.endsWith('.dns-priority') ? '0' : 'no',
    ]);
    await this.#modify(now.label, words);
  }

  /** nmcli reads, changes and applies; that fails when the device changes in between, as by DHCP. */
  async #modify(device: string, words: readonly string[], triesLeft = MODIFY_TRIES): Promise<void> {
    try {
      await this.#run('nmcli', ['device', 'modify', device, ...words]);
    } catch (error) {
      if (triesLeft <= 1 || !/version-id mismatch/.test(String(error))) throw error;
      await this.#modify(device, words, triesLeft - 1);
    }
  }

  settle(): Promise<void> {
    return Promise.resolve();
  }

  async #readDevice(path: string, objects: Objects): Promise<OwnerItem | null> {
    const device = objects[path]?.[`${SERVICE}.Device`];
    if (device?.['State'] !== ACTIVATED || device['Managed'] !== true) return null;
    const name = String(device['IpInterface']);
    const kind = linkKind(name, this.#sys);
    if (kind === 'loopback' || kind === 'gone') return null;
    const args = [SERVICE, path, `${SERVICE}.Device`, 'GetAppliedConnection', 'u', '0'];
    const [applied] = await busCall(this.#run, args);
    const servers = (['4', '6'] as const).flatMap((family) => {
      const config = objects[String(device[`Ip${family}Config`])];
      return configServers(config?.[`${SERVICE}.IP${family}Config`] ?? {});
    });
    return deviceItem(name, applied as Settings, servers, skipReason(kind));
  }

  #wroteFile(): boolean {
    try {
      const text = readFileSync(`${this.#etc}/resolv.conf`, 'utf8');
      return /NetworkManager|resolvconf/.test(text.split('\n', 3).join('\n'));
    } catch {
      // No file yet: it is about to be written by whoever is in charge.
      return true;
    }
  }
}

/** Servers that a device uses in one family, whoever gave them. */
function configServers(found: Record<string, unknown>): string[] {
  const data = (found['NameserverData'] ?? []) as { readonly address?: string }[];
  if (data.length > 0) return data.map(({ address }) => address ?? '');
  const raw = (found['Nameservers'] ?? []) as number[][];
  return raw.filter((bytes) => Array.isArray(bytes)).map(addressText);
}

/** The item of one device, from its applied connection. Exported for recorded replies in tests. */
export function deviceItem(
  name: string,
  applied: Settings,
  servers: readonly string[],
  skip: string,
): OwnerItem {
  const families = ['ipv4', 'ipv6'] as const;
  const domains = families
    .flatMap((family) => (applied[family]?.['dns-search'] ?? []) as string[])
    .filter((one) => one.startsWith('~') || skip !== '')
    .map((one) => one.replace(/^~/, ''));
  return {
    key: `${String(applied['connection']?.['uuid'])} ${name}`,
    label: name,
    skip,
    properties: {
      ...familyProperties('ipv4', applied['ipv4']),
      ...familyProperties('ipv6', applied['ipv6']),
    },
    servers,
    routingDomains: [...new Set(domains.filter((domain) => domain !== '' && domain !== '.'))],
  };
}

/** None for a family that takes no servers. */
function familyProperties(family: string, section: Settings[string] = {}): Properties {
  if (!METHODS_WITH_DNS.has(String(section['method']))) return {};
  return {
    [`${family}.dns`]: (section['dns-data'] ?? []) as string[],
    [`${family}.ignore-auto-dns`]: section['ignore-auto-dns'] === true,
    [`${family}.dns-priority`]: Number(section['dns-priority'] ?? 0),
  };
}

function wordOf(value: Properties[string] | undefined): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return Array.isArray(value) ? value.join(' ') : String(value ?? '');
}
