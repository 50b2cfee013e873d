/**
 * After an import the settings mean what the file meant: who gets what, asked of an engine. Each row
 * has what is blocked ("-"), what passes ("+"), or what is answered, for a client.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createTarGzip } from 'nanotar';
import { strToU8, zipSync } from 'fflate';
import { gravityDatabase } from './fixtures.ts';
import { imported, type Imported } from './imported.ts';

function expect(found: Imported, rows: readonly [client: string, name: string, what: string][]) {
  const all = rows.map(([client, name]) => {
    const [asked = '', type = 'A'] = name.split(' ');
    return [client, name, found.ask(client, asked, type)];
  });
  assert.deepEqual(all, rows);
}

/** Whether something that is left out is named. */
function names(found: Imported, pattern: RegExp): void {
  assert.ok(
    found.left.some((line) => pattern.test(line)),
    `${String(pattern)} in\n${found.left.join('\n')}`,
  );
}

const serversOf = ({ config }: Imported) => ({ ...config.dns.suffixes });

describe('blocky', () => {
  test('lines of one group are for its clients alone', async () => {
    const found = await imported(
      `blocking:
  denylists:
    ads: [https://lists.example/ads.txt]
    special:
      - |
        only-special.example
        *.wild.example
  clientGroupsBlock:
    default: [ads]
    192.168.178.50: [ads, special]
`,
      {
        lists: {
          'https://lists.example/ads.txt':
            '0.0.0.0 ads.example\n0.0.0.0 b.example\n0.0.0.0 c.example\n',
        },
      },
    );
    expect(found, [
      ['192.168.178.50', 'only-special.example', 'blocked'],
      ['192.168.178.50', 'x.only-special.example', 'passed'],
      ['192.168.178.50', 'x.wild.example', 'blocked'],
      ['192.168.178.51', 'only-special.example', 'passed'],
      ['10.0.0.1', 'x.wild.example', 'passed'],
      ['192.168.178.50', 'ads.example', 'blocked'],
      ['10.0.0.1', 'ads.example', 'blocked'],
      // Lists of blocky mean their names alone.
      ['10.0.0.1', 'www.ads.example', 'passed'],
    ]);
  });

  test('a group with exceptions only lets nothing else through', async () => {
    const found = await imported(`blocking:
  denylists: { ads: ["bad.example\\nother.example"] }
  allowlists:
    kids: ["school.example\\n*.wiki.example"]
  clientGroupsBlock:
    default: [ads]
    192.168.178.60: [kids]
`);
    expect(found, [
      ['192.168.178.60', 'school.example', 'passed'],
      ['192.168.178.60', 'de.wiki.example', 'passed'],
      ['192.168.178.60', 'anything.example', 'blocked'],
      ['192.168.178.60', 'com', 'blocked'],
      ['192.168.178.61', 'anything.example', 'passed'],
      ['192.168.178.61', 'bad.example', 'blocked'],
    ]);
  });

  test('... and when its exceptions are lists, it is named', async () => {
    const found = await imported(`blocking:
  allowlists: { kids: [https://lists.example/school.txt] }
  clientGroupsBlock: { 192.168.178.60: [kids] }
`);
    names(found, /groups: kids: a group that lets nothing else through/);
  });

  test('a client in several networks has the groups of all of them', async () => {
    const found = await imported(`blocking:
  denylists: { a: ["a.example\\n#"], b: ["b.example\\n#"], c: ["c.example\\n#"], d: ["d.example\\n#"] }
  clientGroupsBlock:
    default: [d]
    192.168.0.0/16: [a]
    192.168.1.0/24: [b]
    192.168.1.5: [c]
    laptop*: [a]
    tv: [c]
clientLookup:
  clients: { laptop-1: [10.0.0.7] }
`);
    expect(found, [
      ...(['a', 'b', 'c'] as const).map(
        (group) => ['192.168.1.5', `${group}.example`, 'blocked'] as [string, string, string],
      ),
      ['192.168.1.5', 'd.example', 'passed'],
      ['192.168.1.6', 'b.example', 'blocked'],
      ['192.168.1.6', 'c.example', 'passed'],
      ['192.168.2.1', 'a.example', 'blocked'],
      ['192.168.2.1', 'b.example', 'passed'],
      ['10.0.0.7', 'a.example', 'blocked'],
      ['10.0.0.7', 'd.example', 'passed'],
      ['10.0.0.8', 'd.example', 'blocked'],
    ]);
    names(found, /clients: tv: clients are known by address/);
  });

  test('customDNS holds for names below, with its TTL', async () => {
    const found = await imported(`customDNS:
  customTTL: 1h
  rewrite: { home.example: lan }
  mapping:
    printer.lan: 192.168.1.5
    a.b.printer.lan: 192.168.1.6,fd00::6
  zone: |
    $ORIGIN zone.example.
    $TTL 10m
    www A 192.0.2.3
    @ 60 CNAME www
`);
    const printer = (name: string): string => `${name} A 3600 192.168.1.5`;
    expect(found, [
      ['10.0.0.1', 'printer.lan', printer('printer.lan')],
      ['10.0.0.1', 'my.printer.lan', printer('my.printer.lan')],
      ['10.0.0.1', 'deep.my.printer.lan', printer('deep.my.printer.lan')],
      ['10.0.0.1', 'a.b.printer.lan', 'a.b.printer.lan A 3600 192.168.1.6'],
      ['10.0.0.1', 'x.a.b.printer.lan', 'x.a.b.printer.lan A 3600 192.168.1.6'],
      ['10.0.0.1', 'b.printer.lan', printer('b.printer.lan')],
      ['10.0.0.1', 'c.b.printer.lan', printer('c.b.printer.lan')],
      ['10.0.0.1', 'printer.home.example', printer('printer.home.example')],
      ['10.0.0.1', 'printer.lan AAAA', 'local 0'],
      ['10.0.0.1', 'www.zone.example', 'www.zone.example A 600 192.0.2.3'],
      [
        '10.0.0.1',
        'zone.example',
        'zone.example CNAME 60 www.zone.example, www.zone.example A 600 192.0.2.3',
      ],
    ]);
  });

  test('strategy, types that are filtered, the answer for blocked names', async () => {
    const found = await imported(`upstreams:
  strategy: strict
  groups: { default: [tcp-tls:dns.quad9.net] }
filtering: { queryTypes: [AAAA] }
blocking:
  blockType: nxDomain
  blockTTL: 1m
conditional: { mapping: { fritz.box: 192.168.1.1 }, rewrite: { a.example: fritz.box } }
caching: { minTime: 5m }
`);
    assert.equal(found.config.dns.strategy, 'in-order');
    assert.deepEqual(found.config.blocking, { answer: 'nxdomain', ttlSeconds: 60 });
    assert.deepEqual(serversOf(found), { 'fritz.box': ['192.168.1.1'] });
    expect(found, [['10.0.0.1', 'www.example', 'passed']]);
    assert.notEqual(found.ask('10.0.0.1', 'www.example', 'AAAA'), 'passed');
    names(found, /upstreams: a\.example → fritz\.box/);
    names(found, /other: caching/);
  });
});

