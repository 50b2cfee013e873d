/** What differs between two settings, and what has to be forgotten then. Used by the service. */
import type { Config } from '../../contract/config.ts';
import type { PlanePart } from '../process/parts.ts';

/** The part of the settings that the data plane's upstreams are made of. */
export function upstreamSettings({ dns }: Config): unknown {
  return [
    ...[dns.upstreams, dns.strategy, dns.mixedCase, dns.timeoutMs],
    ...[dns.suffixes, dns.bootstrap],
  ];
}

export function differ(left: unknown, right: unknown): boolean {
  return left !== right && JSON.stringify(left) !== JSON.stringify(right);
}

/** Answers of the former servers are not those of the servers now. */
export function forgetAnswers(
  plane: Pick<PlanePart, 'flushCache' | 'flushName'>,
  before: Config,
  now: Config,
): void {
  if (differ(before.dns.upstreams, now.dns.upstreams)) {
    plane.flushCache();
    return;
  }
  const suffixes = [before, now].flatMap(({ dns }) => Object.keys(dns.suffixes));
  for (const suffix of new Set(suffixes)) {
    if (!differ(before.dns.suffixes[suffix], now.dns.suffixes[suffix])) continue;
    // A thread that ended meanwhile keeps nothing either.
    plane.flushName(suffix, true).catch(() => undefined);
  }
}
