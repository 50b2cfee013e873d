/**
 * Child process of native-udp-faults.test.ts: asks 2,000 questions of a listener in small bursts and
 * prints, as JSON, how many were asked, answered and counted as failed. Argument: at-once or later.
 */
import { COUNTER, COUNTER_BLOCK_SLOTS } from '../../main/contract/counters.ts';
import type { Client } from '../../main/engine/query/ports.ts';
import { loadUdpAddon } from '../../main/net/native/native-udp-addon.ts';
import { openNativeUdpListener } from '../../main/net/listen/native-udp-listener.ts';
import { UdpClient } from './udp-client.ts';

const ASKED = 2_000;
const BURST = 40;
const isLate = process.argv[2] === 'later';
const { addon, reason } = loadUdpAddon();
if (addon === null) throw new Error(reason);
const counters = { slots: new Float64Array(COUNTER_BLOCK_SLOTS) };

function handle(
  packet: Uint8Array,
  start: number,
  length: number,
  client: Client,
  out: Uint8Array,
  outStart: number,
): number {
  if (isLate) {
    const reply = client.hold();
    const bytes = packet.slice(start, start + length);
    setImmediate(() => reply.send(bytes, 0, bytes.length));
    return -1;
  }
  for (let at = 0; at < length; at++) out[outStart + at] = packet[start + at] as number;
  return length;
}

const listener = await openNativeUdpListener(addon, {
  engine: { handle },
  address: '127.0.0.1',
  port: 0,
  reusePort: false,
  counters,
});
const asker = await UdpClient.open();
let asked = 0;
let heard = 0;
const failed = (): number => counters.slots[COUNTER.sendFailed] as number;
while (asked < ASKED) {
  for (let burst = 0; burst < BURST; burst++) {
    await asker.send(Buffer.from([asked >> 8, asked & 255, burst]), listener.port);
    asked++;
  }
  const deadline = Date.now() + 5_000;
  while (asker.waiting + heard + failed() < asked && Date.now() < deadline) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}
heard += asker.waiting;
await listener.close();
await asker.close();
process.stdout.write(JSON.stringify({ asked, heard, failed: failed() }));
