/**
 * Keeps list downloads away from the machine itself and from private networks, whose services a
 * hostile list server could otherwise reach through redirects (server-side request forgery).
 *
 * The host that the user wrote into the URL is the user's choice: a literal address or localhost
 * anywhere, a name also in a private network, but a name that resolves to this machine or to
 * link-local services is refused. Every other host, as redirects name it, must be public: its
 * literal address, or each address it resolves to.
 */
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { AppError } from '../contract/errors.ts';

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

/**
 * Checks the literal address of a redirect target; names are checked by `guardLookup`.
 *
 * @throws AppError LIST_REJECTED
 */
export function guardTarget(target: URL, configured: URL): void {
  const host = hostOf(target);
  if (host === hostOf(configured)) return;
  if (isLocalhost(host) || (isIP(host) !== 0 && !isPublicAddress(host))) throw refusal(host, host);
}

/**
 * Wraps a lookup for one request of a list download: localhost is known without asking anybody
 * (RFC 6761 §6.3), and a host that is not the configured one must resolve to public addresses only.
 */
export function guardLookup(lookup: LookupFunction, configured: URL): LookupFunction {
  return (hostname, options, callback) => {
    if (isLocalhost(hostname)) {
      if (options.all === true) callback(null, LOOPBACK);
      else callback(null, '127.0.0.1', 4);
      return;
    }
    const isConfigured = hostname === hostOf(configured);
    const isWrong = (one: string): boolean =>
      isConfigured ? isIP(one) !== 0 && isIn(THIS_MACHINE, one) : !isPublicAddress(one);
    lookup(hostname, options, (error, address, family) => {
      const all = typeof address === 'string' ? [address] : address.map((entry) => entry.address);
      const wrong = error ? undefined : all.find(isWrong);
      if (wrong === undefined) callback(error, address, family);
      else callback(refusal(hostname, wrong), '', 0);
    });
  };
}

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
