/** What only the native socket does: pktinfo, the queue, its bounds, and use as a client. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import { parseAddress } from '../../main/net/listen/client-address.ts';
import type { UdpAddon } from '../../main/net/native/native-udp-addon.ts';
import {
  NativeUdpSocket,
  writePeer,
  type NativeUdpOptions,
} from '../../main/net/native/native-udp-socket.ts';
import { builtAddon, missingForAddon } from './built-addon.ts';
import { UdpClient } from './udp-client.ts';

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('native UDP socket', { skip: missingForAddon }, () => {
  let addon: UdpAddon;
  before(async () => {
    addon = await builtAddon();
  });

  function open(t: TestContext, options: Partial<NativeUdpOptions> = {}): NativeUdpSocket {
    const socket = new NativeUdpSocket(addon, {
      address: '127.0.0.1',
      port: 0,
      reusePort: false,
      slots: 64,
      bufferBytes: 0,
      onBatch: () => undefined,
      onSendFailed: () => assert.fail('a send failed'),
      ...options,
    });
    t.after(() => socket.close());
    return socket;
  }

  for (const [wildcard, asked, type] of [
    ['0.0.0.0', '127.0.0.2', 'udp4'],
    ['::', '::1', 'udp6'],
  ] as const) {
    test(`on ${wildcard}, answers at once and later leave from ${asked}`, async (t) => {
      const peers: Uint8Array[] = [];
      const socket: NativeUdpSocket = open(t, {
        address: wildcard,
        onBatch: (count) => {
          for (let slot = 0; slot < count; slot++) {
            peers.push(socket.copyPeer(slot));
            socket.answers[slot] = 77;
            socket.answerOffsets[slot] = slot;
            socket.answerLengths[slot] = 1;
          }
        },
      });
      const asker = await UdpClient.open(type, { address: asked, port: socket.port });
      t.after(() => asker.close());
      await asker.send(Buffer.from([1]));
      assert.deepEqual([...(await asker.receiveOne()).bytes], [77]);
      socket.send(peers[0] as Uint8Array, Buffer.from([88]), 0, 1);
      assert.deepEqual([...(await asker.receiveOne()).bytes], [88]);
    });
  }

  test('a dual-stack socket answers IPv4 from the address asked', async (t) => {
    const peers: Uint8Array[] = [];
    const socket: NativeUdpSocket = open(t, {
      address: '::',
      dualStack: true,
      onBatch: () => peers.push(socket.copyPeer(0)),
    });
    const asker = await UdpClient.open('udp4', { address: '127.0.0.3', port: socket.port });
    t.after(() => asker.close());
    await asker.send(Buffer.from([1]));
    while (peers.length === 0) await nextTurn();
    const address = Buffer.from(peers[0] as Uint8Array).subarray(0, 16);
    assert.equal(address.toString('hex').slice(0, 24), '00000000000000000000ffff');
    socket.send(peers[0] as Uint8Array, Buffer.from([5]), 0, 1);
    assert.deepEqual([...(await asker.receiveOne()).bytes], [5]);
  });

  test('works as a client: asks many servers, hears their answers in batches', async (t) => {
    const server: NativeUdpSocket = open(t, {
      onBatch: (count) => {
        for (let slot = 0; slot < count; slot++) {
          const from = slot * server.slotBytes;
          server.answers[slot] = (server.packets[from] as number) ^ 0x80;
          server.answerOffsets[slot] = slot;
          server.answerLengths[slot] = 1;
        }
      },
    });
    const heard: number[] = [];
    const asker: NativeUdpSocket = open(t, {
      onBatch: (count) => {
        for (let slot = 0; slot < count; slot++) {
          assert.equal(asker.portOf(slot), server.port);
          heard.push(asker.packets[slot * asker.slotBytes] as number);
        }
      },
    });
    const address = new Uint8Array(16);
    parseAddress('127.0.0.1', address);
    const peer = writePeer(address, server.port);
    for (let value = 0; value < 100; value++) asker.send(peer, Uint8Array.of(value), 0, 1);
    while (heard.length < 100) await nextTurn();
    assert.deepEqual(
      heard.sort((a, b) => a - b),
      Array.from({ length: 100 }, (_, value) => value ^ 0x80),
    );
  });

  test('queued messages leave in the same turn of the loop, and not before', async (t) => {
    const socket = open(t);
    const receiver = await UdpClient.open();
    t.after(() => receiver.close());
    const address = new Uint8Array(16);
    parseAddress('127.0.0.1', address);
    socket.send(writePeer(address, receiver.port), Buffer.from('one'), 0, 3);
    socket.send(writePeer(address, receiver.port), Buffer.from('..two..'), 2, 3);
    assert.equal(receiver.waiting, 0);
    const arrivals = await receiver.receive(2);
    assert.deepEqual(
      arrivals.map(({ bytes }) => bytes.toString()),
      ['one', 'two'],
    );
  });

  test('what the kernel refuses is counted, the rest of the queue still leaves', async (t) => {
    let failed = 0;
    const socket = open(t, { onSendFailed: (count) => (failed += count) });
    const receiver = await UdpClient.open();
    t.after(() => receiver.close());
    const address = new Uint8Array(16);
    parseAddress('127.0.0.1', address);
    const peer = writePeer(address, receiver.port);
    const tooLarge = new Uint8Array(70_000);
    socket.send(peer, Uint8Array.of(1), 0, 1);
    socket.send(peer, tooLarge, 0, tooLarge.length);
    socket.send(writePeer(address, 0), Uint8Array.of(2), 0, 1);
    socket.send(peer, Uint8Array.of(3), 0, 1);
    socket.send(peer, new Uint8Array(200_000), 0, 200_000);
    const arrivals = await receiver.receive(2);
    assert.deepEqual(
      arrivals.map(({ bytes }) => bytes[0]),
      [1, 3],
    );
    assert.equal(failed, 3);
  });

  test('an IPv4 socket refuses an IPv6 peer', async (t) => {
    let failed = 0;
    const socket = open(t, { onSendFailed: (count) => (failed += count) });
    const address = new Uint8Array(16);
    parseAddress('::1', address);
    socket.send(writePeer(address, 53), Uint8Array.of(1), 0, 1);
    socket.flush();
    assert.equal(failed, 1);
    await nextTurn();
  });

  test('answers outside the answer area are dropped and counted', async (t) => {
    let failed = 0;
    const socket: NativeUdpSocket = open(t, {
      onSendFailed: (count) => (failed += count),
      onBatch: (count) => {
        for (let slot = 0; slot < count; slot++) {
          socket.answerOffsets[slot] = 0xffff_fff0;
          socket.answerLengths[slot] = 100;
        }
      },
    });
    const asker = await UdpClient.open();
    t.after(() => asker.close());
    await asker.send(Buffer.from([1]), socket.port);
    while (failed === 0) await nextTurn();
    assert.equal(failed, 1);
  });

  test('wrong arguments and foreign objects throw, a closed socket does nothing', async () => {
    const never = (): void => undefined;
    const code = 'ERR_INVALID_ARG_VALUE';
    assert.throws(() => addon.open('127.0.0.1', 70_000, 0, 64, 0, never), { code });
    assert.throws(() => addon.open('127.0.0.1', 0, 0, 65, 0, never), { code });
    assert.throws(() => addon.open('127.0.0.1', 0, 0, 0, 0, never), { code });
    assert.throws(() => addon.open('127.0.0.1', 0, 0, 64, 0, 'x' as never), { code });
    assert.throws(() => addon.open('127.0.0.1\0x', 0, 0, 64, 0, never), { code });
    assert.throws(() => addon.open('x'.repeat(500), 0, 0, 64, 0, never), { code });
    assert.throws(() => addon.open('localhost', 0, 0, 64, 0, never), { code: 'EINVAL' });
    const socket = addon.open('127.0.0.1', 0, 0, 1, 0, never);
    assert.throws(() => socket.flush.call({} as never), TypeError);
    assert.throws(() => socket.close(undefined as never), TypeError);
    await new Promise<void>((resolve) => socket.close(resolve));
    assert.throws(() => socket.close(never), { code: 'EBADF' });
    socket.flush();
    socket.stop();
    socket.ref();
    socket.unref();
  });

  test('failed opens and closed sockets leave nothing behind', async () => {
    const before = addon.openSockets();
    const never = (): void => undefined;
    for (let round = 0; round < 50; round++) {
      assert.throws(() => addon.open('203.0.113.9', 0, 0, 8, 0, never), { code: 'EADDRNOTAVAIL' });
      const socket = addon.open('127.0.0.1', 0, 0, 8, 0, never);
      assert.equal(addon.openSockets(), before + 1);
      await new Promise<void>((resolve) => socket.close(resolve));
    }
    assert.equal(addon.openSockets(), before);
  });
});
