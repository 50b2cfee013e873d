/**
 * The servers that this machine was told to use, as upstreams: what "system" in the settings means.
 * Read by the data plane when it starts, and by the service every second.
 *
 * A resolver on loopback in /etc/resolv.conf is a stub (systemd-resolved, or Sluice itself), so the
 * servers behind it are looked for first; asking ourselves would be a loop.
 */
import { Resolver } from 'node:dns';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { AppError } from '../../contract/errors.ts';
import { isWildcard, parseListen, parseServer } from '../server-address.ts';
import type { Endpoint, PlainServer } from '../server-address.ts';
import { formatUpstream, isSecure, parseUpstream, upstreamKey } from '../upstream-address.ts';
import type { UpstreamServer } from '../upstream-address.ts';

/** Where the servers stand, in the order of trust; the later files know what is behind a stub. */
const RESOLV_FILES = [
  '/etc/resolv.conf',
  '/run/systemd/resolve/resolv.conf',
  '/run/NetworkManager/no-stub-resolv.conf',
];
/** Servers taken from the system. */
const SERVERS_MAX = 8;

/**
 * Reads the system's servers.
 *
 * @param own    addresses that Sluice listens on ("127.0.0.1:53"); never returned
 * @param files  for tests
 * @returns      at most SERVERS_MAX; empty when nothing usable is configured
 */
export function systemServers(
  own: readonly string[] = [],
  files: readonly string[] = RESOLV_FILES,
): PlainServer[] {
  const stubs: string[] = [];
  for (const file of files) {
    const addresses = nameservers(file);
    const beyond = addresses.filter((address) => !isLoopback(address));
    if (beyond.length > 0) return usable(beyond, own);
    stubs.push(...addresses);
  }
  return usable(process.platform === 'win32' ? windowsServers() : stubs, own);
}

/**
 * Reads upstreams from the settings, "system" replaced by the system's servers, each server once.
 *
 * @throws AppError CONFIG_INVALID naming the text that is no server, or is one of `own`
 */
export function expandServers(texts: readonly string[], own: readonly string[]): PlainServer[] {
  return expandUpstreams(texts, own).map((server) => {
    if (!isSecure(server)) return server;
    throw new AppError('CONFIG_INVALID', `"${formatUpstream(server)}" is not a plain DNS server`);
  });
}

/** As `expandServers`, for servers of every kind. */
export function expandUpstreams(
  texts: readonly string[],
  own: readonly string[],
): UpstreamServer[] {
  const servers = new Map<string, UpstreamServer>();
  for (const text of texts) {
    const found = text === 'system' ? systemServers(own) : [notOurselves(text, own)];
    for (const server of found) {
      const key = upstreamKey(server);
      if (!servers.has(key)) servers.set(key, server);
    }
  }
  return [...servers.values()];
}

/** An upstream that is our own listener would be asked by itself, without end. */
function notOurselves(text: string, own: readonly string[]): UpstreamServer {
  const server = parseUpstream(text);
  if (isSecure(server)) return server;
  const isOwn = own
    .map(parseListen)
    .some(({ address, port }) => address === server.address && port === server.port);
  if (!isOwn) return server;
  throw new AppError(
    'CONFIG_INVALID',
    `dns: the server "${text}" is Sluice itself, which listens there (dns.listen or --listen)`,
  );
}

function nameservers(file: string): string[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    // A file that is not there names no server; most machines have only the first.
    return [];
  }
  return [...text.matchAll(/^[ \t]*nameserver[ \t]+(\S+)/gm)].map((match) => match[1] ?? '');
}

function usable(addresses: readonly string[], own: readonly string[]): PlainServer[] {
  return addresses
    .filter((address) => isIP(address) > 0)
    .map(parseServer)
    .filter((server) => isAskable(server, own))
    .slice(0, SERVERS_MAX);
}

/**
 * Whether a server that the network named can be asked at all.
 *
 * @param own  addresses that Sluice listens on: asking those would be a loop
 */
export function isAskable(server: Endpoint, own: readonly string[]): boolean {
  return !needsZone(server.address) && !own.map(parseListen).some((one) => reaches(server, one));
}

/** Whether what is sent to a server arrives at a listener of our own. */
function reaches(server: Endpoint, listen: Endpoint): boolean {
  if (server.port !== listen.port) return false;
  if (server.address === listen.address) return true;
  if (!isWildcard(listen.address) || server.family !== listen.family) return false;
  return isLoopback(server.address) || isLocal(server.address);
}

function isLocal(address: string): boolean {
  const bare = address.split('%', 1)[0];
  return Object.values(networkInterfaces()).some((list) => {
    return list?.some((one) => one.address === bare) === true;
  });
}

/** A link-local address leads nowhere without the link. RFC 4007 §6. */
function needsZone(address: string): boolean {
  return /^fe[89ab]/i.test(address) && !address.includes('%');
}

/** As Windows says now; what node:dns holds for the whole program is from its start. */
function windowsServers(): string[] {
  return new Resolver().getServers();
}

function isLoopback(address: string): boolean {
  return address.startsWith('127.') || address === '::1';
}
