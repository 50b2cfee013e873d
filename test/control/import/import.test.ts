/**
 * Imports: what is taken of each program's file, and what is not and why.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { deflateRawSync, gzipSync } from 'node:zlib';
import { strToU8, zipSync } from 'fflate';
import { createTarGzip } from 'nanotar';
import { configSchema } from '../../../main/contract/config.ts';
import { LIMITS } from '../../../main/contract/limits.ts';
import { readImportBytes } from '../../../main/control/import/import-file.ts';
import type { ImportDraft } from '../../../main/control/import/draft/draft.ts';
import { planImport } from '../../../main/control/import/import-plan.ts';
import { setSections } from '../../../main/control/settings/settings-sections.ts';
import { readSettings } from '../../../main/control/settings/settings-text.ts';
import { ADGUARD_HOME, BLOCKY, gravityDatabase, PIHOLE_TOML, UBLOCK } from './fixtures.ts';

const EMPTY = configSchema.parse({ lists: [] });

function read(content: string | Uint8Array): Promise<ImportDraft> {
  return readImportBytes(typeof content === 'string' ? Buffer.from(content) : content);
}

/** What was left out, as "section: text" by reason. */
function skipped(draft: ImportDraft): Record<string, string[]> {
  const found: Record<string, string[]> = {};
  for (const { section, why, examples } of draft.notes.all) {
    (found[why] ??= []).push(...examples.map((text) => `${section}: ${text}`));
  }
  return found;
}

const clientsOf = ({ clients }: ImportDraft) =>
  clients.map(({ name, ids, group }) => `${name} | ${ids.join(' ')} | ${group}`);

