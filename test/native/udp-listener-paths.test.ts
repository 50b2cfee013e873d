/**
 * The contract of a UDP listener (net/listen/packet-handler.ts), held by both ways of receiving: the
 * native batches and node:dgram. Every case runs on each.
 */
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { before, describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import { COUNTER, COUNTER_BLOCK_SLOTS } from '../../main/contract/counters.ts';
import type { Client, ReplyTo } from '../../main/engine/query/ports.ts';
import type { UdpAddon } from '../../main/net/native/native-udp-addon.ts';
import { openNativeUdpListener } from '../../main/net/listen/native-udp-listener.ts';
import type {
  Listener,
  ListenerOptions,
  PacketHandler,
} from '../../main/net/listen/packet-handler.ts';
import { openUdpListener } from '../../main/net/listen/udp-listener.ts';
import { builtAddon, missingForAddon } from './built-addon.ts';
import { UdpClient } from './udp-client.ts';

type Handle = PacketHandler['handle'];

/** Answers with the packet itself, its first byte raised by one. */
const echo: Handle = (packet, start, length, _client, out, outStart) => {
  for (let at = 0; at < length; at++) out[outStart + at] = packet[start + at] as number;
  out[outStart] = (packet[start] as number) + 1;
  return length;
};

function counterBlock(): { slots: Float64Array } {
  return { slots: new Float64Array(COUNTER_BLOCK_SLOTS) };
}

for (const path of ['native', 'dgram'] as const) {
  describe(`UDP listener over ${path}`, { skip: path === 'native' && missingForAddon }, () => {
    let addon: UdpAddon | null = null;
    before(async () => {
      if (path === 'native') addon = await builtAddon();
    });

    async function listen(
      t: TestContext,
      handle: Handle,
      more: Partial<ListenerOptions> = {},
    ): Promise<Listener> {
      const options: ListenerOptions = {
        engine: { handle },
        address: '127.0.0.1',
        port: 0,
        reusePort: false,
        counters: counterBlock(),
        ...more,
      };
      const listener = await (addon === null
        ? openUdpListener(options)
        : openNativeUdpListener(addon, options));
      t.after(() => listener.close());
      return listener;
    }

    async function client(
      t: TestContext,
      ...args: Parameters<typeof UdpClient.open>
    ): Promise<UdpClient> {
      const opened = await UdpClient.open(...args);
      t.after(() => opened.close());
      return opened;
    }

    test('answers, and says who asked', async (t) => {
      const seen: string[] = [];
      const listener = await listen(t, (packet, start, length, from, out, outStart) => {
        seen.push(`${Buffer.from(from.address).toString('hex')} ${from.transport} ${from.port}`);
        return echo(packet, start, length, from, out, outStart);
      });
      assert.equal(listener.endpoint, `127.0.0.1:${String(listener.port)}`);
      const asker = await client(t);
      await asker.send(Buffer.from([1, 2, 3]), listener.port);
      const { bytes, from, port } = await asker.receiveOne();
      assert.deepEqual([...bytes], [2, 2, 3]);
      assert.deepEqual([from, port], ['127.0.0.1', listener.port]);
      assert.deepEqual(seen, [`00000000000000000000ffff7f000001 udp ${String(asker.port)}`]);
    });

    test('answers over IPv6', async (t) => {
      let address = '';
      const handle: Handle = (packet, start, length, from, out, outStart) => {
        address = Buffer.from(from.address).toString('hex');
        return echo(packet, start, length, from, out, outStart);
      };
      const listener = await listen(t, handle, { address: '::1' });
      assert.equal(listener.endpoint, `[::1]:${String(listener.port)}`);
      const asker = await client(t, 'udp6');
      await asker.send(Buffer.from([7]), listener.port, '::1');
      assert.deepEqual([...(await asker.receiveOne()).bytes], [8]);
      assert.equal(address, `${'00'.repeat(15)}01`);
    });

    test('each of 1,000 questions sent at once gets its own answer', async (t) => {
      const listener = await listen(t, echo);
      const asker = await client(t);
      const sends = Array.from({ length: 1_000 }, (_, index) => {
        const bytes = Buffer.alloc(3 + (index % 97));
        bytes.writeUInt16BE(index, 1);
        return asker.send(bytes, listener.port);
      });
      await Promise.all(sends);
      const arrivals = await asker.receive(1_000);
      const seen = new Set(arrivals.map(({ bytes }) => bytes.readUInt16BE(1)));
      assert.equal(seen.size, 1_000);
      for (const { bytes } of arrivals)
        assert.equal(bytes.length, 3 + (bytes.readUInt16BE(1) % 97));
    });

    test('0 means no answer, and the next packet is served', async (t) => {
      const listener = await listen(t, (packet, start, length, from, out, outStart) =>
        packet[start] === 9 ? 0 : echo(packet, start, length, from, out, outStart),
      );
      const asker = await client(t);
      await asker.send(Buffer.from([9]), listener.port);
      await asker.send(Buffer.from([5]), listener.port);
      assert.deepEqual([...(await asker.receiveOne()).bytes], [6]);
      assert.equal(asker.waiting, 0);
    });

    test('held answers go to the right client, in any order', async (t) => {
      const held: { reply: ReplyTo; value: number }[] = [];
      const listener = await listen(t, (packet, start, _length, from) => {
        held.push({ reply: from.hold(), value: packet[start] as number });
        return -1;
      });
      const askers = await Promise.all(Array.from({ length: 8 }, () => client(t)));
      for (const [index, asker] of askers.entries()) {
        await asker.send(Buffer.from([index + 10]), listener.port);
      }
      while (held.length < askers.length) await new Promise((resolve) => setImmediate(resolve));
      const bytes = Buffer.alloc(20, 0xee);
      for (const { reply, value } of held.reverse()) {
        bytes[5] = value;
        reply.send(bytes, 5, 1);
      }
      for (const [index, asker] of askers.entries()) {
        assert.deepEqual([...(await asker.receiveOne()).bytes], [index + 10]);
      }
    });

    test('a datagram that is empty, or longer than any question, reaches the handler as such', async (t) => {
      const lengths: number[] = [];
      const listener = await listen(t, (_packet, _start, length) => {
        lengths.push(length);
        return 0;
      });
      const asker = await client(t);
      for (const bytes of [0, 1, 4_096, 4_097, 65_507]) {
        await asker.send(Buffer.alloc(bytes), listener.port);
      }
      while (lengths.length < 5) await new Promise((resolve) => setImmediate(resolve));
      assert.deepEqual(lengths.slice(0, 3), [0, 1, 4_096]);
      assert.equal(lengths[3], 4_097);
      assert.ok((lengths[4] as number) > 4_096);
    });

    test('a second listener on the port is told who holds it', async (t) => {
      const listener = await listen(t, echo);
      await assert.rejects(listen(t, echo, { port: listener.port }), {
        code: 'PORT_IN_USE',
        message: new RegExp(String(process.pid)),
      });
    });

    test('an address that the machine does not have is named', async (t) => {
      await assert.rejects(listen(t, echo, { address: '203.0.113.7' }), {
        code: 'ADDRESS_UNAVAILABLE',
        message: /203\.0\.113\.7/,
      });
    });

    test('stop: no more questions, but held answers still leave', async (t) => {
      const held: ReplyTo[] = [];
      const listener = await listen(t, (_packet, _start, _length, from) => {
        held.push(from.hold());
        return -1;
      });
      const asker = await client(t);
      await asker.send(Buffer.from([1]), listener.port);
      while (held.length < 1) await new Promise((resolve) => setImmediate(resolve));
      listener.stop();
      await asker.send(Buffer.from([2]), listener.port);
      held[0]?.send(Buffer.from([99]), 0, 1);
      assert.deepEqual([...(await asker.receiveOne()).bytes], [99]);
      assert.equal(held.length, 1);
    });

    test('close frees the port, is idempotent, and later answers count as failed', async (t) => {
      const counters = counterBlock();
      const held: ReplyTo[] = [];
      const handle: Handle = (_packet, _start, _length, from: Client) => {
        held.push(from.hold());
        return -1;
      };
      const listener = await listen(t, handle, { counters });
      const asker = await client(t);
      await asker.send(Buffer.from([1]), listener.port);
      while (held.length === 0) await new Promise((resolve) => setImmediate(resolve));
      await Promise.all([listener.close(), listener.close()]);
      await listener.close();
      const other = createSocket('udp4');
      other.bind(listener.port, '127.0.0.1');
      await once(other, 'listening');
      other.close();
      held[0]?.send(Buffer.from([1]), 0, 1);
      assert.equal(counters.slots[COUNTER.sendFailed], 1);
    });

    test('close from within the handler', async (t) => {
      const closing: Promise<void>[] = [];
      const listener = await listen(t, () => {
        closing.push(listener.close());
        return 0;
      });
      const asker = await client(t);
      await asker.send(Buffer.from([1]), listener.port);
      while (closing.length === 0) await new Promise((resolve) => setImmediate(resolve));
      await closing[0];
    });

    test('several listeners share a port with reusePort', async (t) => {
      const first = await listen(t, echo, { reusePort: true });
      const second = await listen(t, echo, { reusePort: true, port: first.port });
      assert.equal(second.port, first.port);
      for (let round = 0; round < 20; round++) {
        const asker = await client(t);
        await asker.send(Buffer.from([round]), first.port);
        assert.deepEqual([...(await asker.receiveOne()).bytes], [round + 1]);
      }
    });
  });
}
