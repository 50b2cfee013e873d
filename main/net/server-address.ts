/**
 * Addresses of servers and listeners as text: parsing, printing, and the machine's own servers.
 * Used by the service, the data plane and the bootstrap lookup; in any thread.
 */
import { isIP } from 'node:net';
import { AppError } from '../contract/errors.ts';

/** An IP address and a port. */
export interface Endpoint {
  /** A link-local IPv6 address has its zone with it, RFC 4007 §11: fe80::1%eth0. */
  readonly address: string;
  readonly port: number;
  readonly family: 4 | 6;
}

/** A server that speaks plain DNS. */
export interface PlainServer extends Endpoint {
  /** 'udp' goes over to TCP by itself for truncated answers; 'tcp' never uses UDP. */
  readonly transport: 'udp' | 'tcp';
}

const DNS_PORT = 53;

/**
 * Reads a plain server: 9.9.9.9, 9.9.9.9:5353, 2620:fe::fe, [2620:fe::fe]:53, [fe80::1%eth0], and any
 * of these behind udp:// or tcp://.
 *
 * @throws AppError CONFIG_INVALID naming the text
 */
export function parseServer(text: string): PlainServer {
  const scheme = /^(udp|tcp):\/\//.exec(text);
  const rest = scheme === null ? text : text.slice(scheme[0].length);
  const endpoint = isIP(rest) > 0 ? endpointOf(rest, DNS_PORT) : parseWithPort(rest, DNS_PORT);
  if (endpoint === null || endpoint.port === 0) {
    throw new AppError(
      'CONFIG_INVALID',
      `not a plain DNS server: "${text}"; write an address such as 9.9.9.9 or [2620:fe::fe]:53`,
    );
  }
  return { ...endpoint, transport: scheme?.[1] === 'tcp' ? 'tcp' : 'udp' };
}

/**
 * Reads an address to listen on: 127.0.0.1:53, [::1]:53, [fe80::1%eth0]:53. Port 0 lets the system
 * choose.
 *
 * @throws AppError CONFIG_INVALID naming the text
 */
export function parseListen(text: string): Endpoint {
  const endpoint = parseWithPort(text, null);
  if (endpoint === null) {
    throw new AppError(
      'CONFIG_INVALID',
      `not an address to listen on: "${text}"; write 127.0.0.1:53 or [::1]:53`,
    );
  }
  return endpoint;
}

/** Whether only programs of this machine reach an address. @param address  an IP address */
export function isLoopbackAddress(address: string): boolean {
  const plain = address.toLowerCase().replace(/^::ffff:(?=\d+\.)/, '');
  return plain === '::1' || plain.startsWith('127.');
}

export function isWildcard(address: string): boolean {
  return address === '0.0.0.0' || address === '::';
}

/** "127.0.0.1:53", "[::1]:53". */
export function formatEndpoint(address: string, port: number): string {
  return address.includes(':') ? `[${address}]:${String(port)}` : `${address}:${String(port)}`;
}

/** As `parseServer` reads it; udp, the ordinary case, is not written. */
export function formatServer(server: PlainServer): string {
  const endpoint = formatEndpoint(server.address, server.port);
  return server.transport === 'tcp' ? `tcp://${endpoint}` : endpoint;
}

/** @param portDefault  null when the port must be written */
function parseWithPort(text: string, portDefault: number | null): Endpoint | null {
  const bracketed = /^\[([^\]]+)\](?::(\d{1,5}))?$/.exec(text);
  const parts = bracketed ?? /^([\d.]+)(?::(\d{1,5}))?$/.exec(text);
  const address = parts?.[1];
  if (address === undefined || isIP(address) !== (bracketed === null ? 4 : 6)) return null;
  const port = parts?.[2] === undefined ? portDefault : Number(parts[2]);
  return port === null || port > 65_535 ? null : endpointOf(address, port);
}

function endpointOf(address: string, port: number): Endpoint {
  return { address, port, family: isIP(address) === 6 ? 6 : 4 };
}
