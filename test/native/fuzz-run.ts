/**
 * Child process of test/fuzz/native-udp.test.ts: abuses the add-on for some seconds, then says "ok".
 * Arguments: seed, seconds. Needs --expose-gc. Random packets of every size to threads that echo,
 * hold, throw, collect garbage and close; threads ended in the middle; sockets of random slot
 * counts opened, used and closed in this thread too.
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { parseAddress } from '../../main/net/listen/client-address.ts';
import { loadUdpAddon, type UdpAddon } from '../../main/net/native/native-udp-addon.ts';
import { NativeUdpSocket, writePeer } from '../../main/net/native/native-udp-socket.ts';
import type { ThreadReport } from './udp-thread.ts';

const [seed = 1, seconds = 3] = process.argv.slice(2).map(Number);
const SIZES = [0, 1, 2, 12, 40, 512, 4_095, 4_096, 4_159, 4_160, 4_161, 9_000, 65_507];
const THREADS = 3;
/** First byte that makes a socket of this thread close itself. */
const CLOSE = 6;

let state = seed | 0;
/** A whole number in 0..below-1 (xorshift32). */
function draw(below: number): number {
  state ^= state << 13;
  state ^= state >>> 17;
  state ^= state << 5;
  return (state >>> 0) % below;
}

const endsAt = Date.now() + seconds * 1000;
const isOver = (): boolean => Date.now() > endsAt;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const collect = globalThis.gc ?? (() => assertGc());
const totals = { sent: 0, heard: 0, exceptions: 0, ended: 0, failed: 0, opened: 0 };

function assertGc(): never {
  throw new Error('run with --expose-gc');
}

/** Mostly echoes (1) and held answers (7); now and then a throw (9), gc (5) or close (6). */
function firstByte(): number {
  const number = draw(400);
  if (number === 0) return 6;
  if (number < 4) return 9;
  if (number < 10) return 5;
  return number % 3 === 0 ? 7 : 1;
}

function randomPacket(): Buffer {
  const length = draw(8) === 0 ? (SIZES[draw(SIZES.length)] as number) : draw(300);
  const bytes = Buffer.alloc(length, draw(256));
  if (length > 0) bytes[0] = firstByte();
  return bytes;
}

async function abuseThread(): Promise<void> {
  const client = createSocket({ type: 'udp4', recvBufferSize: 64 * 1024 });
  client.on('message', () => totals.heard++);
  client.bind(0, '127.0.0.1');
  await once(client, 'listening');
  while (!isOver()) {
    const worker = new Worker(new URL('udp-thread.ts', import.meta.url));
    const [first] = (await once(worker, 'message')) as [ThreadReport];
    if (first.kind !== 'port') throw new Error('a thread did not start');
    const thread = { isClosed: false };
    worker.on('message', (report: ThreadReport) => {
      if (report.kind === 'exception') totals.exceptions++;
      if (report.kind === 'open') thread.isClosed = true;
    });
    const rounds = 20 + draw(200);
    for (let round = 0; round < rounds && !thread.isClosed && !isOver(); round++) {
      for (let packet = draw(150); packet > 0; packet--) {
        client.send(randomPacket(), draw(4) === 0 ? first.rawPort : first.port, '127.0.0.1');
        totals.sent++;
      }
      await turn();
    }
    if (draw(3) === 0) client.send(Buffer.from([8]), first.port, '127.0.0.1');
    if (draw(2) === 0) await turn();
    await worker.terminate();
    totals.ended++;
  }
  client.close();
}

function openPeer(addon: UdpAddon, slots: number): NativeUdpSocket {
  totals.opened++;
  const socket: NativeUdpSocket = new NativeUdpSocket(addon, {
    address: draw(2) === 0 ? '0.0.0.0' : '127.0.0.1',
    port: 0,
    reusePort: false,
    slots,
    bufferBytes: draw(2) * 8_192,
    onSendFailed: (count) => (totals.failed += count),
    onBatch: (count) => {
      if (draw(50) === 0) collect();
      for (let slot = 0; slot < count; slot++) {
        socket.answerLengths[slot] = draw(5) === 0 ? draw(2 ** 31) : draw(200);
        socket.answerOffsets[slot] = draw(50) === 0 ? draw(2 ** 31) : draw(2_000);
      }
      if (draw(100) === 0 || socket.packets[0] === CLOSE) void socket.close();
    },
  });
  return socket;
}

/** Opens a socket that nothing in JavaScript refers to; returns its port. */
function abandonSocket(addon: UdpAddon): number {
  return openPeer(addon, 64).port;
}

const stranger = createSocket('udp4');

function sendTo(port: number, first = 1): Promise<void> {
  return new Promise((resolve) =>
    stranger.send(Buffer.of(first), port, '127.0.0.1', () => resolve()),
  );
}

async function abuseSockets(addon: UdpAddon): Promise<void> {
  const address = new Uint8Array(16);
  parseAddress('127.0.0.1', address);
  const abandonedPorts: number[] = [];
  while (!isOver()) {
    const pair = [openPeer(addon, 1 + draw(64)), openPeer(addon, 1 + draw(64))] as const;
    for (let round = draw(60); round > 0; round--) {
      const from = pair[draw(2)] as NativeUdpSocket;
      const peer = writePeer(address, draw(20) === 0 ? 0 : pair[draw(2)]!.port, draw(2));
      if (draw(4) === 0) crypto.getRandomValues(peer);
      for (let count = draw(200); count > 0; count--) {
        from.send(peer, new Uint8Array(400), draw(100), draw(300));
      }
      if (draw(3) === 0) from.flush();
      if (draw(20) === 0) collect();
      await turn();
    }
    const abandoned = abandonSocket(addon);
    if (draw(2) === 0) await Promise.all(pair.map((socket) => socket.close()));
    else pair.forEach((socket) => void socket.close());
    collect();
    for (let sent = 0; sent < 200; sent++) await sendTo(abandoned);
    collect();
    abandonedPorts.push(abandoned);
    await sendTo(abandoned, CLOSE);
  }
  while (addon.openSockets() > 0) {
    for (const port of abandonedPorts) await sendTo(port, CLOSE);
    await turn();
  }
  stranger.close();
}

process.on('uncaughtException', (error) => {
  process.stderr.write(`uncaught: ${error.stack ?? ''}\n`);
  process.exit(3);
});
const { addon, reason } = loadUdpAddon();
if (addon === null) throw new Error(reason);
await Promise.all([...Array.from({ length: THREADS }, abuseThread), abuseSockets(addon)]);
process.stdout.write(`ok ${JSON.stringify(totals)}\n`);
