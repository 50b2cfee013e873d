/**
 * macOS: servers of each network service, with `networksetup`. Tested against recorded output only.
 *
 * A service without servers of its own uses those of DHCP; "empty" puts it back to that.
 */
import type { RunCommand } from '../../system/command.ts';
import type { Detection, DnsServer, OwnerItem, Properties, ResolverOwner } from './owner.ts';

const DNS_PORT = 53;
const TUNNELS = /\b(VPN|WireGuard|Tailscale|utun\d*)\b/i;

export class MacosOwner implements ResolverOwner {
  readonly name = 'macos';
  readonly #run: RunCommand;

  constructor({ run }: { readonly run: RunCommand }) {
    this.#run = run;
  }

  detect(): Promise<Detection> {
    const isPresent = process.platform === 'darwin';
    return Promise.resolve({
      isPresent,
      isInCharge: isPresent,
      takesPort: false,
      detail: 'macOS keeps servers for each network service',
    });
  }

  async capture(): Promise<OwnerItem[]> {
    const services = parseServices(await this.#run('networksetup', ['-listallnetworkservices']));
    const inUse = parseResolvers(await this.#run('scutil', ['--dns']));
    return Promise.all(
      services.map(async (service): Promise<OwnerItem> => {
        const dns = parseServers(await this.#run('networksetup', ['-getdnsservers', service]));
        return {
          key: service,
          label: service,
          skip: TUNNELS.test(service) ? 'a tunnel: its own names stay with its own servers' : '',
          properties: { dns },
          servers: dns.length > 0 ? dns : inUse.servers,
          routingDomains: inUse.routingDomains,
        };
      }),
    );
  }

  target(before: OwnerItem, servers: readonly DnsServer[]): Properties | null {
    if (before.skip !== '' || servers.some(({ port }) => port !== DNS_PORT)) return null;
    return { dns: servers.map(({ address }) => address) };
  }

  async write(before: OwnerItem, properties: Properties): Promise<void> {
    const { dns } = properties;
    if (!Array.isArray(dns)) return;
    const words = dns.length > 0 ? (dns as string[]) : ['empty'];
    await this.#run('networksetup', ['-setdnsservers', before.key, ...words]);
  }

  async release(now: OwnerItem): Promise<void> {
    await this.#run('networksetup', ['-setdnsservers', now.key, 'empty']);
  }

  async settle(): Promise<void> {
    await this.#run('dscacheutil', ['-flushcache']);
  }
}

/** Names of `networksetup -listallnetworkservices`; a star marks those that are switched off. */
export function parseServices(text: string): string[] {
  const [, ...lines] = text.split('\n'); // the first line explains the star
  return lines.filter((line) => line !== '' && !line.startsWith('*'));
}

/** `networksetup -getdnsservers`: addresses, or a sentence when there are none. */
export function parseServers(text: string): string[] {
  return text.split('\n').filter((line) => /^[0-9a-fA-F:.]+(%\w+)?$/.test(line));
}

/** `scutil --dns`: the first resolver's servers, and the domains that have resolvers of their own. */
export function parseResolvers(text: string): { servers: string[]; routingDomains: string[] } {
  const [part = ''] = text.split('DNS configuration (for scoped queries)');
  const resolvers = part.split(/^resolver #\d+$/m).slice(1);
  const all = (block: string, pattern: RegExp): string[] =>
    [...block.matchAll(pattern)].map((match) => match[1] ?? '');
  const servers = all(resolvers[0] ?? '', /^\s*nameserver\[\d+\]\s*:\s*(\S+)$/gm);
  const routingDomains = resolvers
    .filter((block) => /nameserver\[/.test(block))
    .flatMap((block) => all(block, /^\s*domain\s*:\s*(\S+)$/gm))
    .filter((domain) => domain !== 'local' && !domain.endsWith('.arpa'));
  return { servers, routingDomains };
}
