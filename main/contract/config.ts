/**
 * The settings file `sluice.yaml`: every key with default, bounds and unit, as one schema.
 *
 * Read by the config store (control/settings/config-store.ts), which turns a failed check into one line
 * naming the key, the value and what is allowed. The engine never sees a Config.
 */
import { z } from 'zod';
import {
  bypassSchema,
  clientSchema,
  groupSchema,
  policySchema,
  recordSchema,
  safeSearchSchema,
  serviceIds,
} from './filter-config.ts';
import { LOCAL_NETWORKS } from './filter-words.ts';
import { LIMITS } from './limits.ts';

// Compiling the schemas takes ten times as long as the one check that a start makes with them.
z.config({ jitless: true });

/** "address:port" with IPv6 in brackets: 127.0.0.1:53, [::1]:53, [fe80::1%eth0]:53. */
const listenAddress = z
  .string()
  .regex(/^(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-fA-F:.]+(%[^\]\s]{1,64})?\]):\d{1,5}$/, {
    error: 'an address and a port, such as 127.0.0.1:53 or "[::1]:53"',
  })
  .refine((text) => Number(text.slice(text.lastIndexOf(':') + 1)) <= 65_535, {
    error: 'a port from 0 to 65535',
  });

/** A plain server: an IP address, optionally with a port; or "system" for the machine's own. */
const plainServer = z
  .string()
  .regex(
    /^(system|(udp:\/\/|tcp:\/\/)?(\d{1,3}(\.\d{1,3}){3}(:\d{1,5})?|\[[0-9a-fA-F:.]+(%[^\]\s]{1,64})?\](:\d{1,5})?|[0-9a-fA-F]*:[0-9a-fA-F:.]+(%[^\]\s]{1,64})?))$/,
    {
      error: 'an IP address such as 9.9.9.9, 9.9.9.9:53 or [2620:fe::fe]:53, or "system"',
    },
  );

/** Any upstream: a plain server, tls://, https:// or an sdns:// stamp. */
const upstream = z
  .string()
  .max(4_096)
  .refine(
    (text) => plainServer.safeParse(text).success || /^(tls|https|sdns):\/\/\S+$/.test(text),
    {
      error:
        'an IP address such as 9.9.9.9, 9.9.9.9:53 or [2620:fe::fe]:53, tls://dns.quad9.net, ' +
        'https://dns.quad9.net/dns-query, an sdns:// stamp, or "system"',
    },
  );

/** A domain name without escapes: corp.example, 168.192.in-addr.arpa. */
const domainName = z
  .string()
  .max(254)
  .regex(/^([A-Za-z0-9_-]{1,63}\.)*[A-Za-z0-9_-]{1,63}\.?$/, {
    error: 'a domain name such as corp.example or 168.192.in-addr.arpa',
  });

const NETWORK = /^(\d{1,3}(\.\d{1,3}){3}(\/\d{1,2})?|[0-9a-fA-F]*:[0-9a-fA-F:.]*(\/\d{1,3})?)$/;

/** An address with a prefix length, 192.168.0.0/16 or fd00::/8; or one address. */
const network = z
  .string()
  .regex(NETWORK, { error: 'a network such as 192.168.0.0/16 or fd00::/8' });

/** A network, or "localnets" for those that this machine has an interface on. */
const clientNetwork = z.string().refine((text) => text === LOCAL_NETWORKS || NETWORK.test(text), {
  error: `a network such as 192.168.0.0/16 or fd00::/8, or ${LOCAL_NETWORKS}`,
});

