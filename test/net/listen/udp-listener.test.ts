/**
 * The UDP listener on node:dgram over real sockets, with an engine that echoes.
 */
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { AppError } from '../../../main/contract/errors.ts';
import type { Listener } from '../../../main/net/listen/packet-handler.ts';
import { canReusePort } from '../../../main/net/listen/packet-handler.ts';
import { openUdpListener } from '../../../main/net/listen/udp-listener.ts';
import { exchangeUdp, question, readAnswer } from '../../support/dns-client.ts';
import { EchoEngine, TestCounters } from '../../support/net-fakes.ts';

interface Setup {
  engine: EchoEngine;
  counters: TestCounters;
  listener: Listener;
}

async function open(t: TestContext, address = '127.0.0.1', port = 0): Promise<Setup> {
  const engine = new EchoEngine();
  const counters = new TestCounters();
  const options = { engine, counters, address, port, reusePort: false };
  const listener = await openUdpListener(options);
  t.after(() => listener.close());
  return { engine, counters, listener };
}

for (const [address, bytes] of [
  ['127.0.0.1', '00000000000000000000ffff7f000001'],
  ['::1', '00000000000000000000000000000001'],
] as const) {
  test(`a packet to ${address} is handled and its answer sent`, async (t) => {
    const { engine, listener } = await open(t, address);
    assert.match(listener.endpoint, address === '::1' ? /^\[::1\]:\d+$/ : /^127\.0\.0\.1:\d+$/);
    const answer = readAnswer(await exchangeUdp(listener.endpoint, question('a.example')));
    assert.equal(answer.questions?.[0]?.name, 'a.example');
    assert.equal(answer.type, 'response');
    const [seen] = engine.seen;
    assert.deepEqual([seen?.address, seen?.transport], [bytes, 'udp']);
  });
}

test('an IPv6 wildcard listener leaves IPv4 alone', async (t) => {
  const v6 = await open(t, '::');
  const v4 = await open(t, '0.0.0.0', v6.listener.port);
  await exchangeUdp(`127.0.0.1:${String(v4.listener.port)}`, question('four.example'));
  await exchangeUdp(`[::1]:${String(v6.listener.port)}`, question('six.example'));
  assert.equal(v4.engine.seen.length, 1);
  assert.equal(v6.engine.seen.length, 1);
});

test('late answers go to whoever asked, in any order', async (t) => {
  const { engine, listener } = await open(t);
  const names = ['late1.example', 'late2.example', 'late3.example'];
  const answers = names.map((name) => exchangeUdp(listener.endpoint, question(name)));
  await engine.received(3);
  for (const index of [2, 0, 1]) engine.release(index);
  const got = (await Promise.all(answers)).map((bytes) => readAnswer(bytes).questions?.[0]?.name);
  assert.deepEqual(got, names);
});

test('answers of a burst are whole, although buffers are used again', async (t) => {
  const { listener, counters } = await open(t);
  const client = createSocket('udp4');
  t.after(() => client.close());
  const COUNT = 500;
  const got = new Map<number, string>();
  const all = new Promise<void>((resolve) => {
    client.on('message', (bytes) => {
      const answer = readAnswer(bytes);
      got.set(answer.id ?? -1, answer.questions?.[0]?.name ?? '');
      if (got.size === COUNT) resolve();
    });
  });
  client.bind(0, '127.0.0.1');
  await once(client, 'listening');
  client.setRecvBufferSize(4 * 1024 * 1024);
  for (let id = 0; id < COUNT; id++) {
    client.send(question(`n${String(id)}.example`, 'A', { id }), listener.port, '127.0.0.1');
  }
  await all;
  for (let id = 0; id < COUNT; id++) assert.equal(got.get(id), `n${String(id)}.example`);
  assert.equal(counters.get('sendFailed'), 0);
});

test('no answer means no packet; the next question is served', async (t) => {
  const { engine, listener } = await open(t);
  await assert.rejects(exchangeUdp(listener.endpoint, question('none.example'), 100));
  await exchangeUdp(listener.endpoint, question('b.example'));
  assert.equal(engine.seen.length, 2);
});

test('stop takes no more packets but lets late answers leave', async (t) => {
  const { engine, listener } = await open(t);
  const late = exchangeUdp(listener.endpoint, question('late.example'));
  await engine.received(1);
  listener.stop();
  await assert.rejects(exchangeUdp(listener.endpoint, question('after.example'), 100));
  engine.release(0);
  assert.equal(readAnswer(await late).questions?.[0]?.name, 'late.example');
  assert.equal(engine.seen.length, 1);
});

test('after close the port is free and a late answer is counted as not sent', async (t) => {
  const { engine, counters, listener } = await open(t);
  void exchangeUdp(listener.endpoint, question('late.example'), 1_000).catch(() => undefined);
  await engine.received(1);
  await Promise.all([listener.close(), listener.close()]);
  engine.release(0);
  assert.equal(counters.get('sendFailed'), 1);
  const again = await open(t, '127.0.0.1', listener.port);
  await exchangeUdp(again.listener.endpoint, question('a.example'));
});

test('a port in use: the error names the process', async (t) => {
  const holder = await open(t);
  await assert.rejects(open(t, '127.0.0.1', holder.listener.port), (error) => {
    assert.ok(error instanceof AppError);
    assert.equal(error.code, 'PORT_IN_USE');
    const port = String(holder.listener.port);
    assert.match(error.message, new RegExp(`127\\.0\\.0\\.1:${port} \\(UDP\\)`));
    if (process.platform === 'linux') {
      assert.match(error.message, new RegExp(`this process \\(${String(process.pid)}\\)`));
    }
    return true;
  });
});

test('an address that this machine does not have', async (t) => {
  await assert.rejects(open(t, '192.0.2.77'), (error) => {
    assert.ok(error instanceof AppError);
    assert.equal(error.code, 'ADDRESS_UNAVAILABLE');
    return true;
  });
});

test('several sockets share a port where the runtime can', async (t) => {
  assert.equal(canReusePort('linux', '20.18.1'), false);
  assert.equal(canReusePort('linux', '22.12.0'), true);
  assert.equal(canReusePort('linux', '23.0.0'), false);
  assert.equal(canReusePort('linux', '24.1.0'), true);
  assert.equal(canReusePort('darwin', '24.1.0'), false);
  if (!canReusePort()) {
    t.skip('needs Linux and Node 22.12 or later');
    return;
  }
  const counters = new TestCounters();
  const engines = [new EchoEngine(), new EchoEngine()];
  const common = { counters, address: '127.0.0.1', reusePort: true };
  const [first, second] = engines as [EchoEngine, EchoEngine];
  const one = await openUdpListener({ ...common, engine: first, port: 0 });
  const two = await openUdpListener({ ...common, engine: second, port: one.port });
  t.after(() => Promise.all([one.close(), two.close()]));
  for (let index = 0; index < 64; index++) {
    await exchangeUdp(one.endpoint, question(`n${String(index)}.example`));
  }
  // 64 ports all on one side: once in 2^63 runs.
  assert.ok(first.seen.length > 0 && second.seen.length > 0);
  assert.equal(first.seen.length + second.seen.length, 64);
});
