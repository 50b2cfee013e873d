/**
 * The TCP listener over real connections: framing, pipelining, order, idle time and every bound.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { AppError } from '../../../main/contract/errors.ts';
import { LIMITS } from '../../../main/contract/limits.ts';
import { parseAddress } from '../../../main/net/listen/client-address.ts';
import type { Listener } from '../../../main/net/listen/packet-handler.ts';
import { TCP_BOUNDS, TcpClients, type TcpBounds } from '../../../main/net/listen/tcp-clients.ts';
import { openTcpListener } from '../../../main/net/listen/tcp-listener.ts';
import { askTcp, framed, question, readAnswer, TcpClient } from '../../support/dns-client.ts';
import { EchoEngine, TestCounters } from '../../support/net-fakes.ts';

interface Setup {
  engine: EchoEngine;
  counters: TestCounters;
  listener: Listener;
  readonly connect: (from?: string) => Promise<TcpClient>;
}

async function open(
  t: TestContext,
  bounds: Partial<TcpBounds> = {},
  address = '127.0.0.1',
  port = 0,
): Promise<Setup> {
  const engine = new EchoEngine();
  const counters = new TestCounters();
  const options = { engine, counters, address, port, reusePort: false };
  const listener = await openTcpListener(options, bounds);
  t.after(() => listener.close());
  const connect = async (from?: string): Promise<TcpClient> => {
    const client = await TcpClient.open(listener.endpoint, from);
    t.after(() => {
      client.destroy();
    });
    return client;
  };
  return { engine, counters, listener, connect };
}

function nameIn(bytes: Buffer): string {
  return readAnswer(bytes).questions?.[0]?.name ?? '';
}

async function until(isTrue: () => boolean): Promise<void> {
  const untilMs = performance.now() + 5_000;
  while (!isTrue()) {
    assert.ok(performance.now() < untilMs, 'waited 5 s');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

for (const address of ['127.0.0.1', '::1']) {
  test(`a question to ${address} is answered`, async (t) => {
    const { engine, listener, counters } = await open(t, {}, address);
    const answer = await askTcp(listener.endpoint, 'a.example');
    assert.equal(answer.questions?.[0]?.name, 'a.example');
    assert.equal(engine.seen[0]?.transport, 'tcp');
    await until(() => counters.get('tcpConnections') === 0);
  });
}

test('100 questions in one write are all answered', async (t) => {
  const { connect } = await open(t);
  const client = await connect();
  const names = Array.from({ length: 100 }, (_, index) => `n${String(index)}.example`);
  client.socket.write(Buffer.concat(names.map((name) => framed(question(name)))));
  for (const name of names) assert.equal(nameIn(await client.next()), name);
});

test('a question in single bytes is answered, prefix cut in two included', async (t) => {
  const { connect } = await open(t);
  const client = await connect();
  for (let round = 0; round < 2; round++) {
    for (const byte of framed(question('slow.example'))) {
      client.socket.write(Buffer.of(byte));
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal(nameIn(await client.next()), 'slow.example');
  }
});

test('a write that ends inside the second question', async (t) => {
  const { connect } = await open(t);
  const client = await connect();
  const bytes = Buffer.concat([framed(question('one.example')), framed(question('two.example'))]);
  client.socket.write(bytes.subarray(0, -5));
  assert.equal(nameIn(await client.next()), 'one.example');
  client.socket.write(bytes.subarray(-5));
  assert.equal(nameIn(await client.next()), 'two.example');
});

test('answers leave when they are ready, not in order', async (t) => {
  const { engine, connect } = await open(t);
  const client = await connect();
  client.send(question('late.example'));
  client.send(question('quick.example'));
  assert.equal(nameIn(await client.next()), 'quick.example');
  engine.release(0);
  assert.equal(nameIn(await client.next()), 'late.example');
});

test('a client that has shut down its side still gets its answers, then the end', async (t) => {
  const { engine, connect } = await open(t);
  const client = await connect();
  client.send(question('late.example'));
  client.socket.end();
  await engine.received(1);
  engine.release(0);
  assert.equal(nameIn(await client.next()), 'late.example');
  await client.closed();
});

test('an answer of 65,000 bytes arrives whole', async (t) => {
  const { engine, connect } = await open(t);
  engine.bigBytes = 65_000;
  const client = await connect();
  client.send(question('big.example'));
  assert.equal((await client.next()).length, 65_000);
});

test('reading stops at the bound of unanswered questions and goes on after answers', async (t) => {
  const { engine, connect } = await open(t);
  const client = await connect();
  const COUNT = LIMITS.tcpPipelineMax + 50;
  for (let index = 0; index < COUNT; index++) client.send(question(`late${String(index)}.example`));
  await engine.received(LIMITS.tcpPipelineMax);
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(engine.seen.length, LIMITS.tcpPipelineMax);
  for (let index = 0; index < COUNT; index++) {
    await engine.received(index + 1);
    engine.release(index);
  }
  for (let index = 0; index < COUNT; index++) {
    assert.equal(nameIn(await client.next()), `late${String(index)}.example`);
  }
});

test('an idle connection is closed; half a question does not keep it open', async (t) => {
  const { connect, counters } = await open(t, { idleMs: 200 });
  const [idle, dripping] = [await connect(), await connect()];
  const startedMs = performance.now();
  const drip = setInterval(() => dripping.socket.write(Buffer.of(0)), 20);
  t.after(() => {
    clearInterval(drip);
  });
  dripping.socket.write(Buffer.of(255, 255));
  await Promise.all([idle.closed(), dripping.closed()]);
  const tookMs = performance.now() - startedMs;
  assert.ok(tookMs >= 190, `closed after ${String(tookMs)} ms`);
  await until(() => counters.get('tcpConnections') === 0);
});

test('a connection in use outlives the idle time', async (t) => {
  const { connect } = await open(t, { idleMs: 200 });
  const client = await connect();
  for (let index = 0; index < 8; index++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    client.send(question('a.example'));
    assert.equal(nameIn(await client.next()), 'a.example');
  }
});

test('a client that does not read is bounded in memory and then closed', async (t) => {
  const { engine, connect, counters } = await open(t, { idleMs: 300 });
  const client = await connect();
  client.socket.pause();
  for (let index = 0; index < 3_000; index++) client.send(question('big.example'));
  await until(() => counters.get('tcpConnections') === 0);
  // What the kernel's buffers take differs; 3,000 answers of 60,000 bytes are far beyond it.
  assert.ok(engine.seen.length < 1_000, `${String(engine.seen.length)} questions were handled`);
});

test('late answers beyond the bound of unread bytes end the connection', async (t) => {
  const { engine, connect, counters } = await open(t);
  const client = await connect();
  client.socket.pause();
  for (let index = 0; index < 100; index++) client.send(question(`late${String(index)}.example`));
  await engine.received(100);
  const big = Buffer.alloc(65_000);
  for (const { to } of engine.held) to.send(big, 0, big.length);
  await until(() => counters.get('tcpConnections') === 0);
  assert.ok(counters.get('sendFailed') > 0);
});

test('connections beyond the bounds are refused and counted; a place that is free again is given', async (t) => {
  const { connect, counters } = await open(t, { connectionsMax: 3, connectionsPerLoopbackMax: 2 });
  const [first, second] = [await connect(), await connect()];
  const third = await connect();
  await third.closed();
  assert.equal(counters.get('tcpRefused'), 1);
  assert.equal(counters.get('tcpConnections'), 2);
  first.destroy();
  await until(() => counters.get('tcpConnections') === 1);
  const fourth = await connect();
  fourth.send(question('a.example'));
  assert.equal(nameIn(await fourth.next()), 'a.example');
  second.send(question('b.example'));
  assert.equal(nameIn(await second.next()), 'b.example');
});

test('programs of this machine share a wider bound than a client of the network', async (t) => {
  const { connect, counters } = await open(t, { connectionsPerClientMax: 1 });
  for (let count = 0; count < 40; count++) await connect();
  assert.equal(counters.get('tcpConnections'), 40);
  assert.equal(counters.get('tcpRefused'), 0);
});

test('the bound on all connections counts every listener of the thread', async (t) => {
  const counters = new TestCounters();
  const engine = new EchoEngine();
  const bounds = { connectionsMax: 2 };
  const options = { engine, counters, port: 0, reusePort: false, tcpClients: new TcpClients() };
  const one = await openTcpListener({ ...options, address: '127.0.0.1' }, bounds);
  const two = await openTcpListener({ ...options, address: '::1' }, bounds);
  t.after(() => Promise.all([one.close(), two.close()]));
  const clients: TcpClient[] = [];
  t.after(() => {
    for (const client of clients) client.destroy();
  });
  for (const { endpoint } of [one, one, two]) clients.push(await TcpClient.open(endpoint));
  await clients[0]?.closed();
  await until(() => counters.get('tcpEvicted') === 1);
  assert.equal(counters.get('tcpConnections'), 2);
  assert.equal(counters.get('tcpRefused'), 0);
});

async function isAnswered(client: TcpClient, name: string): Promise<void> {
  client.send(question(name));
  assert.equal(nameIn(await client.next()), name);
}

test('connections held by one host keep nobody else out: the one unused longest goes', async (t) => {
  const { connect, counters } = await open(t, { connectionsMax: 6 });
  const hogs: TcpClient[] = [];
  for (let count = 0; count < 6; count++) hogs.push(await connect('127.0.0.2'));
  await isAnswered(hogs[0] as TcpClient, 'used.example');
  await isAnswered(await connect('127.0.0.3'), 'other.example');
  await isAnswered(await connect('127.0.0.4'), 'third.example');
  await Promise.all([hogs[1]?.closed(), hogs[2]?.closed()]);
  await isAnswered(hogs[0] as TcpClient, 'still.example');
  const figures = (['tcpConnections', 'tcpEvicted', 'tcpRefused'] as const).map((name) =>
    counters.get(name),
  );
  assert.deepEqual(figures, [6, 2, 0]);
});

test('halves of questions sent byte by byte are no activity', async (t) => {
  const { connect } = await open(t, { connectionsMax: 4 });
  const hogs: TcpClient[] = [];
  for (let count = 0; count < 4; count++) hogs.push(await connect('127.0.0.2'));
  for (const byte of framed(question('slow.example')).subarray(0, -1)) {
    for (const hog of hogs) hog.socket.write(Buffer.of(byte));
    await new Promise((resolve) => setImmediate(resolve));
  }
  for (let last = 3; last < 6; last++) {
    await isAnswered(await connect(`127.0.0.${String(last)}`), 'other.example');
  }
  await Promise.all(hogs.slice(0, 3).map((hog) => hog.closed()));
});

test('questions that wait upstream hold a place only while nobody holds far less', async (t) => {
  const { engine, connect, counters } = await open(t, { connectionsMax: 3 });
  const hogs: TcpClient[] = [];
  for (let count = 0; count < 3; count++) {
    hogs.push(await connect('127.0.0.2'));
    hogs[count]?.send(question(`late${String(count)}.example`));
    await engine.received(count + 1);
  }
  await isAnswered(await connect('127.0.0.3'), 'other.example');
  await hogs[0]?.closed();
  // Two and one: the newcomer's would be as many as those that have something due.
  const refused = await connect('127.0.0.2');
  await refused.closed();
  assert.equal(counters.get('tcpRefused'), 1);
});

test('the same host takes its own places, and hosts with one each those unused longest', async (t) => {
  const { connect, counters } = await open(t, { connectionsMax: 3 });
  const own = [await connect('127.0.0.2'), await connect('127.0.0.2')];
  const other = await connect('127.0.0.3');
  await isAnswered(await connect('127.0.0.2'), 'own.example');
  await own[0]?.closed();
  await isAnswered(other, 'kept.example');
  await isAnswered(await connect('127.0.0.4'), 'fourth.example');
  await own[1]?.closed();
  await isAnswered(other, 'again.example');
  await isAnswered(await connect('127.0.0.5'), 'fifth.example');
  assert.equal(counters.get('tcpRefused'), 0);
});

test('the addresses of an IPv6 /64 are one client, those of IPv4 are not', () => {
  const clients = new TcpClients();
  const bounds = { ...TCP_BOUNDS, connectionsMax: 8 };
  const evicted: string[] = [];
  let activeMs = 0;
  const connect = (text: string): boolean => {
    const address = new Uint8Array(16);
    parseAddress(text, address);
    if (!clients.admit(address, text, bounds)) return false;
    const evict = () => evicted.push(text);
    clients.opened({ address, addressText: text, isIdle: true, activeMs: activeMs++, evict });
    return true;
  };
  for (const v4 of ['192.0.2.1', '192.0.2.2', '192.0.2.2']) assert.ok(connect(v4));
  for (let host = 1; host <= 5; host++) assert.ok(connect(`2001:db8:0:1::${String(host)}`));
  assert.ok(connect('2001:db8:0:2::1'));
  assert.ok(connect('2001:db8:0:1::6'));
  assert.ok(connect('192.0.2.3'));
  assert.deepEqual(
    evicted,
    [1, 2, 3].map((host) => `2001:db8:0:1::${String(host)}`),
  );
});

test('a client that vanishes leaves nothing behind', async (t) => {
  const { engine, connect, counters } = await open(t);
  const client = await connect();
  client.send(question('late.example'));
  await engine.received(1);
  client.socket.resetAndDestroy();
  await until(() => counters.get('tcpConnections') === 0);
  engine.release(0);
  assert.equal(counters.get('sendFailed'), 1);
});

test('stop refuses newcomers, sends what is due, and ends the connection', async (t) => {
  const { engine, listener, connect } = await open(t);
  const client = await connect();
  client.send(question('late.example'));
  await engine.received(1);
  listener.stop();
  await assert.rejects(TcpClient.open(listener.endpoint));
  engine.release(0);
  assert.equal(nameIn(await client.next()), 'late.example');
  await client.closed();
  await listener.close();
});

test('close ends open connections and frees the port', async (t) => {
  const { listener, connect } = await open(t);
  const client = await connect();
  await Promise.all([listener.close(), listener.close()]);
  await client.closed();
  const again = await open(t, {}, '127.0.0.1', listener.port);
  await askTcp(again.listener.endpoint, 'a.example');
});

test('a port in use: the error names the process', async (t) => {
  const { listener } = await open(t);
  await assert.rejects(open(t, {}, '127.0.0.1', listener.port), (error) => {
    assert.ok(error instanceof AppError);
    assert.equal(error.code, 'PORT_IN_USE');
    assert.match(error.message, /\(TCP\): it is used by/);
    return true;
  });
});
