/**
 * What counts as another network: other addresses, a sleep; and what does not.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NetworkWatch } from '../../main/service/network-watch.ts';
import { FakeClock } from './fakes.ts';

const LOOPBACK = { address: '127.0.0.1', family: 'IPv4', internal: true };
const v4 = (address: string) => ({ address, family: 'IPv4', internal: false });
const v6 = (address: string) => ({ address, family: 'IPv6', internal: false });

test('other addresses, none, and a sleep are changes; each is told once', () => {
  const clock = new FakeClock();
  let addresses = [LOOPBACK, v4('192.168.1.5'), v6('2001:db8:1:2:aaaa::1')];
  const watch = new NetworkWatch(clock, () => addresses);
  assert.equal(watch.hasChanged(), false);
  addresses = [v6('2001:db8:1:2:bbbb::7'), v4('192.168.1.5'), LOOPBACK];
  assert.equal(watch.hasChanged(), false, 'order, and a temporary IPv6 address');
  addresses = [LOOPBACK, v4('10.0.0.7')];
  assert.equal(watch.hasChanged(), true);
  assert.equal(watch.hasChanged(), false);
  addresses = [LOOPBACK];
  assert.equal(watch.hasChanged(), true);
  clock.advance(60_000);
  assert.equal(watch.hasChanged(), false);
  clock.sleep(3_600_000);
  assert.equal(watch.hasChanged(), true);
  assert.equal(watch.hasChanged(), false);
});
