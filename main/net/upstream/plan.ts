/**
 * Which servers answer what: the settings' upstreams as a data-plane thread gets them. Made in the
 * main thread by `makePlan`; plain data, so that it crosses thread borders.
 */
import { LIMITS } from '../../contract/limits.ts';
import { expandUpstreams } from './system-servers.ts';
import { isSecure, upstreamKey } from '../upstream-address.ts';
import type { UpstreamServer } from '../upstream-address.ts';
import type { PlainServer } from '../server-address.ts';

/** How a question finds its server. */
export const STRATEGIES = ['in-order', 'fastest', 'race', 'spread'] as const;
export type Strategy = (typeof STRATEGIES)[number];

/** The servers for a name and all names below it. */
export interface SuffixPlan {
  /** Lower case, no trailing dot. */
  readonly suffix: string;
  /** Indexes into `servers`. */
  readonly servers: readonly number[];
}

export interface UpstreamPlan {
  readonly strategy: Strategy;
  /** Plain questions go out in random letter case (upstream-message.ts). */
  readonly mixedCase: boolean;
  /** How long an asker waits. */
  readonly timeoutMs: number;
  /** Each server once, the defaults first; ExchangeResult.upstream counts in this list. */
  readonly servers: readonly UpstreamServer[];
  /** How many of `servers`, from the first, are the defaults. */
  readonly defaults: number;
  readonly suffixes: readonly SuffixPlan[];
  /** Plain servers for names of time servers while the clock is wrong (time-names.ts). */
  readonly bootstrap: readonly PlainServer[];
}

/** The part of the settings that a plan is made of. */
export interface PlanSettings {
  readonly upstreams: readonly string[];
  readonly strategy?: Strategy;
  readonly mixedCase?: boolean;
  readonly timeoutMs?: number;
  readonly suffixes?: Readonly<Record<string, readonly string[]>>;
  readonly bootstrap?: readonly string[];
}

/**
 * Reads the settings' texts. "system" becomes the machine's own servers.
 *
 * @param own  addresses that Sluice listens on
 * @throws     AppError CONFIG_INVALID naming the text that is no server, or is one of `own`
 */
export function makePlan(settings: PlanSettings, own: readonly string[]): UpstreamPlan {
  const defaults = expandUpstreams(settings.upstreams, own);
  const servers = [...defaults];
  const indexes = new Map(servers.map((server, index) => [upstreamKey(server), index]));
  const suffixes = Object.entries(settings.suffixes ?? {}).map(([suffix, texts]) => ({
    suffix: normalSuffix(suffix),
    servers: expandUpstreams(texts, own).map((server) => {
      const known = indexes.get(upstreamKey(server));
      if (known !== undefined) return known;
      indexes.set(upstreamKey(server), servers.length);
      return servers.push(server) - 1;
    }),
  }));
  const isPlain = (server: UpstreamServer): server is PlainServer => !isSecure(server);
  // With a plain server of their own among the defaults, time servers are found without these.
  const bootstrap = defaults.some(isPlain) ? [] : (settings.bootstrap ?? []);
  return {
    strategy: settings.strategy ?? 'in-order',
    mixedCase: settings.mixedCase ?? true,
    timeoutMs: settings.timeoutMs ?? LIMITS.upstreamBudgetMs,
    servers,
    defaults: defaults.length,
    suffixes,
    bootstrap: expandUpstreams(bootstrap, own).filter(isPlain),
  };
}

/** A plan without suffixes, over servers in order. */
export function planOf(servers: readonly UpstreamServer[]): UpstreamPlan {
  return {
    strategy: 'in-order',
    mixedCase: true,
    timeoutMs: LIMITS.upstreamBudgetMs,
    servers,
    defaults: servers.length,
    suffixes: [],
    bootstrap: [],
  };
}

/** Lower case without the trailing dot, as plans and policies hold suffixes. */
export function normalSuffix(suffix: string): string {
  return suffix.toLowerCase().replace(/\.$/, '');
}
