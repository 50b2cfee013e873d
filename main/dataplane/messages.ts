/**
 * What crosses between the main thread (data-plane.ts) and a data-plane thread
 * (dataplane-thread.ts). Tables, counters and log rings are shared memory; only references cross.
 */
import type { WireError } from '../contract/errors.ts';
import type { CachedItem } from '../engine/cache/cache-view.ts';
import type { ClientProfile, Region } from '../engine/filter/client-profile.ts';
import type { LocalRecord } from '../engine/filter/local-records.ts';
import type { EngineConfig } from '../engine/filter/engine-config.ts';
import type { TableMessage } from '../engine/filter/policy-table.ts';
import type { RuleBuffers } from '../engine/filter/rule-set.ts';
import type { Endpoint } from '../net/server-address.ts';
import type { UpstreamPlan } from '../net/upstream/plan.ts';
import type { UpstreamState } from '../net/upstream/upstream.ts';
import type { Listening } from './listeners.ts';
import type { OwnAnswer } from './own-question.ts';

/** As ClientProfile. */
export type ProfileMessage = Omit<ClientProfile, 'rules'> & { readonly rules: RuleBuffers | null };

/** Policies, services, clients and local records; opened by open-policy.ts. */
export interface FiltersMessage {
  /** The first one is everybody's. */
  readonly profiles: readonly ProfileMessage[];
  /** None: all clients are alike. */
  readonly regions: readonly Region[];
  readonly policies: TableMessage | null;
  readonly services: TableMessage | null;
  readonly records: readonly LocalRecord[];
}

/** A Policy whose rules are still bytes; each thread opens its own view of them. */
export type PolicyMessage = Omit<
  EngineConfig,
  | 'rules'
  | 'firstRules'
  | 'lists'
  | 'suffixes'
  | 'everybody'
  | 'clients'
  | 'policies'
  | 'services'
  | 'records'
> & {
  readonly rules: RuleBuffers;
  readonly lists: RuleBuffers;
  /** Policy.firstRules; none when absent. */
  readonly first?: RuleBuffers;
  /** Names with upstreams of their own; none when absent. */
  readonly suffixes?: readonly string[];
  /** Nothing of that kind when absent. */
  readonly filters?: FiltersMessage;
};

/** Addresses of the hosts of encrypted upstreams, by host name. */
export type HostAddresses = Readonly<Record<string, readonly string[]>>;

/** What a thread begins with. */
export interface ThreadSetup {
  /** For the first thread all that is configured, for others what the first one serves. */
  readonly listen: readonly Endpoint[];
  /** Several threads share the endpoints. */
  readonly reusePort: boolean;
  /** Makes sure that no other program shares them: the kernel would split the packets with it. */
  readonly claimsAlone: boolean;
  readonly plan: UpstreamPlan;
  readonly addresses: HostAddresses;
  /** Null when the thread has taken it: it would hold the first tables for good. */
  policy: PolicyMessage | null;
  /** Memory of a log/ring.ts LogRing. */
  readonly ring: SharedArrayBuffer;
  /** COUNTER_BLOCK_SLOTS doubles; totals of a thread that went before are kept. */
  readonly counters: SharedArrayBuffer;
  /** Memory of engine/state/client-gate.ts, shared by all threads. */
  readonly gate: SharedArrayBuffer;
  /** Where this thread keeps its answers over a restart; null: nowhere. */
  readonly cacheFile: string | null;
}

/** From the main thread. */
export type ToThread =
  | { readonly kind: 'policy'; readonly policy: PolicyMessage }
  | { readonly kind: 'upstreams'; readonly plan: UpstreamPlan }
  | { readonly kind: 'addresses'; readonly addresses: HostAddresses }
  /** To be answered with 'upstream-states'. */
  | { readonly kind: 'describe-upstreams'; readonly id: number }
  /** Another network: upstream sockets are made anew. */
  | { readonly kind: 'reset-upstreams' }
  /** Endpoints to serve beside those of before; what is not served is tried again. */
  | { readonly kind: 'listen'; readonly listen: readonly Endpoint[] }
  | { readonly kind: 'flush-cache' }
  /** What is kept about a name; to be answered. */
  | { readonly kind: 'inspect-cache'; readonly id: number; readonly name: string }
  /** Forgets what is kept about a name; to be answered with how many. */
  | {
      readonly kind: 'flush-name';
      readonly id: number;
      readonly name: string;
      readonly below: boolean;
    }
  /** A question of our own, as that client would ask it; to be answered. */
  | {
      readonly kind: 'resolve';
      readonly id: number;
      readonly packet: Uint8Array;
      readonly address: Uint8Array;
    }
  /** To be answered when everything sent before has been done. */
  | { readonly kind: 'settle'; readonly id: number }
  | { readonly kind: 'close' };

/** From a data-plane thread. */
export type FromThread =
  /** It answers now; ports that were 0 are filled in. */
  | ({ readonly kind: 'listening'; readonly udp: string } & Listening)
  /** What it serves has changed. */
  | ({ readonly kind: 'listeners' } & Listening)
  | { readonly kind: 'settled'; readonly id: number }
  | {
      readonly kind: 'upstream-states';
      readonly id: number;
      readonly states: readonly UpstreamState[];
    }
  | UpstreamNews
  /** To a message with this id. */
  | { readonly kind: 'inspected'; readonly id: number; readonly items: readonly CachedItem[] }
  | ({ readonly kind: 'resolved'; readonly id: number } & OwnAnswer)
  | { readonly kind: 'flushed'; readonly id: number; readonly count: number }
  /** It could not begin, and ends. */
  | { readonly kind: 'failed'; readonly error: WireError }
  /** Something was refused, and what was before stays. */
  | { readonly kind: 'fault'; readonly reason: string };

/** Something about an upstream that the main thread acts on. */
export type UpstreamNews =
  /** It failed, for a reason to be read behind "cannot be used: "; null when that is over. */
  | { readonly kind: 'upstream-trouble'; readonly upstream: string; readonly reason: string | null }
  /** No address of a host could be connected to: look it up again. */
  | { readonly kind: 'unreachable'; readonly host: string };
