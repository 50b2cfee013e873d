/**
 * The engine's immutable view of the settings: built by control/policy/policy-builder.ts, sent to each
 * data-plane thread whole, and swapped by reference between two packets.
 */
import type { ClientProfile, ProfileTable } from './client-profile.ts';
import type { LocalRecords } from './local-records.ts';
import type { PolicyTable } from './policy-table.ts';
import type { RuleSet } from './rule-set.ts';
import type { SuffixSet } from '../../dns/suffix-set.ts';

export type BlockingAnswer = 'null-address' | 'nxdomain' | 'nodata' | 'refused';

/** Addresses that begin with the same bits. */
export interface Network {
  /** 16 bytes; IPv4 as ::ffff:a.b.c.d. */
  readonly bytes: Uint8Array;
  /** How many bits count, of the 128. */
  readonly bits: number;
}

/** Who may ask, and how often. */
export interface Access {
  readonly allow: readonly Network[];
  /** Without a rate limit. */
  readonly exempt: readonly Network[];
  /** Of one client, over UDP and TCP together; 0: no limit. */
  readonly queriesPerSecond: number;
}

export interface EngineConfig {
  /** Grows with each policy; shown in status so that a change can be seen to have arrived. */
  readonly version: number;
  /** False while filtering is off or paused: queries are forwarded transparently. */
  readonly filtering: boolean;
  readonly blockingAnswer: BlockingAnswer;
  readonly blockingTtlSeconds: number;
  /** Rules that come before all others: temporary ones, and those for single clients; list id 0. */
  readonly priorityRules?: RuleSet | null;
  /** The user's own rules; list id 0. A small set, rebuilt at each edit. */
  readonly rules: RuleSet;
  /** All enabled lists, compiled. */
  readonly lists: RuleSet;
  /** What holds for everybody who has no profile of its own; nothing beyond rules and lists if absent. */
  readonly everybody?: ClientProfile;
  /** Profiles by address; null when all clients are alike. */
  readonly clients?: ProfileTable | null;
  /** The user's policies. */
  readonly policies?: PolicyTable | null;
  /** Blocked services, safe search, bypass prevention. */
  readonly services?: PolicyTable | null;
  readonly records?: LocalRecords | null;
  readonly cache: {
    readonly entriesMax: number;
    readonly ttlMinSeconds: number;
    readonly ttlMaxSeconds: number;
    readonly staleSecondsMax: number;
    /** Suffixes that are never answered stale. */
    readonly staleOff: readonly string[];
    /** Popular answers are fetched anew before they expire. */
    readonly prefetch: boolean;
    /** Answers are kept in a file over a restart. */
    readonly persist: boolean;
  };
  /** Suffixes with upstreams of their own: no special name is answered here below them. */
  readonly suffixes?: SuffixSet;
  /**
   * Wire form, without root, of `<instance>.probe.sluice.internal`: this name, and those one label
   * below it, are answered with the loopback address. Empty or absent: none is.
   */
  readonly probe?: Uint8Array;
  /** Private addresses in the answers for public names are left out. */
  readonly rebinding: {
    readonly enabled: boolean;
    /** 100.64.0.0/10 counts as private. */
    readonly sharedSpace: boolean;
    /** Suffixes whose names may have private addresses. */
    readonly allow: readonly string[];
    /**
     * The top-level domains of the public root, lower-case A-labels with a space on each side: names
     * below others may have private addresses, too. Absent or empty: only those of `allow` may.
     */
    readonly publicTlds?: string;
  };
  readonly access: Access;
  /** 'anonymous' truncates client addresses before they reach the log ring; 'off' logs nothing. */
  readonly logMode: 'full' | 'anonymous' | 'off';
}

/** List id of the user's own rules. */
export const LIST_ID_RULES = 0;
/** Ids from here are policies, and from there services; service/filter-names.ts. */
export const LIST_ID_POLICIES = 60_000;
export const LIST_ID_SERVICES = 61_000;
/** List id of "no list". Ids of real lists are 1..59999 and stay with a list for its life. */
export const LIST_ID_NONE = 65_535;

/** Whether the address is in one of the networks. */
export function isIn(networks: readonly Network[], address: Uint8Array): boolean {
  for (const network of networks) if (isInOne(network, address)) return true;
  return false;
}

function isInOne({ bytes, bits }: Network, address: Uint8Array): boolean {
  const whole = bits >>> 3;
  for (let index = 0; index < whole; index++) {
    if (bytes[index] !== address[index]) return false;
  }
  const rest = bits & 7;
  if (rest === 0) return true;
  const difference = (bytes[whole] as number) ^ (address[whole] as number);
  return difference >>> (8 - rest) === 0;
}
