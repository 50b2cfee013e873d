/**
 * Puts the names of the settings' clients beside addresses of the log: in live rows, in searches and
 * in the busiest clients. In the main thread; made anew with each policy.
 */
import type { Config } from '../../contract/config.ts';
import type { QueryEvent } from '../../contract/query-event.ts';
import { addressText } from '../../dns/address-text.ts';
import type { Network } from '../../engine/filter/engine-config.ts';
import { ClientNames, type ClientPlace } from '../../log/client-names.ts';
import type { NeighbourMap } from '../machine/neighbours.ts';
import { maskedBytes, parseClientId } from '../policy/client-id.ts';

const ADDRESS_BITS = 128;
/** Bits before an IPv4 address in its 16-byte form. RFC 4291 §2.5.5.2. */
const V4_OFFSET_BITS = 96;

export class NamedClients {
  readonly #places: readonly ClientPlace[];
  readonly #names: ClientNames;

  constructor(clients: Config['clients'], neighbours: NeighbourMap) {
    this.#places = placesOf(clients, neighbours);
    this.#names = new ClientNames(this.#places);
  }

  name<Row extends { readonly client: string }>(row: Row): Row & Pick<QueryEvent, 'clientName'> {
    return { ...row, clientName: this.#names.nameOf(row.client) };
  }

  /** What a search for part of a client's name needs; none when no name has the part. */
  placesFor(part: string): readonly ClientPlace[] | undefined {
    const text = part.trim().toLowerCase();
    if (text === '') return undefined;
    return this.#places.some(({ name }) => name.toLowerCase().includes(text))
      ? this.#places
      : undefined;
  }
}

/** Those that the settings name by address come first: they count more than a neighbour's. */
function placesOf(clients: Config['clients'], neighbours: NeighbourMap): ClientPlace[] {
  const named: ClientPlace[] = [];
  const met: ClientPlace[] = [];
  for (const { name, ids } of clients) {
    for (const id of ids.map(parseClientId)) {
      if (id?.kind === 'network') named.push(placeOf(id.network, name));
      if (id?.kind !== 'mac') continue;
      for (const bytes of neighbours.get(id.mac) ?? []) {
        met.push(placeOf({ bytes, bits: ADDRESS_BITS }, name));
      }
    }
  }
  return [...named, ...met];
}

function placeOf({ bytes, bits }: Network, name: string): ClientPlace {
  const address = addressText(maskedBytes(bytes, bits), 0);
  const isFour = address.includes('.') && bits >= V4_OFFSET_BITS;
  return { address, prefix: isFour ? bits - V4_OFFSET_BITS : bits, name };
}
