/** The takeover, the network and the portal as one part of the program: main/system-dns/system-dns.ts. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { GuardianEvents } from '../../main/system-dns/guardian/guardian.ts';
import type { PortalFinding } from '../../main/system-dns/portal/portal.ts';
import { loopbackServers, SystemDns } from '../../main/system-dns/system-dns.ts';
import { linkItem } from '../../main/system-dns/owners/resolved.ts';
import { tempDir } from '../support/temp-dir.ts';
import { FakeOwner } from './support/fake-owner.ts';

async function setUp(t: TestContext, owner = new FakeOwner('wlan0')) {
  const directory = await tempDir(t);
  const told: [what: string, value: unknown][] = [];
  const finding: { value: PortalFinding } = { value: 'free' };
  const passes = { stub: true };
  let events: GuardianEvents | undefined;
  let probed: () => void = () => undefined;
  const systemDns = new SystemDns({
    ...{ directory, owners: [owner], instance: 'abcd' },
    listening: () => ['127.0.0.1:5399'],
    startGuardian: (_orders, given) => {
      events = given;
      return Promise.resolve({ pid: 1, dismiss: () => Promise.resolve() });
    },
    probes: { engine: () => Promise.resolve(true), stub: () => Promise.resolve(passes.stub) },
    probePortal: (servers) => {
      told.push(['probe', servers]);
      setImmediate(probed);
      return Promise.resolve(finding.value);
    },
    onChange: () => undefined,
    onNetwork: (event) => told.push(['network', event]),
    onServers: (servers) => told.push(['servers', servers]),
    onSplitRoutes: (routes) => told.push(['routes', routes]),
    onPortal: (servers) => told.push(['portal', servers]),
  });
  t.after(() => systemDns.close());
  /** Resolves when the portal was probed once more. */
  const whenProbed = () => new Promise<void>((resolve) => (probed = resolve));
  const last = (what: string): unknown => told.findLast(([one]) => one === what)?.[1];
  return {
    systemDns,
    owner,
    directory,
    told,
    last,
    finding,
    passes,
    whenProbed,
    events: () => events,
  };
}

test('on and off, with what the network knows in between', async (t) => {
  const owner = new FakeOwner('wlan0');
  const tunnel = { skip: 'a tunnel', servers: ['10.8.0.1'], routingDomains: ['corp.example'] };
  owner.put('tun0', ['10.8.0.1'], tunnel);
  const { systemDns, last, whenProbed } = await setUp(t, owner);
  const probing = whenProbed();
  assert.equal((await systemDns.takeOver()).phase, 'on');
  await probing;
  assert.deepEqual(last('servers'), ['10.0.0.1']);
  assert.deepEqual(last('routes'), [{ suffix: 'corp.example', servers: ['10.8.0.1'] }]);
  assert.deepEqual(last('probe'), ['10.0.0.1'], 'only the servers of the network are asked');
  const { links, journal } = await systemDns.network();
  assert.deepEqual(
    links.map(({ label, isCovered, reason, serversBefore }) => {
      return [label, isCovered, reason, serversBefore];
    }),
    [
      ['tun0', false, 'a tunnel', ['10.8.0.1']],
      ['wlan0', true, '', ['10.0.0.1']],
    ],
  );
  assert.ok(Math.abs((journal.writtenAtMs ?? 0) - Date.now()) < 60_000);
  assert.equal((await systemDns.giveBack()).outcome, 'restored');
  assert.deepEqual([last('servers'), last('routes')], [null, []]);
  assert.deepEqual(owner.dnsOf('wlan0'), ['10.0.0.1']);
  assert.equal((await systemDns.network()).journal.writtenAtMs, null);
});

