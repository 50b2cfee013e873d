/**
 * systemd-resolved: servers and domains of each link, set with `resolvectl`, read over D-Bus.
 *
 * While we are on, each ordinary link has our servers and the routing domain "~.", so everything
 * comes to us except the names that a tunnel's own routing domains claim: resolved itself sends
 * those to the tunnel's servers. `resolvectl` goes through systemd-networkd where that manages the
 * link. Servers may carry a port, so port 53 is not needed while the stub at 127.0.0.53 is used.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { addressText, busProperties, isOnBus } from './bus.ts';
import type { RunCommand } from '../../system/command.ts';
import { isLinkUp, linkIndex, linkKind, skipReason } from './links.ts';
import type { Detection, DnsServer, OwnerItem, Properties, ResolverOwner } from './owner.ts';

const SERVICE = 'org.freedesktop.resolve1';
const PATH = '/org/freedesktop/resolve1';
const DNS_PORT = 53;
const EVERYTHING = '~.';

export interface ResolvedOptions {
  readonly run: RunCommand;
  /** Roots of the files it looks at, for tests. */
  readonly sys?: string;
  readonly etc?: string;
}

export class ResolvedOwner implements ResolverOwner {
  readonly name = 'systemd-resolved';
  readonly #run: RunCommand;
  readonly #sys: string;
  readonly #etc: string;

  constructor({ run, sys = '/sys', etc = '/etc' }: ResolvedOptions) {
    this.#run = run;
    this.#sys = sys;
    this.#etc = etc;
  }

