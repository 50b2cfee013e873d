/** The takeover's switch as doors see it, and what the network's own word does to the settings. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Config } from '../../../main/contract/config.ts';
import { configSchema } from '../../../main/contract/config.ts';
import { NO_FACTS, withFacts } from '../../../main/control/machine/network-facts.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { FakeClock, fakeService } from '../fakes.ts';

async function setUp(t: TestContext) {
  const clock = new FakeClock();
  const folder = await tempDir(t);
  const made = await fakeService(folder, clock);
  t.after(async () => {
    await made.service.close();
    await made.protection.close();
    await made.takeover.close();
  });
  return { ...made, clock, file: join(folder, 'takeover.json') };
}

test('on and off through the service; the position is remembered', async (t) => {
  const { service, file, takeover, systemDns } = await setUp(t);
  assert.equal((await service.call('status', {})).takeover.state, 'off');
  const on = await service.call('takeover', {});
  assert.deepEqual([on.state, on.owner, on.covered], ['on', 'systemd-resolved', ['wlan0']]);
  assert.equal((await service.call('status', {})).takeover.state, 'on');
  assert.match(await readFile(file, 'utf8'), /\{"isOn":true\}/);
  await takeover.start(false);
  assert.deepEqual(systemDns.calls, ['takeOver', 'takeOver'], 'as the switch was left');
  assert.equal((await service.call('restore', {})).outcome, 'restored');
  assert.match(await readFile(file, 'utf8'), /\{"isOn":false\}/);
  await takeover.start(false);
  assert.equal(systemDns.calls.length, 3);
});

test('a file that is none of ours leaves the machine alone', async (t) => {
  const { takeover, systemDns, file } = await setUp(t);
  for (const text of ['', 'null', '{"isOn":"yes"}']) {
    await writeFile(file, text);
    await takeover.start(false);
  }
  assert.deepEqual(systemDns.calls, []);
});

test('a start that fails is told, and tried again for a minute', async (t) => {
  const { service, takeover, systemDns, clock } = await setUp(t);
  systemDns.failure = 'nobody owns the resolver';
  await takeover.start(true);
  const { degradedReasons } = service.health();
  assert.deepEqual(degradedReasons, [
    'The system resolver could not be taken over at start: nobody owns the resolver.',
  ]);
  systemDns.failure = '';
  clock.advance(10_000);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal((await service.call('status', {})).takeover.state, 'on');
  assert.equal(service.health().health, 'ok');
});

test('a takeover that is not wholly in force is a problem; a portal is a state', async (t) => {
  const { service, systemDns, clock } = await setUp(t);
  await service.call('takeover', {});
  systemDns.become({ phase: 'degraded', reason: 'some links do not lead to Sluice' });
  assert.match(service.health().degradedReasons.join(), /some links do not lead to Sluice/);
  systemDns.become({ phase: 'on', reason: '' });
  assert.equal(service.health().health, 'ok');
  const open = await service.call('portal', { open: true });
  assert.equal(open.state, 'portal');
  const leftMs = (open.portal.endsAtMs ?? 0) - clock.wallMs();
  assert.ok(leftMs > 290_000 && leftMs <= 300_000, String(leftMs));
  assert.equal((await service.call('portal', { open: false })).state, 'on');
});

test('a portal: everything goes to the network, unfiltered and not kept', async (t) => {
  const { service, plane } = await setUp(t);
  service.setNetworkFacts({ portalServers: ['10.0.0.1'] });
  assert.deepEqual(plane.upstreams, ['10.0.0.1']);
  const policy = plane.policies.at(-1);
  assert.deepEqual(
    [policy?.filtering, policy?.rebinding.enabled, policy?.cache.entriesMax, policy?.suffixes],
    [false, false, 0, []],
  );
  const flushes = plane.flushed.length;
  assert.ok(flushes > 0);
  service.setNetworkFacts({ portalServers: ['10.0.0.1'] });
  assert.equal(plane.flushed.length, flushes, 'the same word again changes nothing');
  service.setNetworkFacts({ portalServers: null });
  assert.equal(plane.policies.at(-1)?.filtering, true);
  assert.ok(plane.flushed.length > flushes, 'what the portal said is forgotten');
});

test('learned routes: upstreams of their own, whose answers go with them', async (t) => {
  const { service, plane } = await setUp(t);
  service.setNetworkFacts({ routes: [{ suffix: 'corp.example', servers: ['10.8.0.1'] }] });
  assert.deepEqual(plane.uses.at(-1)?.suffixes, { 'corp.example': ['10.8.0.1'] });
  assert.deepEqual(plane.policies.at(-1)?.suffixes, ['corp.example']);
  assert.deepEqual(plane.flushed, ['*.corp.example'], 'all other answers stay');
  service.setNetworkFacts({ routes: [] });
  assert.deepEqual(plane.uses.at(-1)?.suffixes, {});
  assert.deepEqual(plane.flushed, ['*.corp.example', '*.corp.example']);
});

const OWN = ['127.0.0.1:53'];
const settings = (dns: object): Config => configSchema.parse({ dns });

test('"system" stands for the servers from before the takeover', () => {
  const config = settings({ upstreams: ['9.9.9.9', 'system'], suffixes: { lan: ['system'] } });
  const facts = { ...NO_FACTS, systemServers: ['10.0.0.1', '127.0.0.1', 'no server'] };
  const { dns } = withFacts(config, facts, OWN);
  assert.deepEqual(dns.upstreams, ['9.9.9.9', '10.0.0.1'], 'never ourselves');
  assert.deepEqual(dns.suffixes, { lan: ['10.0.0.1'] });
  assert.equal(withFacts(config, NO_FACTS, OWN), config);
});

test('what a person configured wins over what was learned', () => {
  const config = settings({ suffixes: { 'Corp.example.': ['10.1.1.1'] } });
  const routes = [
    { suffix: 'corp.example', servers: ['10.8.0.1'] },
    { suffix: 'lab.example', servers: ['10.8.0.1', '10.8.0.2'] },
    { suffix: 'lab.example', servers: ['10.9.9.9'] },
    { suffix: '.', servers: ['10.8.0.1'] },
    { suffix: 'bad name', servers: ['10.8.0.1'] },
    { suffix: 'none.example', servers: ['127.0.0.1:53'] },
  ];
  assert.deepEqual(withFacts(config, { ...NO_FACTS, routes }, OWN).dns.suffixes, {
    'lab.example': ['10.8.0.1', '10.8.0.2'],
    'Corp.example.': ['10.1.1.1'],
  });
});
