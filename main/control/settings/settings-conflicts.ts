/**
 * What the schema of the settings cannot say: numbers inside addresses, names used twice, rules
 * that do not parse, limits the wrong way round. Called by control/settings/settings-text.ts.
 */
import { networkInterfaces } from 'node:os';
import type { Config, ListSource } from '../../contract/config.ts';
import { AppError } from '../../contract/errors.ts';
import { LOCAL_NETWORKS } from '../../contract/filter-words.ts';
import { LIMITS } from '../../contract/limits.ts';
import { quote, type Finding } from '../../contract/schema-text.ts';
import { writeName } from '../../dns/name.ts';
import {
  formatEndpoint,
  isLoopbackAddress,
  parseListen,
  parseServer,
} from '../../net/server-address.ts';
import type { Endpoint } from '../../net/server-address.ts';
import { isSecure, parseUpstream } from '../../net/upstream-address.ts';
import { normalSuffix } from '../../net/upstream/plan.ts';
import { filterConflict, rulesConflict } from './filter-conflicts.ts';
import { parseNetwork } from '../policy/networks.ts';

/** The first conflict in settings that pass the schema; undefined when there is none. */
export function settingsConflict(config: Config): Finding | undefined {
  return (
    addressConflict(config) ??
    plainHttpConflict(config) ??
    networkConflict(config) ??
    nameConflict(config) ??
    cacheConflict(config) ??
    listConflict(config) ??
    rulesConflict(['rules'], config.rules) ??
    filterConflict(config)
  );
}

/** Why a list source cannot be used; undefined when it can. The path is below the source. */
export function sourceConflict(source: ListSource): Finding | undefined {
  if (source.name.toLowerCase() === 'rules') {
    return bad(['name'], source.name, 'another name, this one means your own rules');
  }
  if (/[\p{Cc}]/u.test(source.name)) {
    return bad(['name'], source.name, 'a name without control characters');
  }
  if (source.url.startsWith('builtin:')) {
    if (source.url === 'builtin:starter') return undefined;
    return bad(['url'], source.url, 'builtin:starter, the only built-in list');
  }
  const url = URL.canParse(source.url) ? new URL(source.url) : undefined;
  if (!url) return bad(['url'], source.url, 'a complete URL such as https://lists.example/a.txt');
  if (url.protocol === 'file:' && url.hostname !== '') {
    return bad(['url'], source.url, 'a file on this machine, file:///path');
  }
  return undefined;
}

/** What is sent unencrypted stays on this machine unless the owner says otherwise. */
function plainHttpConflict({ http }: Config): Finding | undefined {
  if (http.plain || isLoopbackAddress(parseListen(http.listen).address)) return undefined;
  return bad(
    ['http', 'listen'],
    http.listen,
    'an address of this machine only, such as 127.0.0.1:8053, unless http.plain is true: ' +
      'others on the network would reach it, and nothing encrypts it',
  );
}

function addressConflict(config: Config): Finding | undefined {
  const { listen, upstreams, bootstrap } = config.dns;
  const places: [(string | number)[], string][] = [
    ...listen.map((text, index): [(string | number)[], string] => [['dns', 'listen', index], text]),
    [['http', 'listen'], config.http.listen],
  ];
  for (const [path, text] of places) {
    if (endpoint(() => parseListen(text)) === undefined) {
      return bad(path, text, 'an IP address and a port, such as 127.0.0.1:53 or "[::1]:53"');
    }
  }
  for (const [index, text] of listen.entries()) {
    if (listen.indexOf(text) !== index) return bad(['dns', 'listen', index], text, 'it only once');
  }
  return (
    upstreamConflict(['dns', 'upstreams'], upstreams, listen) ??
    suffixConflict(config) ??
    serverConflict(bootstrap, listen)
  );
}

/** The first server in a list that cannot be used. */
function upstreamConflict(
  path: readonly string[],
  servers: readonly string[],
  listen: readonly string[],
): Finding | undefined {
  for (const [index, text] of servers.entries()) {
    if (text === 'system') continue;
    const at = [...path, index];
    try {
      const server = parseUpstream(text);
      const address = isSecure(server) ? '' : formatEndpoint(server.address, server.port);
      if (listen.some((own) => reaches(address, own))) {
        return bad(at, text, 'another server, this is the address Sluice itself listens on');
      }
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return /^(tls|https|sdns):/i.test(text)
        ? { path: at, unknownKey: false, text: error.message }
        : bad(at, text, 'an IP address such as 9.9.9.9, 9.9.9.9:53 or [2620:fe::fe]:53');
    }
  }
  return undefined;
}

