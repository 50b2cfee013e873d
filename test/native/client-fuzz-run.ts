/**
 * Child process of test/fuzz/native-udp.test.ts: abuses the client side of the add-on for some
 * seconds, then says "ok". Arguments: seed, seconds. Needs --expose-gc. Opens, uses and closes
 * sockets in any order towards an echo, a silent server and a closed port; writes nonsense into the
 * shared block; lets clients be collected and threads end in the middle.
 */
import { once } from 'node:events';
import { createSocket } from 'node:dgram';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { COUNTER_BLOCK_SLOTS } from '../../main/contract/counters.ts';
import { loadUdpAddon, type UdpAddon } from '../../main/net/native/native-udp-addon.ts';
import { NativeUdpClient } from '../../main/net/transport/native-udp-client.ts';
import type { UdpClientSocket } from '../../main/net/transport/udp-client.ts';

interface Work {
  readonly seed: number;
  readonly ports: readonly number[];
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const { addon, reason } = loadUdpAddon();
if (addon === null) throw new Error(reason);
const totals = { opened: 0, sent: 0, heard: 0, broken: 0, nonsense: 0, ended: 0 };

/** Numbers 0..below-1 (xorshift32). */
function drawer(seed: number): (below: number) => number {
  let state = seed | 0 || 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

/** One client, used at random for some rounds. */
async function abuseClient(
  native: UdpAddon,
  draw: ReturnType<typeof drawer>,
  ports: readonly number[],
): Promise<void> {
  const client = new NativeUdpClient(native, { slots: new Float64Array(COUNTER_BLOCK_SLOTS) });
  const sockets: UdpClientSocket[] = [];
  const open = (): void => {
    const address = draw(30) === 0 ? '255.255.255.255' : '127.0.0.1';
    const port = ports[draw(ports.length)] ?? 0;
    const socket = client.open(
      { address, port, family: 4, transport: 'udp' },
      {
        received: () => {
          totals.heard++;
          if (draw(20) === 0) sockets[draw(sockets.length)]?.close();
          if (draw(20) === 0) open();
          if (draw(400) === 0) client.close();
        },
        broken: () => {
          totals.broken++;
          socket.close();
        },
      },
    );
    sockets.push(socket);
    totals.opened++;
  };
  for (let round = draw(60); round > 0; round--) {
    for (let count = draw(20); count > 0; count--) open();
    for (let count = draw(200); count > 0; count--) {
      sockets[draw(sockets.length)]?.send(Buffer.alloc(draw(draw(50) === 0 ? 9_000 : 300), 1));
      totals.sent++;
    }
    for (let count = draw(15); count > 0; count--) sockets[draw(sockets.length)]?.close();
    if (draw(10) === 0) globalThis.gc?.();
    await turn();
  }
  // Some are closed, some are left to whatever becomes of them.
  if (draw(3) > 0) client.close();
}

/** What only a mistake of ours would do: numbers of any size where the add-on reads. */
async function writeNonsense(native: UdpAddon, draw: ReturnType<typeof drawer>): Promise<void> {
  const client = native.openClient(() => undefined);
  const places = Array.from({ length: 5 }, () => client.connect('127.0.0.1', 9));
  for (let round = 0; round < 20; round++) {
    const size = client.packets - client.failures;
    const words = new Uint32Array(client.block, client.failures, size / 4);
    for (let count = 0; count < 300; count++) words[draw(words.length)] = draw(2 ** 32);
    for (let entry = 0; entry < client.queueMax; entry++) {
      const at = client.queueHandles / 4 + entry;
      if (draw(2) === 0) new Uint32Array(client.block)[at] = places[draw(5)] ?? 0;
    }
    new Int32Array(client.block, client.control, 1)[0] = draw(4) === 0 ? -1 : draw(300);
    client.flush();
    client.disconnect(draw(2) === 0 ? draw(2_000) : draw(2 ** 32));
    totals.nonsense++;
    await turn();
  }
  client.close();
}

async function work(native: UdpAddon, { seed, ports }: Work, isOver: () => boolean): Promise<void> {
  const draw = drawer(seed);
  while (!isOver()) {
    await abuseClient(native, draw, ports);
    await writeNonsense(native, draw);
  }
}

async function main(native: UdpAddon): Promise<void> {
  const [seed = 1, seconds = 3] = process.argv.slice(2).map(Number);
  const endsAt = Date.now() + seconds * 1000;
  const isOver = (): boolean => Date.now() > endsAt;
  const echo = createSocket('udp4').bind(0, '127.0.0.1');
  const silent = createSocket('udp4').bind(0, '127.0.0.1');
  await Promise.all([once(echo, 'listening'), once(silent, 'listening')]);
  echo.on('message', (bytes, { port }) => echo.send(bytes, port, '127.0.0.1'));
  const ports = [echo.address().port, echo.address().port, silent.address().port, 9];
  const own = work(native, { seed, ports }, isOver);
  const draw = drawer(seed ^ 0x5a5a);
  while (!isOver()) {
    const data: Work = { seed: draw(2 ** 31) + 1, ports };
    const worker = new Worker(new URL(import.meta.url), { workerData: data });
    await once(worker, 'message');
    for (let turns = draw(500); turns > 0; turns--) await turn();
    await worker.terminate();
    totals.ended++;
  }
  await own;
  echo.close();
  silent.close();
  process.stdout.write(`ok ${JSON.stringify(totals)}\n`);
}

if (isMainThread) {
  await main(addon);
} else {
  parentPort?.postMessage('started');
  await work(addon, workerData as Work, () => false);
}
