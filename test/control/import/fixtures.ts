/**
 * Files as the other programs write them: their schemas and layouts, with content made here.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';

/** Tables of gravity.db, version 19 of its schema, as far as settings lie in them. */
const GRAVITY_SCHEMA = `
  CREATE TABLE "group" (id INTEGER PRIMARY KEY AUTOINCREMENT, enabled BOOLEAN NOT NULL DEFAULT 1,
    name TEXT UNIQUE NOT NULL, date_added INTEGER NOT NULL DEFAULT 0,
    date_modified INTEGER NOT NULL DEFAULT 0, description TEXT);
  CREATE TABLE domainlist (id INTEGER PRIMARY KEY AUTOINCREMENT, type INTEGER NOT NULL DEFAULT 0,
    domain TEXT NOT NULL, enabled BOOLEAN NOT NULL DEFAULT 1, date_added INTEGER NOT NULL DEFAULT 0,
    date_modified INTEGER NOT NULL DEFAULT 0, comment TEXT, UNIQUE(domain, type));
  CREATE TABLE adlist (id INTEGER PRIMARY KEY AUTOINCREMENT, address TEXT NOT NULL,
    enabled BOOLEAN NOT NULL DEFAULT 1, date_added INTEGER NOT NULL DEFAULT 0,
    date_modified INTEGER NOT NULL DEFAULT 0, comment TEXT, date_updated INTEGER,
    number INTEGER NOT NULL DEFAULT 0, invalid_domains INTEGER NOT NULL DEFAULT 0,
    status INTEGER NOT NULL DEFAULT 0, abp_entries INTEGER NOT NULL DEFAULT 0,
    type INTEGER NOT NULL DEFAULT 0, UNIQUE(address, type));
  CREATE TABLE client (id INTEGER PRIMARY KEY AUTOINCREMENT, ip TEXT NOT NULL UNIQUE,
    date_added INTEGER NOT NULL DEFAULT 0, date_modified INTEGER NOT NULL DEFAULT 0, comment TEXT);
  CREATE TABLE adlist_by_group (adlist_id INTEGER NOT NULL, group_id INTEGER NOT NULL,
    PRIMARY KEY (adlist_id, group_id));
  CREATE TABLE domainlist_by_group (domainlist_id INTEGER NOT NULL, group_id INTEGER NOT NULL,
    PRIMARY KEY (domainlist_id, group_id));
  CREATE TABLE client_by_group (client_id INTEGER NOT NULL, group_id INTEGER NOT NULL,
    PRIMARY KEY (client_id, group_id));
  CREATE TABLE gravity (domain TEXT NOT NULL, adlist_id INTEGER NOT NULL);
  CREATE TABLE info (property TEXT PRIMARY KEY, value TEXT NOT NULL);
  INSERT INTO info VALUES ('version', '19');
`;

const GRAVITY_ROWS = `
  INSERT INTO "group" (id, enabled, name) VALUES
    (0, 1, 'Default'), (1, 1, 'Children'), (2, 0, 'Unused'), (3, 1, 'Guests');
  INSERT INTO adlist (id, address, enabled, comment, type) VALUES
    (1, 'https://lists.example/ads.txt', 1, 'Ads', 0),
    (2, 'https://lists.example/games.txt', 1, '', 0),
    (3, 'https://lists.example/old.txt', 0, NULL, 0),
    (4, 'https://lists.example/allowed.txt', 1, NULL, 1),
    (5, 'ftp://lists.example/other.txt', 1, NULL, 0);
  INSERT INTO adlist_by_group VALUES (1, 0), (1, 1), (2, 1), (3, 0), (4, 0), (5, 0);
  INSERT INTO domainlist (id, type, domain, enabled) VALUES
    (1, 0, 'good.example', 1), (2, 1, 'bad.example', 1), (3, 2, '^ok[0-9]+\\.example$', 1),
    (4, 3, '(\\.|^)tracker\\.example$', 1), (5, 3, '^ads\\.;querytype=A', 1),
    (6, 1, 'off.example', 0), (7, 1, 'play.example', 1), (8, 3, 'x;invert', 1);
  INSERT INTO domainlist_by_group VALUES (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0), (7, 1),
    (8, 0);
  INSERT INTO client (id, ip, comment) VALUES
    (1, '192.168.1.20', 'Tablet'), (2, 'AA:BB:CC:DD:EE:FF', NULL), (3, 'laptop.lan', NULL),
    (4, '192.168.2.0/24', 'Guest net'), (5, '192.168.1.9', 'Plain');
  INSERT INTO client_by_group VALUES (1, 1), (2, 0), (2, 1), (3, 0), (4, 3), (5, 0);
`;

/** A gravity.db. @param sql  in place of the usual rows */
export async function gravityDatabase(sql = GRAVITY_SCHEMA + GRAVITY_ROWS): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-test-'));
  try {
    const path = join(folder, 'gravity.db');
    const database = new Sqlite(path);
    database.exec(sql);
    // As a copy taken while Pi-hole is running: marked as one with a write-ahead log.
    database.pragma('journal_mode = WAL');
    database.close();
    return await readFile(path);
  } finally {
    await rm(folder, { recursive: true });
  }
}