test('without a takeover the names of tunnels are followed by reading only', async (t) => {
  const owner = new FakeOwner('wlan0');
  const { systemDns, told, last } = await setUp(t, owner);
  const until = async (routes: unknown): Promise<void> => {
    while (JSON.stringify(last('routes')) !== JSON.stringify(routes)) {
      await new Promise((done) => setTimeout(done, 5));
    }
  };
  // As \`busctl\` told of a WireGuard link, and of the same one a moment before.
  const link = (domains: [string, boolean][]) =>
    linkItem(
      ...(['wg0', 7] as const),
      { DNSEx: [[2, [10, 8, 0, 1], 0, 'dns.corp.example']], Domains: domains, DNSOverTLS: 'no' },
      'a tunnel',
    );
  owner.items.set('7 wg0', link([]));
  systemDns.follow();
  owner.items.set('7 wg0', link([['corp.example', true]]));
  const corp = [{ suffix: 'corp.example', servers: ['10.8.0.1'] }];
  await until(corp);
  owner.items.delete('7 wg0');
  systemDns.follow();
  await until([]);
  assert.equal(owner.writes, 0);
  assert.deepEqual(
    told.filter(([what]) => what === 'servers'),
    [],
  );
  owner.items.set('7 wg0', link([['corp.example', true]]));
  await systemDns.takeOver();
  await until(corp);
  await systemDns.giveBack();
  await systemDns.close();
  assert.deepEqual(last('routes'), corp, 'still the tunnel has them');
});

test('a takeover that fails leaves nothing behind', async (t) => {
  const { systemDns, owner, passes, told } = await setUp(t);
  passes.stub = false;
  await assert.rejects(systemDns.takeOver(), { code: 'TAKEOVER_FAILED', message: /^probe: / });
  assert.equal(systemDns.state.phase, 'off');
  assert.match(systemDns.state.reason, /did not come through/);
  assert.deepEqual(owner.dnsOf('wlan0'), ['10.0.0.1']);
  assert.deepEqual(told, [], 'upstreams stay as they were');
});

test('a login page: names go to the network for a while, until the way is free', async (t) => {
  const { systemDns, last, finding, whenProbed } = await setUp(t);
  finding.value = 'portal';
  const probing = whenProbed();
  await systemDns.takeOver();
  await probing;
  assert.equal(systemDns.portal.phase, 'open');
  assert.deepEqual(last('portal'), ['10.0.0.1']);
  systemDns.closePortal();
  assert.equal(last('portal'), null);
  assert.equal(systemDns.portal.phase, 'over');
  systemDns.openPortal();
  assert.deepEqual(last('portal'), ['10.0.0.1']);
  await systemDns.giveBack();
  assert.deepEqual([last('portal'), systemDns.portal.phase], [null, 'clear']);
});

test('without a takeover there is no portal to open', async (t) => {
  const { systemDns, last } = await setUp(t);
  assert.equal(systemDns.openPortal().phase, 'clear');
  assert.equal(last('portal'), null);
});

test('the guardian gave back: the state says so, and the report is shown', async (t) => {
  const { systemDns, directory, events, owner } = await setUp(t);
  await systemDns.takeOver();
  const report = { outcome: 'restored', detail: 'as before', items: [] } as const;
  const rescue = { ...report, atMs: 5, verdict: 'engine-silent' } as const;
  writeFileSync(join(directory, 'last-restore.json'), JSON.stringify(rescue));
  events()?.onRestored(rescue);
  while (systemDns.state.phase !== 'degraded') await new Promise((done) => setImmediate(done));
  assert.match(systemDns.state.reason, /guardian gave the resolver back: the engine did not/);
  assert.deepEqual((await systemDns.network()).lastRescue, rescue);
  assert.deepEqual(owner.dnsOf('wlan0'), ['10.0.0.1']);
});

test('closing gives back, twice is once', async (t) => {
  const { systemDns, owner } = await setUp(t);
  await systemDns.takeOver();
  assert.deepEqual(owner.dnsOf('wlan0'), ['127.0.0.1:5399']);
  await systemDns.close();
  await systemDns.close();
  assert.deepEqual(owner.dnsOf('wlan0'), ['10.0.0.1']);
});

test('only endpoints that this machine can reach over loopback count, IPv4 first', () => {
  assert.deepEqual(
    loopbackServers(['[::1]:53', '0.0.0.0:5353', '192.168.1.2:53', '127.0.0.2:53', '[::]:54']),
    [
      { address: '127.0.0.1', port: 5353 },
      { address: '127.0.0.2', port: 53 },
      { address: '::1', port: 53 },
      { address: '::1', port: 54 },
    ],
  );
});
