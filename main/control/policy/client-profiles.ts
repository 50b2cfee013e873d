/**
 * Works out what holds for each address: which client it is, which group's settings it has, and
 * which policies are for it. Used by filters.ts; pure.
 *
 * Networks that the settings name lie in one another or apart. For each of them ("region") the
 * client with the longest id around it counts, and all policies for any network around it.
 */
import type { Config } from '../../contract/config.ts';
import type {
  ClientSettings,
  GroupSettings,
  PolicySettings,
} from '../../contract/filter-config.ts';
import type { Region } from '../../engine/filter/client-profile.ts';
import { LIST_ID_RULES, type Network } from '../../engine/filter/engine-config.ts';
import type { RuleBuffers } from '../../engine/filter/rule-set.ts';
import type { ProfileMessage } from '../../dataplane/messages.ts';
import { maskedBytes, networkKey, parseClientId } from './client-id.ts';
import { parseNetwork } from './networks.ts';

const ADDRESS_BITS = 128;

export interface ProfileParts {
  readonly config: Pick<Config, 'clients' | 'groups'>;
  /** In the order of the table, and whether each is in force now. */
  readonly policies: readonly PolicySettings[];
  readonly inForce: readonly boolean[];
  readonly serviceMask: (group: GroupSettings | undefined) => Uint8Array;
  /** Ids of lists by name. */
  readonly listIds: ReadonlyMap<string, number>;
  /** Compiled, by group. */
  readonly rulesOf: (group: GroupSettings) => RuleBuffers | null;
  /** Addresses of neighbours by MAC address, 16 bytes each. */
  readonly neighbours: ReadonlyMap<string, readonly Uint8Array[]>;
}

/** What the settings say about one network. */
interface Place extends Network {
  client: ClientSettings | undefined;
  /** Positions of policies that name it. */
  readonly policies: number[];
}

/** The profiles, everybody's first, and the networks that have others. */
export function buildProfiles(parts: ProfileParts): {
  readonly profiles: ProfileMessage[];
  readonly regions: Region[];
} {
  const places = placesOf(parts);
  const lengths = [...new Set([...places.values()].map(({ bits }) => bits))];
  lengths.sort((left, right) => left - right);
  const profiles = [profileOf(parts, undefined, [])];
  const known = new Map<string, number>();
  const regions = [...places.values()].map((place): Region => {
    const { client, policies } = whatHolds(place, lengths, places);
    const key = `${client?.name ?? ''}|${policies.join()}`;
    let profile = known.get(key);
    if (profile === undefined) {
      profile = profiles.push(profileOf(parts, client, policies)) - 1;
      known.set(key, profile);
    }
    return { bytes: place.bytes, bits: place.bits, profile };
  });
  return { profiles, regions };
}

/** Networks by their key; `at` makes what is not there yet. */
class Places {
  readonly byKey = new Map<string, Place>();

  at(network: Network): Place {
    const key = networkKey(network);
    let place = this.byKey.get(key);
    if (place === undefined) {
      const bytes = maskedBytes(network.bytes, network.bits);
      place = { bytes, bits: network.bits, client: undefined, policies: [] };
      this.byKey.set(key, place);
    }
    return place;
  }
}

function placesOf(parts: ProfileParts): Map<string, Place> {
  const places = new Places();
  placeClients(parts, places);
  const { config, policies } = parts;
  for (const [index, { clients }] of policies.entries()) {
    const networks = clients.filter((text) => !isNameOf(config, text)).map(parseNetwork);
    for (const network of networks) if (network) places.at(network).policies.push(index);
  }
  return places.byKey;
}

/** An exact address that the settings name counts more than a neighbour's. */
function placeClients({ config, neighbours }: ProfileParts, places: Places): void {
  const ids = config.clients.flatMap((client) =>
    client.ids.map((text) => ({ client, id: parseClientId(text) })),
  );
  for (const { client, id } of ids) {
    if (id?.kind === 'network') places.at(id.network).client = client;
  }
  for (const { client, id } of ids) {
    const addresses = id?.kind === 'mac' ? (neighbours.get(id.mac) ?? []) : [];
    for (const bytes of addresses) places.at({ bytes, bits: ADDRESS_BITS }).client ??= client;
  }
}

/** A client may be called like an address; then it is meant. */
function isNameOf({ clients, groups }: ProfileParts['config'], text: string): boolean {
  return [...clients, ...groups].some(({ name }) => name === text);
}

/** The client of a network, and the policies for it, from the shortest network around it on. */
function whatHolds(
  { bytes, bits }: Network,
  lengths: readonly number[],
  places: ReadonlyMap<string, Place>,
): { client: ClientSettings | undefined; policies: number[] } {
  let client: ClientSettings | undefined;
  const policies: number[] = [];
  for (const length of lengths) {
    if (length > bits) break;
    const around = places.get(networkKey({ bytes, bits: length }));
    client = around?.client ?? client;
    policies.push(...(around?.policies ?? []));
  }
  return { client, policies: policies.sort((left, right) => left - right) };
}

function profileOf(
  parts: ProfileParts,
  client: ClientSettings | undefined,
  scoped: readonly number[],
): ProfileMessage {
  const group = parts.config.groups.find(({ name }) => name === client?.group);
  const mine = [client?.name, group?.name];
  const policyMask = Uint8Array.from(parts.policies, ({ clients }, index) => {
    const isFor =
      clients.length === 0 || scoped.includes(index) || clients.some((name) => mine.includes(name));
    return isFor && parts.inForce[index] === true ? 1 : 0;
  });
  return {
    ...namesOf(client),
    ...groupPart(group, parts),
    policyMask,
    serviceMask: parts.serviceMask(group),
  };
}

function namesOf(client: ClientSettings | undefined) {
  if (!client) return { name: '', names: [], tags: [] };
  const names = [client.name, ...client.ids].map((text) => text.toLowerCase());
  return { name: client.name, names, tags: client.tags };
}

function groupPart(group: GroupSettings | undefined, { listIds, rulesOf }: ProfileParts) {
  if (!group) return { listMask: null, rules: null, filtering: true };
  const rules = group.rules.length > 0 ? rulesOf(group) : null;
  return { listMask: listMask(group, listIds), rules, filtering: group.filtering };
}

/** Null when all lists apply. */
function listMask(group: GroupSettings, listIds: ReadonlyMap<string, number>): Uint8Array | null {
  if (!group.lists) return null;
  const ids = group.lists.map((name) => listIds.get(name)).filter((id) => id !== undefined);
  const mask = new Uint8Array(Math.max(0, ...listIds.values()) + 1);
  for (const id of [LIST_ID_RULES, ...ids]) mask[id] = 1;
  return mask;
}