export const PIHOLE_TOML = `
# Pi-hole configuration file (v6.0)
[dns]
  upstreams = ["9.9.9.9", "127.0.0.1#5335", "2620:fe::fe"]
  hosts = ["192.168.1.2 nas.lan nas", "fd00::2 nas.lan"]
  cnameRecords = ["files.lan,nas.lan", "short.lan,nas.lan,60"]
  revServers = ["true,192.168.1.0/24,192.168.1.1#53,lan", "false,10.0.0.0/8,10.0.0.1,corp"]
[dhcp]
  active = true
[misc]
  dnsmasq_lines = ["address=/x.example/0.0.0.0"]
`;

export const ADGUARD_HOME = `
http:
  address: 0.0.0.0:80
users:
  - name: admin
    password: $2a$10$abcdefghijklmnopqrstuv
dns:
  upstream_dns:
    - "# a comment"
    - https://dns.quad9.net/dns-query
    - tls://1.1.1.1
    - quic://dns.adguard.example
    - '[/corp.example/lan/]10.0.0.53 10.0.0.54'
    - '[/public.corp.example/]#'
  bootstrap_dns:
    - 9.9.9.10
    - 149.112.112.10
  fallback_dns:
    - 8.8.8.8
  allowed_clients: []
filters:
  - enabled: true
    url: https://lists.example/ads.txt
    name: Ads
    id: 1
  - enabled: false
    url: https://lists.example/off.txt
    name: Ads
    id: 2
whitelist_filters:
  - enabled: true
    url: https://lists.example/allowed.txt
    name: Allowed
    id: 3
user_rules:
  - '! my rules'
  - '||bad.example^'
  - '@@||good.example^'
  - 'news.example##.banner'
  - '0.0.0.0 host.example host2.example # two'
  - '192.0.2.7 answer.example'
filtering:
  blocking_mode: nxdomain
  rewrites:
    - domain: nas.lan
      answer: 192.168.1.2
      enabled: true
    - domain: '*.nas.lan'
      answer: nas.lan
    - domain: public.nas.lan
      answer: A
  blocked_services:
    schedule:
      time_zone: Local
      sun: { start: 0s, end: 24h }
    ids:
      - youtube
      - no_such_service
  safe_search:
    enabled: true
    bing: true
    duckduckgo: false
    google: true
    pixabay: true
    yandex: false
    youtube: true
  parental_enabled: true
  safebrowsing_enabled: false
clients:
  persistent:
    - name: Tablet
      ids: ["192.168.1.20", "tablet-id", "aa-bb-cc-dd-ee-ff"]
      tags: [user_child, device_tablet]
      use_global_settings: false
      filtering_enabled: true
      safe_search:
        enabled: true
        google: true
        bing: false
      use_global_blocked_services: false
      blocked_services:
        ids: [tiktok]
      upstreams: ["https://family.example/dns-query"]
    - name: Desk
      ids: ["192.168.1.21"]
      use_global_settings: true
      use_global_blocked_services: true
schema_version: 29
`;

export const BLOCKY = `
upstreams:
  groups:
    default:
      - tcp+udp:9.9.9.9
      - tcp-tls:dns.quad9.net:853
      - https://dns.quad9.net/dns-query
    laptop*:
      - 1.1.1.1
customDNS:
  customTTL: 1h
  rewrite:
    example.com: printer.lan
  mapping:
    printer.lan: 192.168.178.3
    otherdevice.lan: 192.168.178.15,2001:db8::15
conditional:
  mapping:
    fritz.box: 192.168.178.1
    lan.net: 192.168.178.1,192.168.178.2
    .: 192.168.178.1
blocking:
  denylists:
    ads:
      - https://lists.example/ads.txt
      - https://lists.example/more.txt
      - |
        # inline
        someadsdomain.example
        *.wild.example
        /^ad[0-9]+\\.example$/
    kids:
      - https://lists.example/kids.txt
  allowlists:
    ads:
      - https://lists.example/allowed.txt
      - |
        fine.example
  clientGroupsBlock:
    default: [ads]
    kid-laptop*: [ads, kids]
    192.168.178.32: [ads, kids]
bootstrapDns:
  - upstream: tcp+udp:1.1.1.1
caching:
  minTime: 5m
ports:
  dns: 53
`;

export const UBLOCK = JSON.stringify({
  timeStamp: 1_700_000_000_000,
  version: '1.60.0',
  userSettings: { importedLists: ['https://lists.example/mine.txt'] },
  selectedFilterLists: [
    'user-filters',
    'ublock-filters',
    'easylist',
    'https://lists.example/mine.txt',
  ],
  whitelist: ['chrome-extension-scheme', 'shop.example'],
  dynamicFilteringString: 'behind-the-scene * * noop',
  userFilters: '! mine\n||bad.example^\nnews.example##.banner\n@@||good.example^',
});