describe('Pi-hole', () => {
  const SETUP = `PIHOLE_DNS_1=9.9.9.9
REV_SERVER=true
REV_SERVER_CIDR=192.168.4.0/22
REV_SERVER_TARGET=192.168.4.1
REV_SERVER_DOMAIN=lan
`;
  const FOUR = Object.fromEntries(
    [4, 5, 6, 7].map((part) => [`${String(part)}.168.192.in-addr.arpa`, ['192.168.4.1']]),
  );

  test('5: conditional forwarding and own files of dnsmasq', async () => {
    const tar = await createTarGzip([
      { name: 'adlist.json', data: '[]' },
      { name: 'setupVars.conf', data: SETUP },
      {
        name: 'dnsmasq.d/99-own.conf',
        data: `# mine
address=/nas.lan/192.168.4.9 # box
address=/.dot.example/#
address=/*.below.example/0.0.0.0
address=/loop.example/127.0.0.1
server=/corp.example/10.0.0.53#5353
server=/public.corp.example/#
local=/intern.example/
host-record=host.lan,192.168.4.8,fd00::8,120
cname=alias.lan,host.lan
rev-server=fd00:1::/44,fd00::1
conf-dir=/etc/other
domain=lan
`,
      },
      { name: 'dnsmasq.d/01-pihole.conf', data: 'server=192.0.2.99\n' },
    ]);
    const found = await imported(tar);
    assert.deepEqual(found.config.dns.upstreams, ['9.9.9.9']);
    assert.deepEqual(serversOf(found), {
      ...FOUR,
      lan: ['192.168.4.1'],
      'corp.example': ['10.0.0.53:5353'],
      'public.corp.example': ['9.9.9.9'],
      '0.0.0.1.0.0.0.0.0.d.f.ip6.arpa': ['fd00::1'],
    });
    expect(found, [
      ['10.0.0.1', 'nas.lan', 'nas.lan A 300 192.168.4.9'],
      ['10.0.0.1', 'x.nas.lan', 'x.nas.lan A 300 192.168.4.9'],
      ['10.0.0.1', 'a.dot.example', 'blocked'],
      ['10.0.0.1', 'below.example', 'passed'],
      ['10.0.0.1', 'x.below.example', 'blocked'],
      ['10.0.0.1', 'loop.example', 'blocked'],
      ['10.0.0.1', 'x.intern.example', 'blocked'],
      ['10.0.0.1', 'host.lan', 'host.lan A 120 192.168.4.8'],
      ['10.0.0.1', 'alias.lan', 'alias.lan CNAME 300 host.lan, host.lan A 120 192.168.4.8'],
    ]);
    names(found, /other: conf-dir=\/etc\/other: other files are not read/);
    names(found, /domain has no equal here/);
  });

  test('5: setupVars.conf alone, also with the older names', async () => {
    assert.deepEqual(serversOf(await imported(SETUP)), { ...FOUR, lan: ['192.168.4.1'] });
    const older = await imported(`PIHOLE_DNS_1=9.9.9.9
CONDITIONAL_FORWARDING=true
CONDITIONAL_FORWARDING_IP=192.168.4.1
CONDITIONAL_FORWARDING_DOMAIN=lan
CONDITIONAL_FORWARDING_REVERSE=4.168.192.in-addr.arpa
`);
    assert.deepEqual(serversOf(older), {
      lan: ['192.168.4.1'],
      '4.168.192.in-addr.arpa': ['192.168.4.1'],
    });
    assert.deepEqual(serversOf(await imported(SETUP.replace('R=true', 'R=false'))), {});
  });

  test('6: reverse servers of any network', async () => {
    const toml = (line: string): string =>
      `[dns]\nupstreams = ["9.9.9.9"]\nrevServers = ["${line}"]\n`;
    const zones = async (network: string) =>
      Object.keys(serversOf(await imported(toml(`true,${network},192.168.4.1`))));
    assert.deepEqual(serversOf(await imported(toml('true,192.168.4.0/22,192.168.4.1,lan'))), {
      ...FOUR,
      lan: ['192.168.4.1'],
    });
    assert.deepEqual(await zones('192.168.4.7'), ['7.4.168.192.in-addr.arpa']);
    assert.deepEqual(await zones('10.0.0.0/8'), ['10.in-addr.arpa']);
    assert.deepEqual((await zones('172.16.0.0/12')).length, 16);
    assert.deepEqual(await zones('10.1.2.128/25'), [
      ...Array.from({ length: 128 }, (_, index) => `${String(128 + index)}.2.1.10.in-addr.arpa`),
    ]);
    assert.deepEqual(await zones('2001:db8::/32'), ['8.b.d.0.1.0.0.2.ip6.arpa']);
    assert.deepEqual(await zones('fc00::/7'), ['c.f.ip6.arpa', 'd.f.ip6.arpa']);
    const off = await imported(toml('false,10.0.0.0/8,10.0.0.1'));
    names(off, /upstreams: false,10\.0\.0\.0\/8,10\.0\.0\.1: it is switched off/);
    names(await imported(toml('true,nonsense,10.0.0.1')), /nonsense: it is no network/);
  });

  test('groups: each client gets what its groups have, and nothing of the others', async () => {
    const url = (name: string): string => `https://lists.example/${name}.txt`;
    const lists = {
      [url('ads')]: 'ads.example\nads2.example\n||sub.example^\n',
      [url('games')]: 'games.example\n',
      [url('allowed')]: 'ads2.example\n',
    };
    const zip = zipSync({
      'etc/pihole/gravity.db': await gravityDatabase(),
      'etc/hosts': strToU8(''),
    });
    const found = await imported(zip, { lists });
    const [tablet, guest, plain, stranger] = [
      '192.168.1.20',
      '192.168.2.5',
      '192.168.1.9',
      '10.0.0.1',
    ];
    expect(found, [
      [tablet, 'games.example', 'blocked'],
      [plain, 'games.example', 'passed'],
      [stranger, 'games.example', 'passed'],
      [tablet, 'play.example', 'blocked'],
      [tablet, 'x.play.example', 'passed'],
      [stranger, 'play.example', 'passed'],
      // Rules of group 0 are not those of the children.
      [tablet, 'bad.example', 'passed'],
      [plain, 'bad.example', 'blocked'],
      [stranger, 'bad.example', 'blocked'],
      [guest, 'bad.example', 'passed'],
      [guest, 'ads.example', 'passed'],
      [stranger, 'ads.example', 'blocked'],
      [stranger, 'www.ads.example', 'passed'],
      [stranger, 'ads2.example', 'passed'],
      [tablet, 'ads2.example', 'blocked'],
    ]);
    names(found, /rules: x;invert/);
  });
});

