/** Client sockets of both kinds, node:dgram and the add-on, against the same expectations. */
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import { COUNTER_BLOCK_SLOTS } from '../../main/contract/counters.ts';
import { FLAG } from '../../main/dns/wire.ts';
import { NativeUdpClient } from '../../main/net/transport/native-udp-client.ts';
import type { PlainServer } from '../../main/net/server-address.ts';
import { dgramClient } from '../../main/net/transport/udp-client.ts';
import type { UdpClient, UdpClientSocket } from '../../main/net/transport/udp-client.ts';
import { question, replyTo } from '../support/dns-wire.ts';
import { builtAddon, missingForAddon } from './built-addon.ts';

const WAIT_MS = 5_000;

/** Waits for what sockets report; keeps the process alive meanwhile, as they do not. */
class Heard {
  readonly messages: Buffer[] = [];
  broken = 0;
  #wake: () => void = () => undefined;

  received(bytes: Buffer): void {
    this.messages.push(Buffer.from(bytes));
    this.#wake();
  }

  /** Called as the method of a user object. */
  breakOff(): void {
    this.broken++;
    this.#wake();
  }

  async until(isDone: () => boolean): Promise<void> {
    const endsAt = Date.now() + WAIT_MS;
    while (!isDone()) {
      assert.ok(Date.now() < endsAt, 'heard it in time');
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 100);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  get user(): Parameters<UdpClient['open']>[1] {
    return { received: (bytes) => this.received(bytes), broken: () => this.breakOff() };
  }
}

interface Server {
  readonly address: PlainServer;
  /** Source ports of what came, in order. */
  readonly ports: number[];
  send(bytes: Uint8Array, port: number): void;
}

/** A server that sends back what `answer` makes of a message; null for silence. */
async function serve(
  t: TestContext,
  answer: (bytes: Buffer) => Uint8Array | null,
  address = '127.0.0.1',
): Promise<Server> {
  const family = address.includes(':') ? 6 : 4;
  const socket = createSocket({ type: `udp${family}`, recvBufferSize: 4 * 1024 * 1024 });
  t.after(() => socket.close());
  const ports: number[] = [];
  socket.on('message', (bytes, peer) => {
    ports.push(peer.port);
    const reply = answer(bytes);
    if (reply !== null) socket.send(reply, peer.port, peer.address);
  });
  socket.bind(0, address);
  await once(socket, 'listening');
  const { port } = socket.address();
  return {
    address: { address, port, family, transport: 'udp' },
    ports,
    send: (bytes, to) => socket.send(bytes, to, address),
  };
}

const KINDS: readonly ['dgram' | 'native', string | false][] = [
  ['dgram', false],
  ['native', missingForAddon],
];

for (const [kind, skip] of KINDS) {
  describe(`client sockets: ${kind}`, { skip }, () => {
    async function open(t: TestContext): Promise<UdpClient> {
      if (kind === 'dgram') return dgramClient;
      const counters = { slots: new Float64Array(COUNTER_BLOCK_SLOTS) };
      const client = new NativeUdpClient(await builtAddon(), counters);
      t.after(() => client.close());
      return client;
    }

    for (const address of ['127.0.0.1', '::1']) {
      test(`many sockets to ${address}, each on its own port, each hears its own`, async (t) => {
        const server = await serve(t, (bytes) => bytes, address);
        const client = await open(t);
        const all = Array.from({ length: 100 }, (_, index) => {
          const heard = new Heard();
          const socket = client.open(server.address, heard.user);
          t.after(() => socket.close());
          for (let round = 0; round < 3; round++) socket.send(Buffer.from([index, round]));
          return heard;
        });
        for (const [index, heard] of all.entries()) {
          await heard.until(() => heard.messages.length === 3);
          const texts = heard.messages.map((bytes) => bytes.toString('hex')).sort();
          const expected = [0, 1, 2].map((round) => Buffer.from([index, round]).toString('hex'));
          assert.deepEqual(texts, expected);
        }
        assert.equal(new Set(server.ports).size, 100);
      });
    }

    test('a closed port is reported as broken, and nothing after close', async (t) => {
      const probe = createSocket('udp4').bind(0, '127.0.0.1');
      await once(probe, 'listening');
      const { port } = probe.address();
      await new Promise<void>((done) => probe.close(() => done()));
      const client = await open(t);
      const heard = new Heard();
      const to: PlainServer = { address: '127.0.0.1', port, family: 4, transport: 'udp' };
      const socket = client.open(to, heard.user);
      assert.equal(socket.send(Buffer.from([1])), true);
      assert.equal(heard.broken, 0, 'not before send has returned');
      await heard.until(() => heard.broken === 1);
      socket.close();
      socket.close();
      assert.equal(socket.send(Buffer.from([1])), false);
    });

    test('an address that cannot be reached is reported in a moment, not thrown', async (t) => {
      const client = await open(t);
      const heard = new Heard();
      const to: PlainServer = { address: '255.255.255.255', port: 53, family: 4, transport: 'udp' };
      const socket = client.open(to, heard.user);
      t.after(() => socket.close());
      socket.send(Buffer.from([1]));
      assert.equal(heard.broken, 0);
      await heard.until(() => heard.broken === 1);
    });

    test('what is queued when a socket closes never leaves from another one', async (t) => {
      const server = await serve(t, () => null);
      const client = await open(t);
      const [first, second] = [new Heard(), new Heard()];
      const closing = client.open(server.address, first.user);
      closing.send(Buffer.from([1]));
      closing.close();
      const next = client.open(server.address, second.user);
      t.after(() => next.close());
      next.send(Buffer.from([2]));
      await second.until(() => new Set(server.ports).size >= 1 && server.ports.length >= 1);
      assert.equal(new Set(server.ports).size, server.ports.length, 'a port each');
    });

    test('what comes for a closed socket reaches nobody', async (t) => {
      const server = await serve(t, () => null);
      const client = await open(t);
      const [first, second] = [new Heard(), new Heard()];
      const old = client.open(server.address, first.user);
      old.send(Buffer.from([1]));
      await first.until(() => server.ports.length === 1);
      server.send(Buffer.from([9]), server.ports[0] ?? 0);
      old.close();
      const next = client.open(server.address, second.user);
      t.after(() => next.close());
      next.send(Buffer.from([2]));
      await second.until(() => server.ports.length === 2);
      server.send(Buffer.from([3]), server.ports[1] ?? 0);
      await second.until(() => second.messages.length > 0);
      assert.deepEqual([first.messages.length, [...(second.messages[0] ?? [])]], [0, [3]]);
    });

    test('of one batch, what came for a socket closed meanwhile does not reach the next', async (t) => {
      const server = await serve(t, () => null);
      const client = await open(t);
      const [first, second] = [new Heard(), new Heard()];
      let next: UdpClientSocket | null = null;
      const old = client.open(server.address, {
        ...first.user,
        received: (bytes) => {
          first.received(bytes);
          old.close();
          next = client.open(server.address, second.user);
          next.send(Buffer.from([2]));
        },
      });
      t.after(() => next?.close());
      old.send(Buffer.from([1]));
      await first.until(() => server.ports.length === 1);
      // Sent in one turn, both lie in the socket's buffer when it is next read.
      for (const byte of [7, 8, 9]) server.send(Buffer.from([byte]), server.ports[0] ?? 0);
      await second.until(() => server.ports.length === 2);
      server.send(Buffer.from([3]), server.ports[1] ?? 0);
      await second.until(() => second.messages.length > 0);
      assert.deepEqual(
        first.messages.map((bytes) => [...bytes]),
        [[7]],
      );
      assert.deepEqual([...(second.messages[0] ?? [])], [3]);
    });
  });
}

describe('client sockets of the add-on', { skip: missingForAddon }, () => {
  test('a reply that is too long for its slot becomes a truncated one', async (t) => {
    const query = Buffer.from(question('long.example', 'TXT'));
    const long = Buffer.concat([replyTo(query), Buffer.alloc(5_000)]);
    const server = await serve(t, () => long);
    const counters = { slots: new Float64Array(COUNTER_BLOCK_SLOTS) };
    const client = new NativeUdpClient(await builtAddon(), counters);
    t.after(() => client.close());
    const heard = new Heard();
    const socket = client.open(server.address, heard.user);
    socket.send(query);
    await heard.until(() => heard.messages.length === 1);
    const [reply = Buffer.alloc(0)] = heard.messages;
    assert.equal(reply.length, query.length);
    assert.notEqual((reply[2] ?? 0) & FLAG.truncated, 0);
    assert.deepEqual([...reply.subarray(6, 12)], [0, 0, 0, 0, 0, 0]);
  });

  test('more sockets than there are places: the last ones break, the others work', async (t) => {
    const server = await serve(t, (bytes) => bytes);
    const addon = await builtAddon();
    const before = addon.openSockets();
    const client = new NativeUdpClient(addon, { slots: new Float64Array(COUNTER_BLOCK_SLOTS) });
    const heard = new Heard();
    const sockets = Array.from({ length: 1_030 }, () => client.open(server.address, heard.user));
    await heard.until(() => heard.broken === 6);
    sockets[1_023]?.send(Buffer.from([7]));
    await heard.until(() => heard.messages.length === 1);
    sockets[0]?.close();
    const again = client.open(server.address, heard.user);
    again.send(Buffer.from([8]));
    await heard.until(() => heard.messages.length === 2);
    client.close();
    client.close();
    again.close();
    assert.equal(again.send(Buffer.from([1])), false);
    while (addon.openSockets() > before) await new Promise((done) => setImmediate(done));
  });
});
