/**
 * Names of clients by the text of their address, as the log keeps it. The log on disk has addresses
 * only, so names are looked up when rows are read. Used in the main thread and the reader thread.
 *
 * The narrowest network decides. Networks of everybody (`0.0.0.0/0`, `::/0`) name nobody, and an
 * address that may have been shortened (x.x.x.0, or only its first 48 bits) gets no name.
 */
import { BlockList, isIP } from 'node:net';

/** Addresses with one name. Plain data, for a message to the reader thread. */
export interface ClientPlace {
  /** Canonical text (dns/address-text.ts). */
  readonly address: string;
  /** Bits of the address that count: of 32 for IPv4, of 128 for IPv6. */
  readonly prefix: number;
  readonly name: string;
}

/** Addresses whose names are remembered; then it begins anew. */
const KNOWN_MAX = 4_096;

interface NamedNetwork {
  readonly addresses: BlockList;
  /** Counted as in IPv6, so that both families sort alike. */
  readonly prefix: number;
  readonly name: string;
}

export class ClientNames {
  readonly #exact = new Map<string, string>();
  /** The longest prefix first. */
  readonly #networks: readonly NamedNetwork[];
  readonly #known = new Map<string, string>();

  /** Of two places with one network, the first counts. */
  constructor(places: readonly ClientPlace[]) {
    const networks: NamedNetwork[] = [];
    for (const place of places) {
      const { address, prefix, name } = place;
      if (prefix === 0) continue;
      if (prefix === bitsOf(address)) {
        if (!this.#exact.has(address)) this.#exact.set(address, name);
      } else {
        networks.push(networkOf(place));
      }
    }
    this.#networks = networks.sort((left, right) => right.prefix - left.prefix);
  }

  /** '' when nobody is called anything there. */
  nameOf(address: string): string {
    const known = this.#known.get(address);
    if (known !== undefined) return known;
    if (this.#known.size >= KNOWN_MAX) this.#known.clear();
    const name = mayBeShortened(address) ? '' : this.#find(address);
    this.#known.set(address, name);
    return name;
  }

  #find(address: string): string {
    const exact = this.#exact.get(address);
    if (exact !== undefined) return exact;
    const family = isIP(address) === 4 ? 'ipv4' : 'ipv6';
    return this.#networks.find(({ addresses }) => addresses.check(address, family))?.name ?? '';
  }
}

function networkOf({ address, prefix, name }: ClientPlace): NamedNetwork {
  const addresses = new BlockList();
  const isFour = isIP(address) === 4;
  addresses.addSubnet(address, prefix, isFour ? 'ipv4' : 'ipv6');
  return { addresses, prefix: isFour ? prefix + 96 : prefix, name };
}

function bitsOf(address: string): number {
  return isIP(address) === 4 ? 32 : 128;
}

/** As log/record.ts shortens: to /24, or to /48. Text of /48 has at most three groups before "::". */
function mayBeShortened(address: string): boolean {
  return isIP(address) === 4
    ? address.endsWith('.0')
    : /^(?:[0-9a-f]+(?::[0-9a-f]+){0,2})?::$/.test(address);
}
