/**
 * Keeps list downloads away from the machine itself and from private networks, whose services a
 * hostile list server could otherwise reach (server-side request forgery, DNS rebinding).
 *
 * The URL that the user wrote is the user's choice: a literal address or localhost anywhere, a name
 * also in a private network, but not one that resolves to this machine or to link-local services.
 * This holds for the first request only, and no longer once a copy of the list came from a public
 * address. Whatever a redirect names must be public, or be the very server that sent it, at the very
 * address of the first request. What is checked is what is connected to: addresses are looked up once
 * for each connection, and that of each response is looked at again.
 */
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { AppError } from '../../contract/errors.ts';

const NOT_PUBLIC = new BlockList();
/** IANA special-purpose registries (RFC 6890) and multicast: what a public server never has. */
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
] as const) {
  NOT_PUBLIC.addSubnet(network, prefix, 'ipv4');
}
/** Mapped addresses (::ffff:0:0/96) are compared with the IPv4 entries by BlockList itself. */
for (const [network, prefix] of [
  ['::', 127],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['2001::', 23],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 9],
  ['ff00::', 8],
] as const) {
  NOT_PUBLIC.addSubnet(network, prefix, 'ipv6');
}

const LOOPBACK = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

/** What only this machine or its link answers: loopback, unspecified, link-local. */
const THIS_MACHINE = new BlockList();
THIS_MACHINE.addSubnet('0.0.0.0', 8, 'ipv4');
THIS_MACHINE.addSubnet('127.0.0.0', 8, 'ipv4');
THIS_MACHINE.addSubnet('169.254.0.0', 16, 'ipv4');
THIS_MACHINE.addSubnet('::', 127, 'ipv6');
THIS_MACHINE.addSubnet('fe80::', 10, 'ipv6');

/** Whether an address is one that a public server can have. */
export function isPublicAddress(address: string): boolean {
  return isIP(address) !== 0 && !isIn(NOT_PUBLIC, address);
}

/** Host of a URL without the brackets of an IPv6 literal. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}

/** Decides about the addresses of one download, request by request. */
export class AddressGuard {
  readonly #configured: URL;
  readonly #publicOnly: boolean;
  readonly #isPublic: (address: string) => boolean;
  /** Where the first request went; '' before it is answered. */
  #firstAddress = '';
  #requests = 0;

  /**
   * @param publicOnly  a copy of this list came from a public address before
   * @param isPublic    another one, for tests
   */
  constructor(configured: URL, publicOnly: boolean, isPublic = isPublicAddress) {
    this.#configured = configured;
    this.#publicOnly = publicOnly;
    this.#isPublic = isPublic;
  }

  /** Whether the first request went to a public address. */
  get isFromPublic(): boolean {
    return this.#firstAddress !== '' && this.#isPublic(this.#firstAddress);
  }

  /**
   * A lookup for the next request, which the guard has to be asked for before each: localhost is
   * known without asking anybody (RFC 6761 §6.3), and every address has to be one that is allowed.
   *
   * @throws AppError LIST_REJECTED when the URL has a literal address that is not
   */
  nextLookup(url: URL, lookup: LookupFunction): LookupFunction {
    this.#requests++;
    const host = hostOf(url);
    if (isIP(host) !== 0 && !this.#allows(url, host)) throw refusal(host, host);
    if (this.#isBack(url)) return pinnedLookup(this.#firstAddress);
    return (hostname, options, callback) => {
      const check: Parameters<LookupFunction>[2] = (error, address, family) => {
        const all = typeof address === 'string' ? [address] : address.map((one) => one.address);
        const wrong = error ? undefined : all.find((one) => !this.#allows(url, one));
        if (wrong === undefined) callback(error, address, family);
        else callback(refusal(hostname, wrong), '', 0);
      };
      if (!isLocalhost(hostname)) lookup(hostname, options, check);
      else if (options.all === true) check(null, LOOPBACK);
      else check(null, '127.0.0.1', 4);
    };
  }

  /**
   * Takes note of the address that has answered.
   *
   * @throws AppError LIST_REJECTED when it is none that was allowed
   */
  answered(url: URL, address: string): void {
    if (!this.#allows(url, address)) throw refusal(hostOf(url), address);
    if (this.#requests === 1) this.#firstAddress = address;
  }

  /** Whether a redirect leads back to the server of the first request. */
  #isBack(url: URL): boolean {
    return this.#requests > 1 && url.origin === this.#configured.origin && !this.isFromPublic;
  }

  #allows(url: URL, address: string): boolean {
    if (isIP(address) === 0) return false;
    if (this.#isPublic(address)) return true;
    if (this.#requests > 1) return this.#isBack(url) && isSame(address, this.#firstAddress);
    const host = hostOf(url);
    if (isIP(host) !== 0 || isLocalhost(host)) return true;
    return !this.#publicOnly && !isIn(THIS_MACHINE, address);
  }
}

/** Always the same address. */
function pinnedLookup(address: string): LookupFunction {
  const family = isIP(address);
  return (_hostname, options, callback) => {
    if (options.all === true) callback(null, [{ address, family }]);
    else callback(null, address, family);
  };
}

function isSame(one: string, other: string): boolean {
  return one.replace(MAPPED, '') === other.replace(MAPPED, '');
}

/** What a socket of both families puts in front of an IPv4 address. */
const MAPPED = /^::ffff:(?=[\d.]+$)/i;

function isIn(list: BlockList, address: string): boolean {
  return list.check(address.replace(/%.*$/, ''), isIP(address) === 4 ? 'ipv4' : 'ipv6');
}

function isLocalhost(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost');
}

function refusal(host: string, address: string): AppError {
  return new AppError(
    'LIST_REJECTED',
    `${host}${host === address ? '' : ` (${address})`} refused: not a public address`,
  );
}