/** A name; what lies below it is meant too. */
const suffix = z
  .string()
  .min(1)
  .max(254)
  .regex(/^[^\s/*]+$/, { error: 'a domain name such as home.example' });

/** A host name as a browser writes it, without scheme and port. */
const httpHost = z
  .string()
  .max(253)
  .regex(/^(?=.*[A-Za-z])([A-Za-z0-9_-]{1,63}\.)*[A-Za-z0-9_-]{1,63}$/, {
    error: 'a host name such as dns.home.example, without http:// and port',
  });

const listSource = z.strictObject({
  /** Shown to people and kept in the log; unique. */
  name: z.string().min(1).max(64),
  /** https://, http://, file:///, or builtin:starter. */
  url: z.string().regex(/^(https?:\/\/|file:\/\/\/|builtin:)/, {
    error: 'a URL that begins with https://, http://, file:/// or builtin:',
  }),
  format: z
    .enum(['auto', 'hosts', 'domains', 'adblock', 'wildcard', 'dnsmasq', 'unbound', 'rpz', 'regex'])
    .default('auto'),
  /** Whether a plain name of a hosts, domains or wildcard list means what is below it, too. */
  match: z.enum(['subdomains', 'exact']).optional(),
  /** With allow, what the list would block is allowed. */
  action: z.enum(['block', 'allow']).optional(),
  /** Takes rules for whole top-level domains, public suffixes, and patterns for nearly all names. */
  allowWide: z.boolean().optional(),
  enabled: z.boolean().default(true),
});

export const configSchema = z.strictObject({
  dns: z
    .strictObject({
      listen: z.array(listenAddress).min(1).max(16).default(['127.0.0.1:53']),
      upstreams: z
        .array(upstream)
        .min(1)
        .max(16)
        .default(['https://dns.quad9.net/dns-query', 'tls://1.1.1.1', '9.9.9.9', 'system']),
      /** Which of the upstreams is asked first. */
      strategy: z.enum(['in-order', 'fastest', 'race', 'spread']).default('in-order'),
      /** Plain upstreams are asked in random letter case, which a forger would have to guess. */
      mixedCase: z.boolean().default(true),
      /** How long a client waits for the upstreams before SERVFAIL. */
      timeoutMs: z
        .int()
        .min(LIMITS.upstreamTimeoutMsMin)
        .max(LIMITS.upstreamTimeoutMsMax)
        .default(LIMITS.upstreamBudgetMs),
      /** Upstreams for a name and all names below it; the longest suffix wins. */
      suffixes: z
        .record(domainName, z.array(upstream).min(1).max(LIMITS.suffixServersMax))
        .refine((suffixes) => Object.keys(suffixes).length <= LIMITS.upstreamSuffixesMax, {
          error: `at most ${String(LIMITS.upstreamSuffixesMax)} suffixes`,
        })
        .default({}),
      bootstrap: z.array(plainServer).min(1).max(8).default(['9.9.9.9', '1.1.1.1', 'system']),
      /** Networks whose clients are answered; packets of all others are dropped silently. */
      allow: z
        .array(clientNetwork)
        .max(LIMITS.suffixesMax)
        .default([
          ...['127.0.0.0/8', '::1/128', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'],
          ...['169.254.0.0/16', '100.64.0.0/10', 'fc00::/7', 'fe80::/10', LOCAL_NETWORKS],
        ]),
      threads: z.int().min(1).max(LIMITS.threadsMax).default(1),
    })
    .prefault({}),
  blocking: z
    .strictObject({
      answer: z.enum(['null-address', 'nxdomain', 'nodata', 'refused']).default('null-address'),
      ttlSeconds: z.int().min(0).max(86_400).default(10),
    })
    .prefault({}),
  lists: z
    .array(listSource)
    .max(LIMITS.listsMax)
    .default([{ name: 'Starter', url: 'builtin:starter', format: 'auto', enabled: true }]),
  listRefreshHours: z
    .number()
    .min(0.0005)
    .max(24 * 30)
    .default(6),
  /** `||name^` blocks the name and everything below it; `@@||name^` allows it. */
  rules: z.array(z.string().min(1).max(512)).max(LIMITS.rulesMax).default([]),
  /** What is blocked, allowed or redirected, for whom and when. */
  policies: z.array(policySchema).max(LIMITS.policiesMax).default([]),
  clients: z.array(clientSchema).max(LIMITS.clientsMax).default([]),
  groups: z.array(groupSchema).max(LIMITS.groupsMax).default([]),
  /** Ids of the services that are blocked for everybody: `sluice services list`. */
  services: serviceIds.default([]),
  safeSearch: safeSearchSchema.prefault({}),
  bypass: bypassSchema.prefault({}),
  /** Answered here, before the filter, and never asked upstream. */
  records: z.array(recordSchema).max(LIMITS.recordsMax).default([]),
  cache: z
    .strictObject({
      entriesMax: z.int().min(0).max(1_000_000).default(20_000),
      ttlMinSeconds: z.int().min(0).max(86_400).default(0),
      ttlMaxSeconds: z.int().min(1).max(604_800).default(86_400),
      staleSecondsMax: z.int().min(0).max(259_200).default(3_600),
      /** Names, and all below them, that are never answered stale. */
      staleOff: z.array(suffix).max(LIMITS.suffixesMax).default([]),
      /** Popular answers are fetched anew shortly before they expire. */
      prefetch: z.boolean().default(true),
      /** Keeps the answers in a file over a restart. */
      persist: z.boolean().default(false),
    })
    .prefault({}),
  /** Private addresses in the answers for public names are left out. */
  rebinding: z
    .strictObject({
      enabled: z.boolean().default(true),
      /** Counts 100.64.0.0/10 (carriers, Tailscale) as private. */
      sharedSpace: z.boolean().default(false),
      /** Names, and all below them, that may have private addresses. */
      allow: z.array(suffix).max(LIMITS.suffixesMax).default(['plex.direct']),
    })
    .prefault({}),
  limits: z
    .strictObject({
      /** Of one IPv4 address or IPv6 /56, over UDP and TCP; bursts of twice as many pass. 0: none. */
      clientQueriesPerSecond: z.int().min(0).max(1_000_000).default(1_000),
      /** Networks without that limit. */
      exempt: z.array(network).max(LIMITS.suffixesMax).default(['127.0.0.0/8', '::1/128']),
    })
    .prefault({}),
  log: z
    .strictObject({
      mode: z.enum(['full', 'anonymous', 'off']).default('full'),
      retentionDays: z.number().min(0.01).max(3_650).default(30),
      sizeMaxMiB: z.number().min(1).max(1_048_576).default(512),
    })
    .prefault({}),
  /** Of the window and the desktop app; "auto" follows the browser or the system. */
  language: z.enum(['auto', 'en', 'de']).default('auto'),
  systemDns: z
    .strictObject({
      /** Takes the system's resolver over at start, and gives it back at the end. */
      takeOver: z.boolean().default(false),
    })
    .prefault({}),
  http: z
    .strictObject({
      listen: listenAddress.default('127.0.0.1:8053'),
      /** Lets `listen` be an address that others on the network reach, unencrypted. */
      plain: z.boolean().default(false),
      /** Names besides the machine's own under which the window is served. */
      hosts: z.array(httpHost).max(LIMITS.httpHostsMax).default([]),
    })
    .prefault({}),
});

export type Config = z.infer<typeof configSchema>;
export type ListSource = z.infer<typeof listSource>;
