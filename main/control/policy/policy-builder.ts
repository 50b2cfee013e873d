/**
 * Turns settings, the switch and the compiled tables into the policy message that goes to every
 * data-plane thread. Called by the service whenever one of them changes; pure.
 */
import type { Config } from '../../contract/config.ts';
import { LOCAL_NETWORKS } from '../../contract/filter-words.ts';
import type { FiltersMessage, PolicyMessage } from '../../dataplane/messages.ts';
import type { Network } from '../../engine/filter/engine-config.ts';
import type { RuleBuffers } from '../../engine/filter/rule-set.ts';
import { probeZone } from '../../dns/special-zones.ts';
import { compilePriorityRules, listPriorityRules } from './priority-rules.ts';
import { homeNames } from './home-names.ts';
import { parseNetworks } from './networks.ts';
import type { TemporaryRule } from './priority-rules.ts';

export interface PolicyParts {
  /** Grows with each policy. */
  readonly version: number;
  readonly filtering: boolean;
  readonly config: Config;
  /** The user's own rules, compiled. */
  readonly rules: RuleBuffers;
  /** Rules that end by themselves. */
  readonly temporary?: readonly TemporaryRule[];
  /** All enabled lists, compiled. */
  readonly lists: RuleBuffers;
  /** Id of this run, for the takeover's probe names. */
  readonly instance: string;
  /** Networks of this machine's interfaces, as localNetworks finds them. */
  readonly networks?: readonly Network[];
  /** Policies, services, clients, local records; as Filters.build makes them. */
  readonly filters?: FiltersMessage | undefined;
}

export function buildPolicy({
  version,
  filtering,
  config,
  rules,
  temporary = [],
  lists,
  instance,
  networks = [],
  filters,
}: PolicyParts): PolicyMessage {
  const { blocking, cache, dns, limits, log, rebinding } = config;
  const home = homeNames();
  const first = compilePriorityRules(listPriorityRules(config.rules, temporary));
  return {
    version,
    filtering,
    blockingAnswer: blocking.answer,
    blockingTtlSeconds: blocking.ttlSeconds,
    ...(first && { first }),
    rules,
    lists,
    ...(filters && { filters }),
    cache: {
      entriesMax: cache.entriesMax,
      ttlMinSeconds: cache.ttlMinSeconds,
      ttlMaxSeconds: cache.ttlMaxSeconds,
      staleSecondsMax: cache.staleSecondsMax,
      staleOff: cache.staleOff,
      prefetch: cache.prefetch,
      persist: cache.persist,
    },
    rebinding: {
      enabled: rebinding.enabled,
      sharedSpace: rebinding.sharedSpace,
      allow: [...rebinding.allow, ...home.devices],
      publicTlds: home.publicTlds,
    },
    access: {
      allow: [...parseNetworks(dns.allow), ...(dns.allow.includes(LOCAL_NETWORKS) ? networks : [])],
      exempt: parseNetworks(limits.exempt),
      queriesPerSecond: limits.clientQueriesPerSecond,
    },
    suffixes: Object.keys(dns.suffixes),
    logMode: log.mode,
    probe: probeZone(instance),
  };
}