/** The settings after an import pass their own check, and the text of a file takes them. */
function merged(draft: ImportDraft) {
  const plan = planImport(EMPTY, draft);
  const text = setSections('# mine\nlists: []\n', plan.wanted);
  assert.match(text, /^# mine/);
  assert.deepEqual(readSettings(text, 'settings').config, plan.wanted);
  return plan;
}

describe('Pi-hole', () => {
  test('gravity.db: lists, domains, groups and clients', async () => {
    const draft = await read(await gravityDatabase());
    assert.equal(draft.program, 'Pi-hole gravity.db');
    assert.deepEqual(
      draft.lists.map(({ name, url, enabled }) => [name, url.split('/').at(-1), enabled]),
      [
        ['Ads', 'ads.txt', true],
        ['lists.example games.txt', 'games.txt', true],
        ['lists.example old.txt', 'old.txt', false],
        ['lists.example allowed.txt', 'allowed.txt', true],
      ],
    );
    assert.deepEqual(
      draft.lists.map(({ action }) => action),
      [undefined, undefined, undefined, 'allow'],
    );
    assert.ok(draft.lists.every(({ match }) => match === 'exact'));
    // Clients that Pi-hole knows get what their groups have: the rules of group 0 are not theirs.
    assert.deepEqual(draft.rules, []);
    assert.deepEqual(clientsOf(draft), [
      'Tablet | 192.168.1.20 | Children',
      'AA:BB:CC:DD:EE:FF | aa:bb:cc:dd:ee:ff | Default + Children',
      'Guest net | 192.168.2.0/24 | Guests',
      'Plain | 192.168.1.9 | Default',
      'All others | 0.0.0.0/0 ::/0 | Default',
    ]);
    const byName = new Map(draft.groups.map((group) => [group.name, group]));
    assert.deepEqual(byName.get('Children')?.lists, ['Ads', 'lists.example games.txt']);
    assert.deepEqual(byName.get('Children')?.rules, ['|play.example^']);
    assert.equal(byName.get('Guests')?.filtering, false);
    assert.deepEqual(byName.get('Default')?.rules, [
      '@@|good.example^',
      '|bad.example^',
      '@@/^ok[0-9]+\\.example$/',
      '||tracker.example^',
      '/^ads\\./$dnstype=A',
    ]);
    assert.equal(byName.get('Default + Children')?.rules.length, 6);
    assert.deepEqual(byName.get('Default')?.lists, [
      'Ads',
      'lists.example old.txt',
      'lists.example allowed.txt',
    ]);
    const left = skipped(draft);
    assert.deepEqual(left['it is switched off in Pi-hole'], [
      'groups: Unused',
      'rules: off.example',
    ]);
    assert.deepEqual(left['its option ";invert" has no equal here'], ['rules: x;invert']);
    assert.deepEqual(left['clients are known by address, network or MAC only'], [
      'clients: laptop.lan',
    ]);
    const { wanted } = merged(draft);
    assert.equal(wanted.clients.length, 5);
  });

  test('Teleporter 6: the zip archive with settings and database', async () => {
    const zip = zipSync({
      'etc/pihole/pihole.toml': strToU8(PIHOLE_TOML),
      'etc/hosts': strToU8('127.0.0.1 localhost\n192.168.1.5 printer.lan\n'),
      'etc/pihole/dhcp.leases': strToU8('0 aa:bb:cc:dd:ee:ff 192.168.1.20 tablet *\n'),
      'etc/pihole/gravity.db': await gravityDatabase(),
      'etc/dnsmasq.d/99-own.conf': strToU8('log-queries\n'),
    });
    const draft = await read(zip);
    assert.equal(draft.lists.length, 4);
    assert.deepEqual(draft.upstreams, ['9.9.9.9', '127.0.0.1:5335', '2620:fe::fe']);
    assert.deepEqual(
      draft.records.map(
        ({ name, type, value, ttlSeconds }) => `${name} ${ttlSeconds} ${type} ${value}`,
      ),
      [
        'nas.lan 300 A 192.168.1.2',
        'nas 300 A 192.168.1.2',
        'nas.lan 300 AAAA fd00::2',
        'files.lan 300 CNAME nas.lan',
        'short.lan 60 CNAME nas.lan',
        'printer.lan 300 A 192.168.1.5',
      ],
    );
    assert.deepEqual(
      { ...draft.suffixes },
      {
        '1.168.192.in-addr.arpa': ['192.168.1.1'],
        lan: ['192.168.1.1'],
      },
    );
    const left = skipped(draft);
    assert.ok(left['Sluice gives no addresses by DHCP']);
    assert.ok(draft.everybody.rules.has('||x.example^'), 'misc.dnsmasq_lines');
    assert.deepEqual(merged(draft).wanted.dns.upstreams, draft.upstreams);
  });

  test('Teleporter 5: the tar archive of JSON and text files', async () => {
    const json = (name: string, rows: unknown) => ({ name, data: JSON.stringify(rows) });
    const tar = await createTarGzip([
      json('adlist.json', [
        { id: 1, address: 'https://lists.example/ads.txt', enabled: 1, comment: 'Ads' },
      ]),
      json('blacklist.exact.json', [{ id: 2, type: 1, domain: 'bad.example', enabled: 1 }]),
      json('whitelist.regex.json', [{ id: 3, type: 2, domain: '^ok\\.', enabled: 1 }]),
      json('group.json', [{ id: 0, enabled: 1, name: 'Default' }]),
      json('client.json', [{ id: 1, ip: '192.168.1.20', comment: 'Tablet' }]),
      json('client_by_group.json', [{ client_id: 1, group_id: 0 }]),
      { name: 'custom.list', data: '192.168.1.2 nas.lan\n' },
      { name: 'dnsmasq.d/05-pihole-custom-cname.conf', data: 'cname=files.lan,nas.lan\n' },
      { name: 'setupVars.conf', data: 'PIHOLE_DNS_1=9.9.9.9\nPIHOLE_DNS_2=10.0.0.1#5353\n' },
    ]);
    const draft = await read(tar);
    assert.equal(draft.program, 'Pi-hole 5 Teleporter archive');
    assert.deepEqual(draft.rules, ['|bad.example^', '@@/^ok\\./']);
    assert.deepEqual(clientsOf(draft), ['Tablet | 192.168.1.20 | ']);
    assert.deepEqual(draft.upstreams, ['9.9.9.9', '10.0.0.1:5353']);
    assert.deepEqual(
      draft.records.map(({ name, type }) => `${name} ${type}`),
      ['nas.lan A', 'files.lan CNAME'],
    );
    merged(draft);
  });
});

test('Pi-hole: pihole.toml alone', async () => {
  const { program, upstreams } = await readImportBytes(new TextEncoder().encode(PIHOLE_TOML));
  assert.equal(program, 'Pi-hole 6 settings');
  assert.ok(upstreams.length > 0);
});

test('AdGuard Home: filters, rules, clients, rewrites, servers, services', async () => {
  const draft = await read(ADGUARD_HOME);
  assert.deepEqual(
    draft.lists.map(({ name, enabled }) => [name, enabled]),
    [
      ['Ads', true],
      ['Ads 2', false],
      ['Allowed', true],
    ],
  );
  assert.deepEqual(draft.rules, [
    ...['||bad.example^', '@@||good.example^', '|host.example^', '|host2.example^'],
    '|answer.example^$dnsrewrite=192.0.2.7',
  ]);
  assert.deepEqual(
    draft.records.map(({ name, type, value }) => `${name} ${type} ${value}`),
    ['nas.lan A 192.168.1.2', '*.nas.lan CNAME nas.lan'],
  );
  assert.deepEqual(draft.upstreams, ['https://dns.quad9.net/dns-query', 'tls://1.1.1.1']);
  assert.deepEqual(draft.bootstrap, ['9.9.9.10', '149.112.112.10']);
  assert.deepEqual(
    { ...draft.suffixes },
    {
      'corp.example': ['10.0.0.53', '10.0.0.54'],
      'public.corp.example': ['https://dns.quad9.net/dns-query', 'tls://1.1.1.1'],
      lan: ['10.0.0.53', '10.0.0.54'],
    },
  );
  // Blocked but on Sundays: hours are policies.
  assert.deepEqual(draft.services, []);
  assert.deepEqual(
    draft.policies.map(({ schedule, domains }) => [
      schedule?.days,
      domains.includes('youtube.com'),
    ]),
    [[['mon', 'tue', 'wed', 'thu', 'fri', 'sat'], true]],
  );
  const engines = draft.safeSearch?.engines ?? [];
  assert.deepEqual([engines.includes('google'), engines.includes('duckduckgo')], [true, false]);
  assert.deepEqual(clientsOf(draft), [
    'Tablet | 192.168.1.20 aa:bb:cc:dd:ee:ff | Tablet settings',
    'Desk | 192.168.1.21 | Default',
    'All others | 0.0.0.0/0 ::/0 | Default',
  ]);
  const tablet = draft.groups.find(({ name }) => name === 'Tablet settings');
  assert.deepEqual(tablet?.services, ['tiktok']);
  assert.deepEqual(draft.policies[0]?.clients, ['Default'], 'not for the tablet');
  assert.deepEqual(draft.clients[0]?.tags, ['user_child', 'device_tablet']);
  const left = skipped(draft);
  assert.deepEqual(left['it is not in the catalogue of services'], ['services: no_such_service']);
  assert.deepEqual(left['clients are known by address, network or MAC only'], [
    'clients: tablet-id',
  ]);
  assert.ok(left['a client has no servers of its own here']);
  assert.deepEqual(draft.blocking, { answer: 'nxdomain' });
  assert.deepEqual(left['cosmetic rules do not work in DNS'], ['rules: news.example##.banner']);
  assert.ok(left['accounts of the web interface are not taken']);
  assert.ok(!JSON.stringify(draft).includes('$2a$'), 'no password hash goes anywhere');
  merged(draft);
});

for (const [title, content] of [
  ['present', BLOCKY],
  [
    'older',
    BLOCKY.replace('upstreams:\n  groups:\n', 'upstream:\n')
      .replace('denylists', 'blackLists')
      .replace('allowlists', 'whiteLists'),
  ],
] as const) {
  test(`blocky, with the ${title} names of its keys`, async () => {
    const draft = await read(content);
    assert.equal(draft.program, 'blocky');
    assert.deepEqual(
      draft.lists.map(({ name, action = 'block' }) => `${name} ${action}`),
      ['ads block', 'ads 2 block', 'ads 3 allow', 'kids block'],
    );
    assert.deepEqual(draft.rules, [
      '|someadsdomain.example^',
      '||wild.example^',
      '/^ad[0-9]+\\.example$/',
      '@@|fine.example^',
    ]);
    assert.deepEqual(
      draft.records
        .filter(({ name }) => !name.startsWith('*.'))
        .map(({ name, type, ttlSeconds }) => `${name} ${String(ttlSeconds)} ${type}`),
      [
        ...['printer.lan 3600 A', 'otherdevice.lan 3600 A', 'otherdevice.lan 3600 AAAA'],
        'example.com 3600 A',
      ],
    );
    assert.deepEqual(draft.upstreams, [
      '9.9.9.9',
      'tls://dns.quad9.net:853',
      'https://dns.quad9.net/dns-query',
    ]);
    assert.deepEqual(draft.bootstrap, ['1.1.1.1']);
    assert.deepEqual(Object.keys(draft.suffixes), ['fritz.box', 'lan.net']);
    assert.deepEqual(clientsOf(draft), [
      '192.168.178.32 | 192.168.178.32 | ads + kids',
      'All others | 0.0.0.0/0 ::/0 | Default',
    ]);
    assert.deepEqual(draft.groups.find(({ name }) => name === 'Default')?.lists, [
      'ads',
      'ads 2',
      'ads 3',
    ]);
    assert.deepEqual(skipped(draft)['this section is not taken'], ['other: caching']);
    merged(draft);
  });
}

test('uBlock Origin: lists with a URL, known lists, and rules about names', async () => {
  const draft = await read(UBLOCK);
  assert.deepEqual(
    draft.lists.map(({ url }) => url),
    ['https://easylist.to/easylist/easylist.txt', 'https://lists.example/mine.txt'],
  );
  assert.deepEqual(draft.rules, ['||bad.example^', '@@||good.example^']);
  assert.ok(skipped(draft)['it comes with uBlock Origin and is made for browsers']);
});

test('hosts files and plain lists', async () => {
  const hosts = await read(
    '# hosts\n127.0.0.1 localhost\n0.0.0.0 bad.example worse.example\n192.168.1.2 nas.lan # box\n',
  );
  assert.deepEqual(hosts.rules, ['|bad.example^', '|worse.example^']);
  assert.deepEqual(
    hosts.records.map(({ name, value }) => `${name} ${value}`),
    ['nas.lan 192.168.1.2'],
  );
  const plain = await read('! list\nbad.example\n@@||good.example^\nbad.example\n');
  assert.deepEqual(plain.rules, ['bad.example', '@@||good.example^']);
});

describe('merging', () => {
  test('adds what is new, knows what is there, and takes only what is asked for', async () => {
    const draft = await read(ADGUARD_HOME);
    const config = structuredClone(EMPTY);
    config.lists = [
      { ...(draft.lists[0] as (typeof draft.lists)[0]), name: 'Mine' },
      {
        ...(draft.lists[0] as (typeof draft.lists)[0]),
        name: 'Ads',
        url: 'https://other.example/',
      },
    ];
    config.rules = ['||bad.example^'];
    const plan = planImport(config, draft, ['lists', 'rules', 'upstreams']);
    assert.deepEqual(
      plan.wanted.lists.map(({ name }) => name),
      ['Mine', 'Ads', 'Ads 2', 'Allowed'],
    );
    assert.deepEqual(plan.wanted.rules, draft.rules);
    assert.deepEqual(plan.wanted.clients, []);
    assert.deepEqual(plan.wanted.dns.upstreams, draft.upstreams);
    const lists = plan.taken.find(({ section }) => section === 'lists');
    assert.deepEqual([lists?.count, lists?.known], [2, 1]);
    assert.ok(
      plan.notTaken.some(
        ({ why, section }) => why === 'it was not asked for' && section === 'clients',
      ),
    );
    const again = planImport(plan.wanted, draft, ['lists', 'rules', 'upstreams']);
    assert.deepEqual(again.wanted, plan.wanted, 'a second time changes nothing');
  });

  test('leaves out what contradicts itself or the settings', async () => {
    const draft = await read('192.168.1.2 nas.lan\n');
    draft.addRecord('nas.lan', 'CNAME', 'other.lan');
    const plan = merged(draft);
    assert.deepEqual(
      plan.wanted.records.map(({ type }) => type),
      ['A'],
    );
    assert.ok(plan.notTaken.some(({ section }) => section === 'records'));
    const [taken] = plan.taken;
    assert.deepEqual([taken?.count, taken?.examples], [1, ['nas.lan A 192.168.1.2']]);
  });

  test('servers replace those there are; comments beside them stay', async () => {
    const draft = await read(ADGUARD_HOME);
    const [first = '', second = ''] = draft.upstreams;
    const blocks = `    - 192.0.2.1 # gone\n    - ${second} # kept\n`;
    for (const [servers, after] of [
      [' [192.0.2.1, 192.0.2.2] # mine', ` [ ${first}, ${second} ] # mine\n`],
      [`\n    # mine\n${blocks}`, `\n    # mine\n    - ${first}\n    - ${second} # kept\n`],
    ] as const) {
      const text = `dns:\n  upstreams:${servers}\n  bootstrap: [192.0.2.9] # small\n`;
      const { config } = readSettings(text, 'settings');
      const plan = planImport(config, draft, ['upstreams']);
      const [taken] = plan.taken;
      assert.equal(taken?.replaced, 3);
      const written = setSections(text, plan.wanted);
      assert.ok(written.startsWith(`dns:\n  upstreams:${after}`), written);
      assert.match(written, /\] # small\n/);
      const again = planImport(plan.wanted, draft, ['upstreams']);
      assert.deepEqual([again.taken[0]?.count, again.taken[0]?.replaced], [0, 0]);
    }
  });
});

/** A zip archive of one deflated file, without checksums, which nobody looks at. */
function zipOf(name: string, deflated: Buffer): Buffer {
  const local = Buffer.alloc(30);
  local.writeUInt32LE(0x04034b50, 0);
  local.writeUInt16LE(8, 8);
  local.writeUInt32LE(deflated.length, 18);
  local.writeUInt16LE(name.length, 26);
  const entry = Buffer.alloc(46);
  entry.writeUInt32LE(0x02014b50, 0);
  entry.writeUInt16LE(8, 10);
  entry.writeUInt32LE(deflated.length, 20);
  entry.writeUInt16LE(name.length, 28);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(entry.length + name.length, 12);
  end.writeUInt32LE(local.length + name.length + deflated.length, 16);
  return Buffer.concat([local, Buffer.from(name), deflated, entry, Buffer.from(name), end]);
}

describe('what is no import', () => {
  const refused = (content: string | Uint8Array) =>
    assert.rejects(read(content), { code: 'IMPORT_REFUSED' });

  test('is refused: empty, binary, prose, another database, another archive', async () => {
    await refused('');
    await refused('\0\0\0');
    await refused('<!doctype html><p>This is not it');
    await refused(await gravityDatabase('CREATE TABLE t (a)'));
    await refused((await gravityDatabase()).subarray(0, 5_000));
    await refused(zipSync({ 'readme.txt': strToU8('x') }));
    await refused(await createTarGzip([{ name: 'readme.txt', data: 'x' }]));
    await refused(zipSync({ 'etc/pihole/pihole.toml': strToU8('dns = [') }));
  });

  test('archives made to harm: names outside, bombs, cut ones, views in place of tables', async () => {
    assert.ok(await read(zipOf('etc/pihole/pihole.toml', deflateRawSync(PIHOLE_TOML))));
    await refused(zipSync({ '../../etc/passwd': strToU8('x') }));
    await refused(zipSync({ '/etc/passwd': strToU8('x') }));
    // The tar reader takes such names as if they lay inside; nothing is ever written by them.
    const tar = await createTarGzip([{ name: '../adlist.json', data: '[]' }]);
    assert.equal((await read(tar)).lists.length, 0);
    const zeros = Buffer.alloc(LIMITS.importArchiveBytesMax + 1);
    await refused(gzipSync(zeros, { level: 1 }));
    await refused(zipOf('etc/pihole/pihole.toml', deflateRawSync(zeros, { level: 1 })));
    const good = zipSync({ 'etc/pihole/pihole.toml': strToU8(PIHOLE_TOML) });
    for (let length = 4; length < good.length; length += 97)
      await refused(good.subarray(0, length));
    const view = await gravityDatabase(
      `CREATE TABLE domainlist (id, type, domain, enabled); CREATE VIEW adlist AS
       WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id FROM n`,
    );
    assert.equal((await read(view)).lists.length, 0);
  });

  test('damaged bytes anywhere end in a draft or a refusal, never otherwise', async () => {
    const zip = zipSync({
      'etc/pihole/pihole.toml': strToU8(PIHOLE_TOML),
      'etc/pihole/gravity.db': await gravityDatabase(),
    });
    for (const [seed, source] of [
      zip,
      strToU8(ADGUARD_HOME),
      strToU8(BLOCKY),
      strToU8(UBLOCK),
    ].entries()) {
      for (let round = 0; round < 40; round++) {
        const bytes = source.slice();
        const at = (round * 7_919 + seed * 104_729) % bytes.length;
        bytes[at] = (bytes[at] as number) ^ (1 << (round % 8));
        try {
          assert.ok((await read(bytes)).program);
        } catch (error) {
          assert.equal((error as { code?: string }).code, 'IMPORT_REFUSED', String(error));
        }
      }
    }
  });
});
