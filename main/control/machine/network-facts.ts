/**
 * What the network itself says, laid over the settings: servers that DHCP gave, names that only a
 * tunnel's servers know, and a login page that must open. Pure; used by the service.
 */
import type { Config } from '../../contract/config.ts';
import { LIMITS } from '../../contract/limits.ts';
import { isAskable } from '../../net/upstream/system-servers.ts';
import { isSecure, parseUpstream } from '../../net/upstream-address.ts';

export interface NetworkFacts {
  /**
   * While the system's resolver is taken over: the servers it asked before, which "system" in the
   * settings then stands for. Null: "system" is read from the system.
   */
  readonly systemServers: readonly string[] | null;
  /** Suffixes that only these servers know. */
  readonly routes: readonly { readonly suffix: string; readonly servers: readonly string[] }[];
  /** While not null, every name goes to these servers, unfiltered and not kept. */
  readonly portalServers: readonly string[] | null;
}

export const NO_FACTS: NetworkFacts = { systemServers: null, routes: [], portalServers: null };

const SUFFIX = /^([A-Za-z0-9_-]{1,63}\.)*[A-Za-z0-9_-]{1,63}\.?$/;

/**
 * The settings as they are in force. What the person configured wins over what was learned.
 *
 * @param own  addresses that Sluice listens on; never asked
 */
export function withFacts(config: Config, facts: NetworkFacts, own: readonly string[]): Config {
  const usable = (servers: readonly string[]): string[] =>
    servers.filter((server) => isUsable(server, own));
  if (facts.portalServers !== null) return portalConfig(config, usable(facts.portalServers));
  if (facts.systemServers === null && facts.routes.length === 0) return config;
  const known = facts.systemServers === null ? null : usable(facts.systemServers);
  const expand = (servers: readonly string[]): string[] =>
    known === null
      ? [...servers]
      : [...new Set(servers.flatMap((one) => (one === 'system' ? known : [one])))];
  const { dns } = config;
  const suffixes = { ...learned(facts, dns.suffixes, usable), ...expandAll(dns.suffixes, expand) };
  return {
    ...config,
    dns: {
      ...dns,
      suffixes,
      upstreams: expand(dns.upstreams),
      bootstrap: expand(dns.bootstrap),
    },
  };
}

/** Only the network's own servers, as if Sluice were not there. */
function portalConfig(config: Config, servers: string[]): Config {
  return {
    ...config,
    dns: { ...config.dns, upstreams: servers, suffixes: {}, strategy: 'in-order' },
    // Login pages lie on private addresses, and what they answer is not to be believed later.
    cache: { ...config.cache, entriesMax: 0 },
    rebinding: { ...config.rebinding, enabled: false },
  };
}

function learned(
  { routes }: NetworkFacts,
  configured: Config['dns']['suffixes'],
  usable: (servers: readonly string[]) => string[],
): Record<string, string[]> {
  const room = LIMITS.upstreamSuffixesMax - Object.keys(configured).length;
  const found = new Map<string, string[]>();
  const taken = new Set(Object.keys(configured).map(normal));
  for (const route of routes) {
    const suffix = normal(route.suffix);
    const servers = usable(route.servers).slice(0, LIMITS.suffixServersMax);
    const isNew = SUFFIX.test(suffix) && !taken.has(suffix) && !found.has(suffix);
    if (isNew && servers.length > 0 && found.size < room) found.set(suffix, servers);
  }
  return Object.fromEntries(found);
}

function expandAll(
  suffixes: Config['dns']['suffixes'],
  expand: (servers: readonly string[]) => string[],
): Record<string, string[]> {
  return Object.fromEntries(
    Object.entries(suffixes).map(([suffix, servers]) => [suffix, expand(servers)]),
  );
}

function normal(suffix: string): string {
  return suffix.toLowerCase().replace(/\.$/, '');
}

/** False for what is no plain server, for a link-local address without its link, and for ourselves. */
function isUsable(text: string, own: readonly string[]): boolean {
  try {
    const server = parseUpstream(text);
    return !isSecure(server) && isAskable(server, own);
  } catch {
    // Something that the network said and we cannot ask.
    return false;
  }
}
