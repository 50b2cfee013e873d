/**
 * What the machine has around it: the networks of its links, and what the service makes of networks,
 * servers and addresses that change.
 */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import type { NetworkInterfaceInfo } from 'node:os';
import { test } from 'node:test';
import { parseAddress } from '../../../main/net/listen/client-address.ts';
import { localNetworks } from '../../../main/control/policy/local-networks.ts';
import { parseNetwork } from '../../../main/control/policy/networks.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { fakeService, FakeClock } from '../fakes.ts';

function address(cidr: string, internal = false): NetworkInterfaceInfo {
  const [text = ''] = cidr.split('/');
  const common = { address: text, netmask: '', mac: '', internal, cidr };
  return text.includes(':')
    ? { ...common, family: 'IPv6', scopeid: 0 }
    : { ...common, family: 'IPv4' };
}

function network(text: string) {
  const parsed = parseNetwork(text);
  assert.ok(parsed, text);
  return parsed;
}

function found(links: Record<string, string[]>, routes = ''): string[] {
  const interfaces = Object.fromEntries(
    Object.entries(links).map(([link, cidrs]) => [
      link,
      cidrs.map((cidr) => address(cidr, link === 'lo')),
    ]),
  );
  const all = localNetworks({ interfaces: () => interfaces, routes: () => routes });
  return all.map(({ bytes, bits }) => `${Buffer.from(bytes).toString('hex')}/${String(bits)}`);
}

const hex = (text: string): string => {
  const { bytes, bits } = network(text);
  return `${Buffer.from(bytes).toString('hex')}/${String(bits)}`;
};

test('networks are those of the addresses, each once, without host bits and loopback', () => {
  const links = {
    lo: ['127.0.0.1/8', '::1/128'],
    eth0: ['203.0.113.77/25', '2001:db8:1:2:a::1/64', '2001:db8:1:2:b::1/64', 'fe80::1/64'],
  };
  assert.deepEqual(
    found(links),
    ['203.0.113.0/25', '2001:db8:1:2::/64', 'fe80::/64'].map(hex).sort(),
  );
});

test('a prefix that is no link counts for nothing', () => {
  assert.deepEqual(
    found({ tun0: ['10.8.0.2/0', '10.8.0.2/7', '2001:db8::1/32', 'fd00::1/7'] }),
    [],
  );
});

test('of a single IPv6 address the on-link route of the same link tells the network', () => {
  const zero = '0'.repeat(32);
  const row = (target: string, bits: string, flags: string, link: string, gateway = zero): string =>
    [target, bits, zero, '00', gateway, '00000100', '00000001', '00000000', flags, link].join(' ');
  const prefix = '20010db8000100020000000000000000';
  const own = '20010db8000100020000000000000005';
  const links = { eth0: ['2001:db8:1:2::5/128'], wg0: ['fd00::5/128'] };
  const single = ['2001:db8:1:2::5/128', 'fd00::5/128'].map(hex).sort();
  const routes = [
    row(own, '80', '80200001', 'eth0'), // its own, of the local table
    row(prefix, '40', '00000001', 'eth0'),
    row('20000000000000000000000000000000', '03', '00000001', 'eth0'), // half the world
    row('20010db8000900000000000000000000', '40', '00000001', 'eth0'), // somebody else's
    row(prefix, '38', '00000003', 'eth0', 'fe80'.padEnd(31, '0') + '1'), // behind a router
    row('fd000000000000000000000000000000', '40', '00200200', 'wg0'), // refused
    '',
    'not a route',
  ].join('\n');
  assert.deepEqual(found(links, routes), [...single, hex('2001:db8:1:2::/64')].sort());
  assert.deepEqual(found(links), single);
});

test('a system that forbids looking has no networks', () => {
  const fail = (): never => {
    throw new Error('EPERM');
  };
  assert.deepEqual(localNetworks({ interfaces: fail, routes: fail }), []);
});

async function service(t: Parameters<typeof tempDir>[0]) {
  const clock = new FakeClock();
  const made = await fakeService(await tempDir(t), clock);
  t.after(async () => {
    await made.service.close();
    await made.protection.close();
    await made.temporary.close();
  });
  return { ...made, clock };
}