function suffixConflict({ dns }: Config): Finding | undefined {
  const seen = new Set<string>();
  for (const [suffix, servers] of Object.entries(dns.suffixes)) {
    const path = ['dns', 'suffixes', suffix];
    if (seen.has(normalSuffix(suffix))) return bad(path, suffix, 'each suffix once');
    seen.add(normalSuffix(suffix));
    const conflict = upstreamConflict(path, servers, dns.listen);
    if (conflict) return conflict;
  }
  return undefined;
}

function serverConflict(
  servers: readonly string[],
  listen: readonly string[],
): Finding | undefined {
  for (const [index, text] of servers.entries()) {
    const path = ['dns', 'bootstrap', index];
    if (text === 'system') continue;
    const server = endpoint(() => parseServer(text));
    if (!server) {
      return bad(path, text, 'an IP address such as 9.9.9.9, 9.9.9.9:53 or [2620:fe::fe]:53');
    }
    if (listen.some((own) => reaches(server, own))) {
      return bad(path, text, 'another server, this is the address Sluice itself listens on');
    }
  }
  return undefined;
}

/** "address:port" as `formatEndpoint` writes it; undefined when the text is no such thing. */
function endpoint(read: () => Endpoint): string | undefined {
  try {
    const { address, port } = read();
    return formatEndpoint(address, port);
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

/** Whether a query sent to `server` arrives at our own listener `own`. */
function reaches(server: string, own: string): boolean {
  if (server === own) return true;
  const any = /^(0\.0\.0\.0|\[::\])(:\d+)$/.exec(own);
  const asked = /^(.*)(:\d+)$/.exec(server);
  if (any === null || asked === null || any[2] !== asked[2]) return false;
  const address = asked[1] ?? '';
  return /^(127\.[\d.]+|\[::1\])$/.test(address) || ownAddresses().includes(address);
}

/** Addresses that this machine has now, IPv6 ones in brackets. */
function ownAddresses(): string[] {
  return Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .map(({ address, family }) => (family === 'IPv6' ? `[${address}]` : address));
}

function networkConflict({ dns, limits }: Config): Finding | undefined {
  const places: [(string | number)[], readonly string[]][] = [
    [['dns', 'allow'], dns.allow],
    [['limits', 'exempt'], limits.exempt],
  ];
  for (const [path, texts] of places) {
    const index = texts.findIndex((text) => {
      return text !== LOCAL_NETWORKS && parseNetwork(text) === undefined;
    });
    if (index < 0) continue;
    return bad([...path, index], texts[index], 'a network such as 192.168.0.0/16 or fd00::/8');
  }
  return undefined;
}

function nameConflict({ cache, rebinding }: Config): Finding | undefined {
  const places: [(string | number)[], readonly string[]][] = [
    [['cache', 'staleOff'], cache.staleOff],
    [['rebinding', 'allow'], rebinding.allow],
  ];
  const scratch = new Uint8Array(LIMITS.nameBytesMax);
  for (const [path, texts] of places) {
    const index = texts.findIndex((text) => writeName(text, scratch, 0) <= 0);
    if (index < 0) continue;
    return bad([...path, index], texts[index], 'a domain name such as home.example');
  }
  return undefined;
}

function cacheConflict({ cache }: Config): Finding | undefined {
  if (cache.ttlMinSeconds <= cache.ttlMaxSeconds) return undefined;
  const allowed = `at most cache.ttlMaxSeconds, which is ${String(cache.ttlMaxSeconds)}`;
  return bad(['cache', 'ttlMinSeconds'], cache.ttlMinSeconds, allowed);
}

function listConflict({ lists }: Config): Finding | undefined {
  const names = new Set<string>();
  for (const [index, source] of lists.entries()) {
    if (names.has(source.name)) {
      return bad(['lists', index, 'name'], source.name, 'a name that no other list has');
    }
    names.add(source.name);
    const conflict = sourceConflict(source);
    if (conflict) return { ...conflict, path: ['lists', index, ...conflict.path] };
  }
  return undefined;
}

function bad(path: readonly (string | number)[], value: unknown, allowed: string): Finding {
  return { path, unknownKey: false, text: `${quote(value)} is not allowed, write ${allowed}` };
}
