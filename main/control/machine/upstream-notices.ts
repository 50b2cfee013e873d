/**
 * Tells people in plain sentences what is wrong with upstreams: certificates, names without an
 * address, a clock that cannot be right. Used by the service.
 */
import {
  formatUpstream,
  isSecure,
  nameToResolve,
  parseUpstream,
} from '../../net/upstream-address.ts';
import type { UpstreamServer } from '../../net/upstream-address.ts';
import { isClockWrong } from '../../net/wall-clock.ts';
import type { Config } from '../../contract/config.ts';
import type { UpstreamUse } from '../../dataplane/data-plane.ts';
import type { Health } from '../process/health.ts';

/** Sets and ends the notices of one health report. */
export class UpstreamNotices {
  readonly #health: Health;
  /** Upstreams with a notice. */
  readonly #troubled = new Set<string>();

  constructor(health: Health) {
    this.#health = health;
  }

  /** @param reason  as in dataplane/messages.ts UpstreamNews */
  trouble(upstream: string, reason: string | null): void {
    const sentence = `The upstream ${upstream} cannot be used: ${reason ?? ''}.`;
    this.#health.setNotice(`upstream ${upstream}`, reason === null ? null : sentence);
    if (reason === null) this.#troubled.delete(upstream);
    else this.#troubled.add(upstream);
  }

  /** Other settings: what is said about servers that are gone is no longer of interest. */
  keepOnly(config: Config): void {
    const kept = new Set(configuredServers(config).map(formatUpstream));
    for (const upstream of this.#troubled) if (!kept.has(upstream)) this.trouble(upstream, null);
  }

  noAddress(host: string, reason: string | null): void {
    const sentence = `No address is known for the upstream ${host}: ${reason ?? ''}.`;
    this.#health.setNotice(`address ${host}`, reason === null ? null : sentence);
  }

  /** Looks at the clock; called every few seconds, so that the notice ends by itself. */
  lookAtClock(config: Config, wallMs: number): void {
    const isBad = isClockWrong(wallMs) && configuredServers(config).some(isSecure);
    const day = isBad ? new Date(wallMs).toISOString().slice(0, 10) : '';
    const sentence =
      `The clock of this machine says ${day}, so certificates of encrypted upstreams cannot be ` +
      'checked. Names of time servers are resolved by the plain bootstrap servers until it is set.';
    this.#health.setNotice('clock', isBad ? sentence : null);
  }
}

/** The settings beside `dns.upstreams` that the data plane needs to ask. */
export function upstreamUse({ dns }: Config): UpstreamUse {
  const { strategy, mixedCase, timeoutMs, suffixes, bootstrap } = dns;
  return { strategy, mixedCase, timeoutMs, suffixes, bootstrap };
}

/** The host names of encrypted upstreams in the settings, each once. */
export function hostsToResolve(config: Config): string[] {
  const hosts = configuredServers(config).map(nameToResolve);
  return [...new Set(hosts)].filter((host) => host !== '');
}

function configuredServers({ dns }: Config): UpstreamServer[] {
  return [dns.upstreams, ...Object.values(dns.suffixes)]
    .flat()
    .filter((text) => text !== 'system')
    .map(parseUpstream);
}
