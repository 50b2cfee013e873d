/**
 * What the machine has around it now: its addresses, the networks of its interfaces, and the servers
 * that the system was told to ask. Looked at every second by the service; holds no timer of its own.
 *
 * Reading beats watching here: a resolv.conf is replaced, renamed over, mounted over, or a link into a
 * folder that comes later, and some systems run out of watches. A look costs a tenth of a millisecond.
 */
import { networkInterfaces } from 'node:os';
import type { Network } from '../../engine/filter/engine-config.ts';
import { formatServer } from '../../net/server-address.ts';
import { systemServers } from '../../net/upstream/system-servers.ts';
import { localNetworks } from '../policy/local-networks.ts';

/** What has changed since the last look. */
export interface SurroundingsChange {
  readonly addresses: boolean;
  readonly networks: boolean;
  readonly servers: boolean;
}

export interface SurroundingsSources {
  /** Addresses and links of the machine, as text to be compared. */
  readonly addresses: () => string;
  readonly networks: () => readonly Network[];
  /** The system's servers; null when nobody is to look. */
  readonly servers: (own: readonly string[]) => readonly string[] | null;
}

const SYSTEM: SurroundingsSources = {
  addresses: () => {
    try {
      return JSON.stringify(networkInterfaces());
    } catch {
      return ''; // some sandboxes forbid looking
    }
  },
  networks: localNetworks,
  servers: (own) => systemServers(own).map(formatServer),
};

export class Surroundings {
  readonly #sources: SurroundingsSources;
  #addresses: string;
  #networks: readonly Network[];
  #servers: readonly string[] | null;

  /** @param own  addresses that Sluice listens on; never among `servers` */
  constructor(own: readonly string[], sources = SYSTEM) {
    this.#sources = sources;
    this.#addresses = sources.addresses();
    this.#networks = sources.networks();
    this.#servers = sources.servers(own);
  }

  /** The networks of the machine's interfaces. */
  get networks(): readonly Network[] {
    return this.#networks;
  }

  /** The system's servers; those of before while it names none. Null: not to be looked at. */
  get servers(): readonly string[] | null {
    return this.#servers;
  }

  look(own: readonly string[]): SurroundingsChange {
    const addresses = this.#sources.addresses();
    const haveAddresses = addresses !== this.#addresses;
    this.#addresses = addresses;
    const networks = this.#sources.networks();
    const haveNetworks = networksText(networks) !== networksText(this.#networks);
    if (haveNetworks) this.#networks = networks;
    // A file that is being written is empty for a moment, and one without a network stays so.
    const servers = this.#sources.servers(own);
    const isNamed = servers !== null && servers.length > 0;
    const haveServers = isNamed && servers.join() !== this.#servers?.join();
    if (haveServers) this.#servers = servers;
    return { addresses: haveAddresses, networks: haveNetworks, servers: haveServers };
  }
}

function networksText(networks: readonly Network[]): string {
  return networks.map(({ bytes, bits }) => `${bytes.join('.')}/${String(bits)}`).join();
}