  async detect(): Promise<Detection> {
    const isPresent = await isOnBus(this.#run, SERVICE);
    const mode = this.#stubMode();
    const detail = {
      stub: 'systemd-resolved runs and the system asks its stub',
      uplink: 'systemd-resolved runs and writes /etc/resolv.conf',
      foreign: 'systemd-resolved runs, but /etc/resolv.conf does not lead to it',
    }[mode];
    return {
      isPresent,
      isInCharge: isPresent && mode !== 'foreign',
      detail: isPresent ? detail : 'systemd-resolved does not run',
      takesPort: mode === 'stub',
    };
  }

  async capture(): Promise<OwnerItem[]> {
    const names = readdirSync(`${this.#sys}/class/net`).filter(
      (name) => linkKind(name, this.#sys) !== 'loopback' && isLinkUp(name, this.#sys),
    );
    const items = await Promise.all(names.map((name) => this.#readLink(name)));
    return items.filter((item) => item !== null);
  }

  target(before: OwnerItem, servers: readonly DnsServer[]): Properties | null {
    if (before.skip !== '') return null;
    const kept = (before.properties['domains'] as string[]).filter((one) => one !== EVERYTHING);
    return {
      dns: servers.map(({ address, port }) => serverText(address, port, '')),
      domains: [EVERYTHING, ...kept],
      // We speak plain DNS on loopback; a link that insists on TLS would not ask us at all.
      ...(before.properties['dnsOverTls'] !== 'no' && { dnsOverTls: 'no' }),
    };
  }

  async write(before: OwnerItem, properties: Properties): Promise<void> {
    const link = linkOf(before);
    if (linkIndex(link.name, this.#sys) !== link.index) return; // it went, and its settings with it
    const commands: Promise<string>[] = [];
    const { dns, domains, dnsOverTls } = properties;
    if (dns !== undefined) commands.push(this.#set('dns', link.name, dns as string[]));
    if (domains !== undefined) commands.push(this.#set('domain', link.name, domains as string[]));
    if (typeof dnsOverTls === 'string') {
      commands.push(this.#set('dnsovertls', link.name, [dnsOverTls]));
    }
    await Promise.all(commands);
  }

  async release(now: OwnerItem): Promise<void> {
    await this.#run('resolvectl', ['revert', linkOf(now).name]);
  }

  async settle(): Promise<void> {
    await this.#run('resolvectl', ['flush-caches']);
  }

  #set(verb: string, link: string, values: readonly string[]): Promise<string> {
    // An empty word clears the list; no word at all would only show it.
    return this.#run('resolvectl', [verb, link, ...(values.length === 0 ? [''] : values)]);
  }

  async #readLink(name: string): Promise<OwnerItem | null> {
    const index = linkIndex(name, this.#sys);
    if (index === 0) return null;
    const path = `${PATH}/link/${objectName(index)}`;
    const found = await busProperties(this.#run, SERVICE, path, `${SERVICE}.Link`).catch(
      (error: unknown) => {
        if (linkIndex(name, this.#sys) === index) throw error;
        return null; // it went while it was read
      },
    );
    if (found === null) return null;
    return linkItem(name, index, found, skipReason(linkKind(name, this.#sys)));
  }

  /** How the stub resolver gets to resolved, by /etc/resolv.conf and nsswitch.conf. */
  #stubMode(): 'stub' | 'uplink' | 'foreign' {
    const file = `${this.#etc}/resolv.conf`;
    const text = attempt(() => readFileSync(file, 'utf8'));
    const servers = [...text.matchAll(/^\s*nameserver\s+(\S+)/gm)].map((match) => match[1]);
    if (servers.length > 0 && servers.every((one) => /^127\.0\.0\.5[34]$/.test(one ?? ''))) {
      return 'stub';
    }
    if (attempt(() => readlinkSync(file)).endsWith('/run/systemd/resolve/resolv.conf')) {
      return 'uplink';
    }
    return usesResolvedModule(attempt(() => readFileSync(`${this.#etc}/nsswitch.conf`, 'utf8')))
      ? 'stub'
      : 'foreign';
  }
}

/** The item of one link, from its D-Bus properties. Exported for the recorded replies in tests. */
export function linkItem(
  name: string,
  index: number,
  found: Record<string, unknown>,
  skip: string,
): OwnerItem {
  const dns = ((found['DNSEx'] ?? []) as [number, number[], number, string][]).map(
    ([, bytes, port, serverName]) => serverText(addressText(bytes), port, serverName),
  );
  const pairs = (found['Domains'] ?? []) as [string, boolean][];
  const routing = pairs.filter(([domain, isRoute]) => isRoute && domain !== '.');
  return {
    key: `${String(index)} ${name}`,
    label: name,
    skip,
    properties: {
      dns,
      domains: pairs.map(([domain, isRoute]) => (isRoute ? `~${domain}` : domain)),
      dnsOverTls: typeof found['DNSOverTLS'] === 'string' ? found['DNSOverTLS'] : 'no',
    },
    servers: dns,
    routingDomains: routing.map(([domain]) => domain),
  };
}

/** As resolvectl reads it: 9.9.9.9, 127.0.0.1:5399, [::1]:5399, 9.9.9.9#dns.quad9.net. */
function serverText(address: string, port: number, name: string): string {
  const suffix = name === '' ? '' : `#${name}`;
  if (port === 0 || port === DNS_PORT) return `${address}${suffix}`;
  const host = address.includes(':') ? `[${address}]` : address;
  return `${host}:${String(port)}${suffix}`;
}

/** Object paths hold no leading digit: 2 is "_32", 12 is "_312". */
function objectName(index: number): string {
  const text = String(index);
  return `_${text.charCodeAt(0).toString(16)}${text.slice(1)}`;
}

function linkOf(item: OwnerItem): { readonly index: number; readonly name: string } {
  const [index = '', name = ''] = item.key.split(' ');
  return { index: Number(index), name };
}

/** True when getaddrinfo asks resolved before any file: "hosts: … resolve … dns". */
function usesResolvedModule(nsswitch: string): boolean {
  const modules = /^hosts:(.*)$/m.exec(nsswitch)?.[1]?.trim().split(/\s+/) ?? [];
  const at = modules.indexOf('resolve');
  const dns = modules.indexOf('dns');
  return at >= 0 && (dns < 0 || at < dns);
}

/** A file that is not there says nothing. */
function attempt(read: () => string): string {
  try {
    return read();
  } catch {
    return '';
  }
}
