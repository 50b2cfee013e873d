/**
 * What a rule's conditions are compared with, beside the name: the type asked for, and who asks.
 *
 * One object per data-plane thread (it lies in the context), refilled for each query; explain.ts makes
 * one of its own. Allocates nothing after that.
 */
import { NO_PROFILE, type ClientProfile } from './client-profile.ts';
import type { TableEntry } from './policy-table.ts';
import { copyBytes, TYPE } from '../../dns/wire.ts';

export interface MatchContext {
  /** QTYPE of the question. */
  type: number;
  /** 16 bytes, IPv4 as ::ffff:a.b.c.d. */
  readonly clientAddress: Uint8Array;
  /** Lower case: the configured name of the client and its ids, MAC addresses too; [] if unknown. */
  clientNames: readonly string[];
  /** Lower case. */
  clientTags: readonly string[];
  /** Index = list id, 1 = this list applies to this client; null: all lists apply. */
  listMask: Uint8Array | null;
  /** What holds for this client. */
  profile: ClientProfile;
  /** The policy or service that the last `decide` of verdict.ts went by. */
  entry: TableEntry | null;
  /** Labels of the name that it named. */
  entryLabels: number;
}

const ADDRESS_BYTES = 16;
const NO_TEXTS: readonly string[] = [];

/** A context in which nothing is known of the client, and the type is A. */
export function createMatchContext(): MatchContext {
  return {
    type: TYPE.a,
    clientAddress: new Uint8Array(ADDRESS_BYTES),
    clientNames: NO_TEXTS,
    clientTags: NO_TEXTS,
    listMask: null,
    profile: NO_PROFILE,
    entry: null,
    entryLabels: 0,
  };
}

/** Takes a question's type and its client's address, 16 bytes; any other size means unknown. */
export function fillContext(matchContext: MatchContext, type: number, address: Uint8Array): void {
  matchContext.type = type;
  if (address.length === ADDRESS_BYTES) {
    copyBytes(address, 0, matchContext.clientAddress, 0, ADDRESS_BYTES);
  } else {
    matchContext.clientAddress.fill(0);
  }
}

/** Takes over what holds for a client. */
export function takeProfile(matchContext: MatchContext, profile: ClientProfile): void {
  if (matchContext.profile === profile) return;
  matchContext.profile = profile;
  matchContext.clientNames = profile.names;
  matchContext.clientTags = profile.tags;
  matchContext.listMask = profile.listMask;
}

/** Whether a list applies to the client of this context. */
export function appliesTo(matchContext: MatchContext, listId: number): boolean {
  return matchContext.listMask === null || matchContext.listMask[listId] === 1;
}
