/**
 * The listeners of a thread: what cannot be bound keeps nothing else from serving, and is tried again.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { Listeners } from '../../main/dataplane/listeners.ts';
import { formatEndpoint, parseListen } from '../../main/net/server-address.ts';
import { askTcp, askUdp } from '../support/dns-client.ts';
import { EchoEngine, TestCounters } from '../support/net-fakes.ts';

async function open(t: TestContext, listen: readonly string[], takenRetryMs = 0) {
  const common = { engine: new EchoEngine(), counters: new TestCounters(), reusePort: false };
  const options = { common, addon: null, claimsAlone: true, takenRetryMs };
  const listeners = await Listeners.open(listen.map(parseListen), options);
  t.after(() => listeners.close());
  return listeners;
}

async function holdPort(t: TestContext) {
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  t.after(() => holder.close());
  return { holder, endpoint: `127.0.0.1:${String((holder.address() as AddressInfo).port)}` };
}

const served = (listeners: Listeners): string[] =>
  listeners.state.served.map(({ address, port }) => formatEndpoint(address, port));

test('a port that is given back is taken; whoever had it is told only once', async (t) => {
  const { holder, endpoint } = await holdPort(t);
  const listeners = await open(t, [endpoint, '[::1]:0']);
  assert.equal(served(listeners).length, 1);
  const first = listeners.state.unserved;
  assert.deepEqual(
    first.map((one) => one.endpoint),
    [endpoint],
  );
  assert.match(first.map(({ reason }) => reason).join(), /it is used by this process/);
  await listeners.look();
  assert.deepEqual(listeners.state.unserved, first, 'a look that finds nothing new says the same');
  holder.close();
  await once(holder, 'close');
  await Promise.all([listeners.look(), listeners.look()]);
  assert.equal(served(listeners)[0], endpoint);
  assert.deepEqual(listeners.state.unserved, []);
  await Promise.all([askUdp(endpoint, 'a.example'), askTcp(endpoint, 'a.example')]);
});

test('a port that somebody else has is not tried at each look', async (t) => {
  const { holder, endpoint } = await holdPort(t);
  const listeners = await open(t, ['127.0.0.1:0', endpoint], 60_000);
  holder.close();
  await once(holder, 'close');
  await listeners.look();
  assert.equal(listeners.state.unserved.length, 1);
});

test('an endpoint is added once, and served after the next look', async (t) => {
  const listeners = await open(t, ['127.0.0.1:0']);
  const [first] = listeners.state.served;
  const { holder, endpoint } = await holdPort(t);
  holder.close();
  await once(holder, 'close');
  listeners.add([...listeners.state.served, parseListen(endpoint)]);
  await listeners.look();
  assert.deepEqual(served(listeners), [
    formatEndpoint(first?.address ?? '', first?.port ?? 0),
    endpoint,
  ]);
});

test('when no endpoint can be had, the first one says why, and nothing stays open', async (t) => {
  const { endpoint } = await holdPort(t);
  await assert.rejects(open(t, ['203.0.113.9:5300', endpoint]), { code: 'ADDRESS_UNAVAILABLE' });
  await assert.rejects(open(t, [endpoint, '203.0.113.9:5300']), { code: 'PORT_IN_USE' });
});