test('networks that come are allowed a second later, without an edit', async (t) => {
  const { plane, around, clock, store } = await service(t);
  assert.ok(store.config.dns.allow.includes('localnets'));
  const before = plane.policies.length;
  around.networks = [network('2001:db8:1:2::/64')];
  clock.advance(1_000);
  const { allow } = plane.policies.at(-1)?.access ?? { allow: [] };
  assert.deepEqual(allow.at(-1), network('2001:db8:1:2::/64'));
  assert.equal(plane.policies.length, before + 1);
  clock.advance(3_000);
  assert.equal(plane.policies.length, before + 1, 'the same networks are no news');
  around.networks = [];
  clock.advance(1_000);
  assert.deepEqual(plane.policies.at(-1)?.access.allow, allow.slice(0, -1));
});

test('without localnets the networks of links count for nothing', async (t) => {
  const { plane, around, clock, file, service: made } = await service(t);
  await writeFile(file, 'dns: { allow: [127.0.0.0/8] }\n');
  await made.reload();
  around.networks = [network('2001:db8:1:2::/64')];
  clock.advance(1_000);
  assert.deepEqual(plane.policies.at(-1)?.access.allow, [network('127.0.0.0/8')]);
});

test('servers that the system names anew are asked, and answers of the former ones forgotten', async (t) => {
  const { plane, around, clock, bootstraps } = await service(t);
  const flushed = plane.flushed.length;
  around.servers = ['192.0.2.1:53'];
  clock.advance(1_000);
  assert.equal(plane.upstreams.at(-1), '192.0.2.1:53');
  assert.equal(bootstraps.at(-1)?.at(-1), '192.0.2.1:53');
  assert.deepEqual(plane.flushed.slice(flushed), [undefined]);
  around.servers = [];
  clock.advance(1_000);
  assert.equal(plane.upstreams.at(-1), '192.0.2.1:53', 'an empty file names nobody');
  assert.equal(plane.flushed.length, flushed + 1);
});

test('while the resolver is taken over, its servers from before count; then those named now', async (t) => {
  const { plane, around, clock, service: made } = await service(t);
  around.servers = ['192.0.2.1:53'];
  clock.advance(1_000);
  made.setNetworkFacts({ systemServers: ['192.0.2.9'] });
  assert.equal(plane.upstreams.at(-1), '192.0.2.9');
  around.servers = ['192.0.2.2:53'];
  clock.advance(1_000);
  assert.equal(plane.upstreams.at(-1), '192.0.2.9');
  around.servers = ['192.0.2.3:53'];
  made.setNetworkFacts({ systemServers: null });
  assert.equal(plane.upstreams.at(-1), '192.0.2.3:53');
});

test('a reload looks at once', async (t) => {
  const { plane, around, service: made } = await service(t);
  around.servers = ['192.0.2.1:53'];
  await made.reload();
  assert.equal(plane.upstreams.at(-1), '192.0.2.1:53');
});

test('listeners are looked at every second, and told of other addresses', async (t) => {
  const { plane, around, clock } = await service(t);
  clock.advance(1_000);
  around.addresses = 'others';
  clock.advance(1_000);
  clock.advance(1_000);
  assert.deepEqual(plane.looks.slice(-3), [false, true, false]);
});

test('clients that are not answered are told, as far as the log may show them', async (t) => {
  const { plane, service: made, file, clock } = await service(t);
  clock.advance(5_000);
  plane.counts = { ...plane.counts, denied: 3 };
  plane.denied = new Uint8Array(16);
  parseAddress('2001:db8:1:2::99', plane.denied);
  clock.advance(5_000);
  const notice = async (): Promise<string> => (await made.call('status', {})).notices.join();
  assert.match(await notice(), /^3 questions of clients outside dns\.allow .* 2001:db8:1:2::99\. /);
  assert.equal((await made.call('status', {})).totals.denied, 3);
  for (const [mode, shown] of [
    ['anonymous', / from 2001:db8:1::\. /],
    ['off', /in the last minute\. To answer them/],
  ] as const) {
    await writeFile(file, `log: { mode: ${JSON.stringify(mode)} }\n`);
    await made.reload();
    assert.match(await notice(), shown);
  }
  clock.advance(70_000);
  assert.equal(await notice(), '');
});

test('what is neither a network nor localnets is refused, and what to write is said', async (t) => {
  const { file, service: made } = await service(t);
  await writeFile(file, 'dns: { allow: [localnets, localnet] }\n');
  await assert.rejects(made.reload(), {
    code: 'CONFIG_INVALID',
    message: /dns\.allow\[1\]: "localnet" is not allowed, write a network .* or localnets/,
  });
  await writeFile(file, 'dns: { listen: ["[fe80::1%eth0]:53"], upstreams: ["fe80::2%eth0"] }\n');
  await made.reload();
});
