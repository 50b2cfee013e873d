/**
 * What holds for whom: the profile of a client, found by its address. Networks lie in one another
 * or apart, so the longest one that an address is in says all there is to say about it; the control
 * plane (control/policy/client-profiles.ts) has worked out what that is. An exact address is a network of
 * 128 bits.
 *
 * Read once a query in a data-plane thread; allocates nothing. Without any configured client, and
 * without policies for some clients only, there is no such table and everybody has one profile.
 */
import { HASH_SEED, hashByte, hashMix } from '../../dns/name.ts';
import type { Network } from './engine-config.ts';
import type { RuleSet } from './rule-set.ts';

export interface ClientProfile {
  /** As configured; '' for nobody in particular. */
  readonly name: string;
  /** For $client: lower case, its name and ids. */
  readonly names: readonly string[];
  /** For $ctag: lower case. */
  readonly tags: readonly string[];
  /** Index = list id, 1 = it applies; null: all lists apply. */
  readonly listMask: Uint8Array | null;
  /** Rules of its group, before those of everybody. */
  readonly rules: RuleSet | null;
  /** Index = policy of Policy.policies, 1 = for this client and in force now. */
  readonly policyMask: Uint8Array;
  /** The same for Policy.services. */
  readonly serviceMask: Uint8Array;
  /** False: nothing is filtered for it. */
  readonly filtering: boolean;
}

/** A profile that changes nothing. */
export const NO_PROFILE: ClientProfile = {
  name: '',
  names: [],
  tags: [],
  listMask: null,
  rules: null,
  policyMask: new Uint8Array(0),
  serviceMask: new Uint8Array(0),
  filtering: true,
};

/** Addresses with one profile, by the longest prefix. */
export interface Region extends Network {
  /** Index into the profiles; 0 is everybody's. */
  readonly profile: number;
}

const ADDRESS_BYTES = 16;
/** A power of two. */
const CACHE_SLOTS = 256;

export class ProfileTable {
  readonly #profiles: readonly ClientProfile[];
  readonly #regions: readonly Region[];
  /** Lengths of prefixes that occur, longest first. */
  readonly #lengths: Uint8Array;
  /** Region + 1 by hash of its bits and their number; 0 is empty. */
  readonly #slots: Uint32Array;
  readonly #masked = new Uint8Array(ADDRESS_BYTES);
  /** Addresses seen last, and the profile found for each, + 1. */
  readonly #cacheKeys = new Uint8Array(CACHE_SLOTS * ADDRESS_BYTES);
  readonly #cacheProfiles = new Uint16Array(CACHE_SLOTS);

  /** @param regions  distinct, bits behind the prefix clear */
  constructor(profiles: readonly ClientProfile[], regions: readonly Region[]) {
    this.#profiles = profiles;
    this.#regions = regions;
    const lengths = [...new Set(regions.map(({ bits }) => bits))];
    this.#lengths = Uint8Array.from(lengths.sort((left, right) => right - left));
    this.#slots = new Uint32Array(2 ** Math.ceil(Math.log2(2 * regions.length + 2)));
    for (const [index, { bytes, bits }] of regions.entries()) {
      let slot = hashAddress(bytes, bits) & (this.#slots.length - 1);
      while (this.#slots[slot] !== 0) slot = (slot + 1) & (this.#slots.length - 1);
      this.#slots[slot] = index + 1;
    }
  }

  /** The profile of an address, 16 bytes as in ports.ts Client. */
  find(address: Uint8Array): ClientProfile {
    const slot = hashAddress(address, 0) & (CACHE_SLOTS - 1);
    const known = this.#cacheProfiles[slot] as number;
    if (known !== 0 && this.#isCached(slot, address)) {
      return this.#profiles[known - 1] as ClientProfile;
    }
    const found = this.#search(address);
    this.#cacheProfiles[slot] = found + 1;
    for (let index = 0; index < ADDRESS_BYTES; index++) {
      this.#cacheKeys[slot * ADDRESS_BYTES + index] = address[index] as number;
    }
    return this.#profiles[found] as ClientProfile;
  }

  #isCached(slot: number, address: Uint8Array): boolean {
    const at = slot * ADDRESS_BYTES;
    for (let index = 0; index < ADDRESS_BYTES; index++) {
      if (this.#cacheKeys[at + index] !== address[index]) return false;
    }
    return true;
  }

  /** Longest prefix first. */
  #search(address: Uint8Array): number {
    for (let place = 0; place < this.#lengths.length; place++) {
      const bits = this.#lengths[place] as number;
      for (let index = 0; index < ADDRESS_BYTES; index++) {
        const left = Math.max(0, Math.min(8, bits - index * 8));
        this.#masked[index] = (address[index] as number) & (0xff00 >>> left);
      }
      let slot = hashAddress(this.#masked, bits) & (this.#slots.length - 1);
      for (; this.#slots[slot] !== 0; slot = (slot + 1) & (this.#slots.length - 1)) {
        const region = this.#regions[(this.#slots[slot] as number) - 1] as Region;
        if (region.bits === bits && isSame(region.bytes, this.#masked)) return region.profile;
      }
    }
    return 0;
  }
}

function hashAddress(address: Uint8Array, bits: number): number {
  let running = hashByte(HASH_SEED, bits);
  for (let index = 0; index < ADDRESS_BYTES; index++) {
    running = hashByte(running, address[index] as number);
  }
  return hashMix(running);
}

function isSame(left: Uint8Array, right: Uint8Array): boolean {
  for (let index = 0; index < ADDRESS_BYTES; index++) {
    if (left[index] !== right[index]) return false;
  }
  return true;
}
