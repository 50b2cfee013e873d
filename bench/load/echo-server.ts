/**
 * What echo.c does, through a listener of this program: sets the QR bit and sends back. Argument:
 * port. SLUICE_UDP=dgram or native chooses the listener. On SIGTERM it prints packets and the CPU
 * seconds since it began to listen, as echo.c does.
 */
import { COUNTER, COUNTER_BLOCK_SLOTS } from '../../main/contract/counters.ts';
import type { Client } from '../../main/engine/query/ports.ts';
import { loadUdpAddon } from '../../main/net/native/native-udp-addon.ts';
import { openNativeUdpListener } from '../../main/net/listen/native-udp-listener.ts';
import { openUdpListener } from '../../main/net/listen/udp-listener.ts';

let packets = 0;

function handle(
  packet: Uint8Array,
  start: number,
  length: number,
  _client: Client,
  out: Uint8Array,
  outStart: number,
): number {
  packets++;
  for (let at = 0; at < length; at++) out[outStart + at] = packet[start + at] as number;
  out[outStart + 2] = (packet[start + 2] as number) | 0x80;
  return length;
}

const counters = { slots: new Float64Array(COUNTER_BLOCK_SLOTS) };
const options = {
  engine: { handle },
  address: '127.0.0.1',
  port: Number(process.argv[2]),
  reusePort: false,
  counters,
};
const { addon } = loadUdpAddon();
const listener = await (addon === null
  ? openUdpListener(options)
  : openNativeUdpListener(addon, options));
const before = process.cpuUsage();
process.stdout.write('listening\n');
process.on('SIGTERM', () => {
  const used = process.cpuUsage(before);
  const failed = counters.slots[COUNTER.sendFailed] as number;
  const cpu = ((used.user + used.system) / 1e6).toFixed(3);
  process.stdout.write(`packets ${String(packets)} failed ${String(failed)} cpu ${cpu}\n`);
  void listener.close();
});
