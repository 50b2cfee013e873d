/**
 * Upstream servers as text: plain ones (server-address.ts), tls://, https:// and sdns:// stamps.
 * Used by the settings check, the main thread's address book and the data plane; in any thread.
 *
 *     tls://dns.quad9.net              DNS over TLS, RFC 7858
 *     tls://9.9.9.9:853#name=dns.quad9.net&pin=sha256/BASE64
 *     https://dns.quad9.net/dns-query  DNS over HTTPS, RFC 8484; "#get" asks with GET
 *     sdns://…                         any of these as a stamp (dns-stamp.ts)
 *
 * Options behind "#", joined by "&": name= the name on the certificate, pin= the SHA-256 of its
 * public key (RFC 7858 §4.2), ip= an address to connect to, so that the name is never looked up.
 */
import { isIP } from 'node:net';
import { AppError } from '../contract/errors.ts';
import { decodeStamp } from './dns-stamp.ts';
import { isHost } from '../dns/host-name.ts';
import { formatEndpoint, formatServer, parseServer } from './server-address.ts';
import type { PlainServer } from './server-address.ts';

/** A server behind TLS. */
export interface SecureServer {
  readonly transport: 'tls' | 'https';
  /** A host name in lower case, or an IP address. */
  readonly host: string;
  readonly port: number;
  /** Addresses that were given; without any, `host` is looked up unless it is one. */
  readonly addresses: readonly string[];
  /** The name, or IP address, that the certificate must be for. RFC 8310 §8.1. */
  readonly certificateName: string;
  /** Base64 SHA-256 of public keys; when there are any, one must match and nothing else counts. */
  readonly pins: readonly string[];
  /** Hex SHA-256 of signed certificate bodies, of which the chain must hold one (stamps). */
  readonly chainHashes: readonly string[];
  /** Path of the HTTP resource; '' for tls. */
  readonly path: string;
  readonly method: 'POST' | 'GET';
}

/** Any upstream. */
export type UpstreamServer = PlainServer | SecureServer;

export const DOT_PORT = 853;
export const DOH_PORT = 443;
/** Addresses and pins of one server. */
const OPTIONS_MAX = 8;
const SECURE_URL =
  /^(tls|https):\/\/(\[[^\]/]+\]|[^:/#?[\]]+)(?::(\d{1,5}))?(\/[^#\s]*)?(?:#(.*))?$/;

/**
 * Reads one upstream. "system" is no server but a word for several (system-servers.ts).
 *
 * @throws AppError CONFIG_INVALID naming the text and what to write
 */
export function parseUpstream(text: string): UpstreamServer {
  if (/^sdns:\/\//i.test(text)) return decodeStamp(text);
  return /^(tls|https):\/\//i.test(text) ? parseSecure(text) : parseServer(text);
}

function parseSecure(text: string): SecureServer {
  const parts = SECURE_URL.exec(text.replace(/^\w+/, (scheme) => scheme.toLowerCase()));
  if (parts === null) throw invalid(text, 'write tls://dns.quad9.net or https://host/dns-query');
  const [, scheme = '', written = '', portText = '', path = '', options = ''] = parts;
  const transport = scheme as SecureServer['transport'];
  const host = hostOf(text, written);
  const { addresses, pins, name, isGet } = readOptions(text, transport, options);
  return {
    transport,
    host,
    port: portOf(text, transport, portText),
    addresses,
    certificateName: name === '' ? host : name,
    pins,
    chainHashes: [],
    path: pathOf(text, transport, path),
    method: isGet ? 'GET' : 'POST',
  };
}

/** The text for logs and lists: scheme, host, port unless it is the ordinary one, path. */
export function formatUpstream(server: UpstreamServer): string {
  if (!isSecure(server)) return formatServer(server);
  const { transport, host, port, path } = server;
  const endpoint = formatEndpoint(host, port);
  const shown = port === defaultPort(transport) ? endpoint.replace(/:\d+$/, '') : endpoint;
  return `${transport}://${shown}${path}`;
}

/** Equal for two settings exactly when they mean the same server, asked the same way. */
export function upstreamKey(server: UpstreamServer): string {
  if (!isSecure(server)) return formatServer(server);
  const { certificateName, pins, chainHashes, addresses, method } = server;
  const options = JSON.stringify([certificateName, pins, chainHashes, addresses, method]);
  return `${formatUpstream(server)} ${options}`;
}

export function isSecure(server: UpstreamServer): server is SecureServer {
  return server.transport === 'tls' || server.transport === 'https';
}

/** The name that has to be looked up before the server can be reached; '' for none. */
export function nameToResolve(server: UpstreamServer): string {
  if (!isSecure(server) || server.addresses.length > 0 || isIP(server.host) > 0) return '';
  return server.host;
}

interface Options {
  addresses: string[];
  pins: string[];
  name: string;
  isGet: boolean;
}

function readOptions(text: string, transport: string, options: string): Options {
  const read: Options = { addresses: [], pins: [], name: '', isGet: false };
  for (const option of options === '' ? [] : options.split('&')) {
    if (!takeOption(read, option, transport === 'https')) {
      throw invalid(text, `"${option}" is no option here; there are pin=, ip=, name= and get`);
    }
  }
  if (read.addresses.length > OPTIONS_MAX || read.pins.length > OPTIONS_MAX) {
    throw invalid(text, `at most ${String(OPTIONS_MAX)} of each option`);
  }
  return read;
}

function takeOption(read: Options, option: string, isHttps: boolean): boolean {
  const [key = '', ...rest] = option.split('=');
  const value = rest.join('=');
  switch (key) {
    case 'pin': {
      const pin = value.replace(/^sha256[/:]/, '');
      if (!/^[A-Za-z0-9+/]{43}=$/.test(pin)) return false;
      read.pins.push(pin);
      return true;
    }
    case 'ip': {
      const address = value.replace(/^\[(.*)\]$/, '$1');
      if (isIP(address) === 0) return false;
      read.addresses.push(address);
      return true;
    }
    case 'name':
      read.name = value.toLowerCase();
      return isHost(read.name);
    case 'get':
      read.isGet = isHttps;
      return isHttps && option === 'get';
    default:
      return false;
  }
}

function hostOf(text: string, written: string): string {
  const host = written.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  const isFit = written.startsWith('[') ? isIP(host) === 6 : isHost(host);
  if (!isFit) throw invalid(text, 'the host is neither a name nor an IP address');
  return host;
}

function portOf(text: string, transport: SecureServer['transport'], written: string): number {
  const port = written === '' ? defaultPort(transport) : Number(written);
  if (port < 1 || port > 65_535) throw invalid(text, 'a port is from 1 to 65535');
  return port;
}

/** RFC 8484 §4.1.1 writes a template; the variable is ours to fill in. */
function pathOf(text: string, transport: SecureServer['transport'], written: string): string {
  if (transport === 'https') {
    const plain = written.replace(/\{\?dns\}$/, '');
    return plain === '' ? '/dns-query' : plain;
  }
  if (written === '' || written === '/') return '';
  throw invalid(text, 'tls:// has no path; for DNS over HTTPS write https://');
}

function defaultPort(transport: SecureServer['transport']): number {
  return transport === 'tls' ? DOT_PORT : DOH_PORT;
}

function invalid(text: string, hint: string): AppError {
  return new AppError('CONFIG_INVALID', `not an upstream server: "${text}"; ${hint}`);
}
