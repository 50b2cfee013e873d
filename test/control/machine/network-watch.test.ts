/**
 * What counts as another network, and what only costs the connections: other addresses, a sleep.
 */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { defaultGateways, NetworkWatch } from '../../../main/control/machine/network-watch.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { FakeClock } from '../fakes.ts';

const LOOPBACK = { address: '127.0.0.1', family: 'IPv4', internal: true };
const gateway = (mark: string, hardware = '') => ({ mark, hardware });
const v4 = (address: string) => ({ address, family: 'IPv4', internal: false });
const v6 = (address: string) => ({ address, family: 'IPv6', internal: false });

test('other addresses, none, and a sleep cost the connections; each is told once', () => {
  const clock = new FakeClock();
  let addresses = [LOOPBACK, v4('192.168.1.5'), v6('2001:db8:1:2:aaaa::1')];
  const watch = new NetworkWatch(
    clock,
    () => addresses,
    () => [gateway('wlan0 0101A8C0')],
  );
  assert.equal(watch.look(), 'none');
  addresses = [v6('2001:db8:1:2:bbbb::7'), v4('192.168.1.5'), LOOPBACK];
  assert.equal(watch.look(), 'none', 'order, and a temporary IPv6 address');
  addresses = [LOOPBACK, v4('192.168.1.77')];
  assert.equal(watch.look(), 'sockets');
  assert.equal(watch.look(), 'none');
  addresses = [LOOPBACK];
  assert.equal(watch.look(), 'sockets');
  clock.advance(60_000);
  assert.equal(watch.look(), 'none');
  clock.sleep(3_600_000);
  assert.equal(watch.look(), 'sockets');
  assert.equal(watch.look(), 'none');
});

test('other gateways are another network; fewer, more or none are not', () => {
  let marks = ['wlan0 0101A8C0'];
  const watch = new NetworkWatch(
    new FakeClock(),
    () => [LOOPBACK],
    () => marks.map((mark) => gateway(mark)),
  );
  marks = ['wlan0 0101A8C0', 'wlan0 fe80000000000000'];
  assert.equal(watch.look(), 'none', 'IPv6 came up');
  marks = [];
  assert.equal(watch.look(), 'none', 'offline: answers serve');
  marks = ['wlan0 fe80000000000000'];
  assert.equal(watch.look(), 'none', 'the same network again');
  marks = ['wlan0 0100000A'];
  assert.equal(watch.look(), 'other');
  assert.equal(watch.look(), 'none');
});

test('a gateway with the same address in another home is another network', () => {
  let routers = [gateway('wlan0 0101A8C0', '02:00:00:00:00:0a'), gateway('wlan0 fe80')];
  const watch = new NetworkWatch(
    new FakeClock(),
    () => [LOOPBACK],
    () => routers,
  );
  routers = [];
  assert.equal(watch.look(), 'none', 'offline');
  routers = [gateway('wlan0 fe80')];
  assert.equal(watch.look(), 'none', 'IPv6 came first');
  routers = [gateway('wlan0 0101A8C0'), gateway('wlan0 fe80')];
  assert.equal(watch.look(), 'none', 'not known yet');
  routers = [gateway('wlan0 0101A8C0', '02:00:00:00:00:0a'), gateway('wlan0 fe80')];
  assert.equal(watch.look(), 'none', 'at home again');
  routers = [gateway('wlan0 0101A8C0', '02:00:00:00:00:0b'), gateway('wlan0 fe80')];
  assert.equal(watch.look(), 'other', 'another router, although IPv6 calls it the same');
  assert.equal(watch.look(), 'none');
});

test('without routes to read, addresses tell networks apart', () => {
  let addresses = [v4('192.168.1.5')];
  const watch = new NetworkWatch(
    new FakeClock(),
    () => addresses,
    () => null,
  );
  addresses = [v4('10.0.0.7')];
  assert.equal(watch.look(), 'other');
});

test('gateways are read from the kernel', async (t) => {
  const proc = await tempDir(t);
  assert.equal(defaultGateways(proc), null);
  mkdirSync(join(proc, 'net'));
  writeFileSync(
    join(proc, 'net/route'),
    'Iface\tDestination\tGateway \tFlags\n' +
      'eth0\t00000000\t010200C0\t0003\t0\neth0\t000200C0\t00000000\t0001\t0\n',
  );
  const none = '0'.repeat(32);
  const router = `fe80${'0'.repeat(27)}1`;
  writeFileSync(
    join(proc, 'net/ipv6_route'),
    `fe80${'0'.repeat(28)} 40 ${none} 00 ${none} 00000100 00000001 00000000 00000001 eth0\n` +
      `${none} 00 ${none} 00 ${router} 00000400 00000003 00000000 00000003     eth0\n`,
  );
  const marks = ['eth0 010200C0', `eth0 ${router}`];
  assert.deepEqual(defaultGateways(proc), [gateway(marks[0] ?? ''), gateway(marks[1] ?? '')]);
  const mac = '02:fc:00:00:00:05';
  writeFileSync(
    join(proc, 'net/arp'),
    'IP address       HW type     Flags       HW address            Mask     Device\n' +
      '192.0.2.2        0x1         0x0         00:00:00:00:00:00     *        eth0\n' +
      `192.0.2.1        0x1         0x2         ${mac}     *        eth0\n`,
  );
  assert.equal(defaultGateways(proc)?.[0]?.hardware, mac);
});