describe('AdGuard Home', () => {
  const HEAD = 'schema_version: 29\n';

  test('reverse servers, mode, AAAA, bogus answers', async () => {
    const found = await imported(`${HEAD}dns:
  upstream_dns: [9.9.9.9, "[/lan/]192.168.1.1", "[/*.sub.example/]10.0.0.1"]
  local_ptr_upstreams: [192.168.1.1]
  use_private_ptr_resolvers: true
  upstream_mode: parallel
  aaaa_disabled: true
  bogus_nxdomain: [192.0.2.1, 198.51.100.0/24]
  edns_client_subnet: { enabled: true }
  enable_dnssec: true
`);
    const suffixes = serversOf(found);
    assert.deepEqual(suffixes['168.192.in-addr.arpa'], ['192.168.1.1']);
    assert.deepEqual(suffixes['20.172.in-addr.arpa'], ['192.168.1.1']);
    assert.deepEqual(suffixes['d.f.ip6.arpa'], ['192.168.1.1']);
    assert.equal(found.config.dns.strategy, 'race');
    assert.ok(found.config.rules.includes('||192.0.2.1^'));
    expect(found, [
      ['10.0.0.1', 'www.example', 'passed'],
      ['10.0.0.1', 'www.example HTTPS', 'passed'],
    ]);
    assert.notEqual(found.ask('10.0.0.1', 'www.example', 'AAAA'), 'passed');
    names(found, /bogus_nxdomain: 198\.51\.100\.0\/24/);
    names(found, /edns_client_subnet/);
    names(found, /enable_dnssec/);
    names(found, /\*\.sub\.example/);
    const modes = ['load_balance', 'fastest_addr'].map((mode) =>
      imported(`${HEAD}dns: { upstream_dns: [9.9.9.9], upstream_mode: ${mode} }\n`),
    );
    const [spread, fastest] = await Promise.all(modes);
    assert.equal(spread?.config.dns.strategy, 'spread');
    names(fastest as Imported, /upstream_mode: fastest_addr/);
  });

  test('blocked services keep their hours', async () => {
    const content = `${HEAD}filtering:
  blocked_services:
    schedule:
      time_zone: UTC
      mon: { start: 16h, end: 18h30m }
    ids: [youtube]
clients:
  persistent:
    - { name: Desk, ids: [192.168.1.21], use_global_settings: true, use_global_blocked_services: true }
    - name: Tablet
      ids: [192.168.1.20]
      use_global_settings: true
      use_global_blocked_services: false
      blocked_services: { ids: [tiktok] }
`;
    const at = (day: number, hour: number, minute = 0) =>
      imported(content, { nowMs: Date.UTC(2026, 5, day, hour, minute) });
    // 2026-06-01 is a Monday.
    for (const [day, hour, minute, what] of [
      [1, 15, 59, 'blocked'],
      [1, 16, 0, 'passed'],
      [1, 18, 29, 'passed'],
      [1, 18, 30, 'blocked'],
      [2, 17, 0, 'blocked'],
    ] as const) {
      const found = await at(day, hour, minute);
      expect(found, [
        ['10.0.0.1', 'www.youtube.com', what],
        ['192.168.1.21', 'www.youtube.com', what],
        ['192.168.1.20', 'www.youtube.com', 'passed'],
        ['192.168.1.20', 'www.tiktok.com', 'blocked'],
        ['10.0.0.1', 'www.tiktok.com', 'passed'],
      ]);
    }
  });

  test('rules, rewrites and clients without filtering', async () => {
    const found = await imported(
      `${HEAD}user_rules:
  - bare.example
  - '||sub.example^'
  - '0.0.0.0 hosts.example'
  - '||kids.example^$client=Tablet'
filtering:
  rewrites:
    - { domain: '*.lan.example', answer: 192.168.1.2 }
    - { domain: own.lan.example, answer: 192.168.1.3 }
filters: [{ enabled: true, url: "https://lists.example/a.txt", name: A }]
clients:
  persistent:
    - { name: Tablet, ids: [192.168.1.20], use_global_settings: true, use_global_blocked_services: true }
    - name: Free
      ids: [192.168.1.22]
      use_global_settings: false
      filtering_enabled: false
      use_global_blocked_services: true
`,
      { lists: { 'https://lists.example/a.txt': 'plain.example\n||deep.example^\n' } },
    );
    expect(found, [
      ['10.0.0.1', 'bare.example', 'blocked'],
      ['10.0.0.1', 'www.bare.example', 'passed'],
      ['10.0.0.1', 'www.sub.example', 'blocked'],
      ['10.0.0.1', 'hosts.example', 'blocked'],
      ['192.168.1.20', 'kids.example', 'blocked'],
      ['10.0.0.1', 'kids.example', 'passed'],
      ['192.168.1.22', 'bare.example', 'passed'],
      ['192.168.1.22', 'plain.example', 'passed'],
      ['10.0.0.1', 'plain.example', 'blocked'],
      ['10.0.0.1', 'www.plain.example', 'passed'],
      ['10.0.0.1', 'www.deep.example', 'blocked'],
      ['10.0.0.1', 'x.own.lan.example', 'x.own.lan.example A 300 192.168.1.2'],
      ['10.0.0.1', 'own.lan.example', 'own.lan.example A 300 192.168.1.3'],
    ]);
  });
});

