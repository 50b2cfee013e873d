/**
 * What the control plane does about upstreams: passes settings on, lists states, and tells people
 * about certificates and clocks.
 */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { UpstreamNotices } from '../../main/control/machine/upstream-notices.ts';
import { tempDir } from '../support/temp-dir.ts';
import { FakeClock, fakeService } from './fakes.ts';

async function setUp(t: TestContext) {
  const folder = await tempDir(t);
  const clock = new FakeClock();
  const made = await fakeService(folder, clock);
  t.after(async () => {
    await made.service.close();
    await made.protection.close();
  });
  return { ...made, clock, file: join(folder, 'sluice.yaml') };
}

test('upstream settings reach the data plane, the address book and the policy', async (t) => {
  const { service, plane, hosts, file } = await setUp(t);
  await writeFile(
    file,
    `dns:
  upstreams: ["tls://dns.quad9.net", "https://dns.example/q", "9.9.9.9"]
  strategy: race
  suffixes:
    corp.example: ["10.0.0.53", "tls://dns.corp.example"]
`,
  );
  await service.reload();
  assert.deepEqual(plane.uses.at(-1)?.strategy, 'race');
  assert.deepEqual(plane.uses.at(-1)?.suffixes, {
    'corp.example': ['10.0.0.53', 'tls://dns.corp.example'],
  });
  assert.deepEqual(hosts.at(-1), ['dns.quad9.net', 'dns.example', 'dns.corp.example']);
  assert.deepEqual(plane.policies.at(-1)?.suffixes, ['corp.example']);
  assert.equal(plane.flushed.length, 1);
  await service.reload();
  assert.equal(plane.uses.length, 1);
  assert.equal(plane.flushed.length, 1);
});

test('upstreams.list shows strategy and states', async (t) => {
  const { service, plane } = await setUp(t);
  plane.states = [
    {
      ...{ upstream: 'tls://dns.quad9.net', protocol: 'tls', state: 'up', roundTripUs: 9_000 },
      ...{ sent: 5, answered: 4, failures: 1, connections: 2, resumed: 1 },
      ...{ trouble: '', askedWithout: '' },
    },
  ];
  const listed = await service.call('upstreams.list', {});
  assert.deepEqual(listed, { strategy: 'in-order', upstreams: plane.states });
});

test('a change of network resets upstream sockets', async (t) => {
  const { service, plane, network } = await setUp(t);
  service.networkChanged();
  assert.deepEqual([plane.resets, plane.flushed], [1, []], 'a wake-up: answers stay');
  service.lookAtNetwork();
  assert.equal(plane.resets, 1, 'nothing has changed');
  network.change = 'sockets';
  service.lookAtNetwork();
  assert.deepEqual([plane.resets, plane.flushed], [2, []], 'the same network: answers stay');
  network.change = 'other';
  service.lookAtNetwork();
  assert.deepEqual([plane.resets, plane.flushed], [3, [undefined]]);
});

test('troubles come and go by name', async (t) => {
  const { service, health, store } = await setUp(t);
  const notices = new UpstreamNotices(health);
  notices.trouble('tls://9.9.9.9', 'its certificate has expired');
  notices.noAddress('dns.example', 'no bootstrap server answered');
  assert.deepEqual(service.health().notices, [
    'The upstream tls://9.9.9.9 cannot be used: its certificate has expired.',
    'No address is known for the upstream dns.example: no bootstrap server answered.',
  ]);
  notices.keepOnly({ ...store.config, dns: { ...store.config.dns, upstreams: ['9.9.9.9'] } });
  notices.noAddress('dns.example', null);
  assert.deepEqual(service.health().notices, []);
});

test('a clock in 1970 is told while an upstream needs certificates, and until it is set', async (t) => {
  const { service, clock, file } = await setUp(t);
  await writeFile(file, 'dns: { upstreams: ["9.9.9.9"] }\n');
  await service.reload();
  clock.wall = 86_400_000;
  clock.advance(5_000);
  assert.deepEqual(service.health().notices, [], 'plain upstreams need no clock');
  await writeFile(file, 'dns: { upstreams: ["tls://dns.quad9.net"] }\n');
  await service.reload();
  clock.advance(5_000);
  assert.match(service.health().notices.join(), /clock of this machine says 1970-01-02/);
  clock.wall = Date.UTC(2026, 6, 1);
  clock.advance(5_000);
  assert.deepEqual(service.health().notices, []);
});