describe('other programs', () => {
  test('dnsmasq.conf', async () => {
    const found = await imported(`no-resolv
server=9.9.9.9
server=2620:fe::fe#5353
server=/lan/192.168.1.1
address=/ads.example/
address=/#/192.0.2.1
all-servers
dhcp-range=192.168.1.50,192.168.1.150,12h
mx-host=mail.lan,host.lan,10
txt-record=t.lan,"v=1, two"
ptr-record=9.1.168.192.in-addr.arpa,nas.lan
srv-host=_x._tcp.lan,host.lan,443
bogus-nxdomain=192.0.2.7
`);
    assert.deepEqual(found.config.dns.upstreams, ['9.9.9.9', '[2620:fe::fe]:5353']);
    assert.equal(found.config.dns.strategy, 'race');
    assert.deepEqual(serversOf(found), { lan: ['192.168.1.1'] });
    expect(found, [
      ['10.0.0.1', 'www.ads.example', 'blocked'],
      ['10.0.0.1', 'www.example', 'passed'],
      ['10.0.0.1', 'mail.lan MX', 'mail.lan MX 300 {"preference":10,"exchange":"host.lan"}'],
      ['10.0.0.1', '9.1.168.192.in-addr.arpa PTR', '9.1.168.192.in-addr.arpa PTR 300 nas.lan'],
    ]);
    assert.ok(found.config.records.some(({ type }) => type === 'SRV'));
    assert.ok(found.config.records.some(({ type }) => type === 'TXT'));
    names(found, /address=\/#\/192\.0\.2\.1: an answer for every name/);
    names(found, /dhcp-range.*DHCP/);
  });

  test('unbound.conf', async () => {
    const found = await imported(`server:
    interface: 0.0.0.0
    local-zone: "bad.example" always_nxdomain
    local-zone: "good.bad.example." transparent
    local-zone: "refused.example" refuse
    local-zone: "all.example" redirect
    local-data: "all.example A 192.0.2.5"
    local-data: 'nas.lan. 60 IN A 192.168.1.9'
    local-data: "null.example A 0.0.0.0"
    local-data-ptr: "192.168.1.9 nas.lan"
    local-zone: "odd.example" inform
    include: /etc/unbound/other.conf
forward-zone:
    name: "."
    forward-tls-upstream: yes
    forward-addr: 9.9.9.9@853#dns.quad9.net
forward-zone:
    name: "corp.example"   # work
    forward-addr: 10.0.0.53@5353
stub-zone:
    name: "lan"
    stub-addr: 192.168.1.1
view:
    name: "x"
`);
    assert.deepEqual(found.config.dns.upstreams, ['tls://9.9.9.9#name=dns.quad9.net']);
    assert.deepEqual(serversOf(found), {
      'corp.example': ['10.0.0.53:5353'],
      lan: ['192.168.1.1'],
    });
    expect(found, [
      ['10.0.0.1', 'x.bad.example', 'blocked'],
      ['10.0.0.1', 'x.good.bad.example', 'passed'],
      ['10.0.0.1', 'x.all.example', 'x.all.example A 3600 192.0.2.5'],
      ['10.0.0.1', 'nas.lan', 'nas.lan A 60 192.168.1.9'],
      ['10.0.0.1', 'null.example', 'blocked'],
      ['10.0.0.1', 'x.null.example', 'passed'],
      ['10.0.0.1', '9.1.168.192.in-addr.arpa PTR', '9.1.168.192.in-addr.arpa PTR 3600 nas.lan'],
      ['10.0.0.1', 'odd.example', 'passed'],
    ]);
    names(found, /odd\.example inform/);
    names(found, /include: .*other files are not read/);
    names(found, /other: view: this clause is not taken/);
  });

  test('name lists of dnscrypt-proxy', async () => {
    const blocked = await imported(
      `# patterns
=exact.example
suffix.example # comment
*.star.example
ads.*
*tracker*
ad[0-9].glob.example
youtube.com @time-to-sleep
`,
      { name: 'blocked-names.txt' },
    );
    expect(blocked, [
      ['10.0.0.1', 'exact.example', 'blocked'],
      ['10.0.0.1', 'x.exact.example', 'passed'],
      ['10.0.0.1', 'x.suffix.example', 'blocked'],
      ['10.0.0.1', 'star.example', 'blocked'],
      ['10.0.0.1', 'ads.some.example', 'blocked'],
      ['10.0.0.1', 'x.ads.some.example', 'passed'],
      ['10.0.0.1', 'my-tracker-1.example', 'blocked'],
      ['10.0.0.1', 'ad7.glob.example', 'blocked'],
      ['10.0.0.1', 'adx.glob.example', 'passed'],
      ['10.0.0.1', 'youtube.com', 'passed'],
    ]);
    names(blocked, /youtube\.com @time-to-sleep: its hours are in another file/);
    const allowed = await imported('=a.example\nb.example\n', { name: 'allowed-names.txt' });
    assert.deepEqual(allowed.config.rules, ['@@|a.example^', '@@||b.example^']);
    const cloaked = await imported(
      'www.google.example forcesafesearch.google.example\n=one.lan 192.168.1.1\nall.lan 192.168.1.2\n',
      { name: 'cloaking-rules.txt' },
    );
    expect(cloaked, [
      ['10.0.0.1', 'one.lan', 'one.lan A 300 192.168.1.1'],
      ['10.0.0.1', 'x.all.lan', 'x.all.lan A 300 192.168.1.2'],
    ]);
    const forwarded = await imported(
      'lan 192.168.1.1\nx.example 9.9.9.9:53,10.0.0.1:5353\nd $DHCP\n',
      {
        name: 'forwarding-rules.txt',
      },
    );
    assert.deepEqual(serversOf(forwarded), {
      lan: ['192.168.1.1'],
      'x.example': ['9.9.9.9', '10.0.0.1:5353'],
    });
    names(forwarded, /\$DHCP has no equal here/);
  });

  test('hosts files mean their names alone', async () => {
    const found = await imported('0.0.0.0 bad.example\n127.0.0.1 localhost\n192.168.1.2 nas.lan\n');
    expect(found, [
      ['10.0.0.1', 'bad.example', 'blocked'],
      ['10.0.0.1', 'www.bad.example', 'passed'],
      ['10.0.0.1', 'nas.lan', 'nas.lan A 300 192.168.1.2'],
    ]);
  });
});

describe('what was in the settings before', () => {
  const BEFORE = `lists:
  - { name: Mine, url: "https://lists.example/mine.txt", format: auto, enabled: true }
clients:
  - { name: Old, ids: [10.0.0.9] }
  - { name: Grouped, ids: [10.0.0.8], group: All }
groups:
  - { name: All }
`;
  const CONTENT = `blocking:
  denylists:
    ads: [https://lists.example/ads.txt]
    kids: [https://lists.example/kids.txt, "kids-line.example\\n#"]
  clientGroupsBlock: { default: [ads], 10.0.0.20: [kids] }
`;
  const lists = {
    'https://lists.example/mine.txt': 'mine.example\n',
    'https://lists.example/ads.txt': 'ads.example\n',
    'https://lists.example/kids.txt': 'kids.example\n',
  };

  test('what is for some clients does not come upon those that were there', async () => {
    const found = await imported(CONTENT, { before: BEFORE, lists });
    for (const client of ['10.0.0.9', '10.0.0.8', '10.0.0.77']) {
      expect(found, [
        [client, 'mine.example', 'blocked'],
        [client, 'ads.example', 'blocked'],
        [client, 'kids.example', 'passed'],
        [client, 'kids-line.example', 'passed'],
      ]);
    }
    expect(found, [
      ['10.0.0.20', 'kids.example', 'blocked'],
      ['10.0.0.20', 'kids-line.example', 'blocked'],
      ['10.0.0.20', 'ads.example', 'passed'],
    ]);
    const clients = found.plan.taken.find(({ section }) => section === 'clients');
    assert.ok(clients?.examples.includes('Old joins Default'), 'and the report tells');
  });

  test('without clients and groups, what is for some is left out', async () => {
    const found = await imported(CONTENT, { before: BEFORE, lists, only: ['lists', 'rules'] });
    expect(found, [
      ['10.0.0.20', 'kids.example', 'passed'],
      ['10.0.0.20', 'ads.example', 'blocked'],
    ]);
    names(found, /kids\.txt: it is for some clients only/);
  });

  test('a second import changes nothing; a group of the same name stays as it is', async () => {
    const once = await imported(CONTENT, { before: BEFORE, lists });
    const text = JSON.stringify(once.config);
    const twice = await imported(CONTENT, { before: text, lists });
    assert.deepEqual(twice.config, once.config);
    assert.ok(twice.plan.taken.every(({ count }) => count === 0));
    const other = await imported(CONTENT, {
      before: `${BEFORE}  - { name: kids, filtering: false }\n`,
      lists,
    });
    expect(other, [['10.0.0.20', 'kids.example', 'blocked']]);
  });

  test('clients and lists that are there already keep what they have, which is named', async () => {
    const before = `lists:
  - { name: Ads, url: "https://lists.example/ads.txt", format: auto, enabled: true }
clients:
  - { name: Tablet, ids: [10.0.0.20] }
  - { name: Other, ids: [10.0.0.21], group: Mine }
  - { name: 10.0.0.22, ids: [10.0.0.99] }
groups:
  - { name: Mine, filtering: false }
`;
    const content = CONTENT.replace(
      '10.0.0.20: [kids]',
      '10.0.0.20: [kids], 10.0.0.21: [kids], 10.0.0.22: [kids]',
    );
    const found = await imported(content, { before, lists });
    expect(found, [
      ['10.0.0.20', 'kids.example', 'blocked'],
      ['10.0.0.21', 'kids.example', 'passed'],
      ['10.0.0.22', 'kids.example', 'blocked'],
      ['10.0.0.99', 'kids.example', 'passed'],
    ]);
    names(found, /clients: Other: the settings have it in a group of their own/);
    names(found, /ads\.txt: in the settings already, and used there as before/);
  });

  test('servers that are Sluice itself, and names that are none, cost themselves alone', async () => {
    const found = await imported(
      'PIHOLE_DNS_1=127.0.0.1\nREV_SERVER=true\nREV_SERVER_CIDR=10.0.0.0/8\nREV_SERVER_TARGET=10.0.0.1\nREV_SERVER_DOMAIN=__proto__\n',
      { before: 'dns:\n  upstreams: [9.9.9.9]\n  suffixes: { 10.IN-ADDR.arpa: [10.0.0.2] }\n' },
    );
    assert.deepEqual(found.config.dns.upstreams, ['9.9.9.9']);
    assert.deepEqual(serversOf(found), { '10.IN-ADDR.arpa': ['10.0.0.1'] });
    names(found, /127\.0\.0\.1/);
    names(found, /__proto__: it is no domain name/);
  });
});
