/**
 * Worker of the native UDP tests: a listener that misbehaves on demand. The first byte of a packet
 * chooses: 9 throws, 8 never returns, 7 holds the answer and sends it later, 6 closes the listener,
 * 5 collects garbage (with --expose-gc), others are echoed. On the raw port a 9 makes the batch's own
 * callback throw, below the listener.
 */
import { parentPort } from 'node:worker_threads';
import { COUNTER_BLOCK_SLOTS } from '../../main/contract/counters.ts';
import type { Client } from '../../main/engine/query/ports.ts';
import { loadUdpAddon } from '../../main/net/native/native-udp-addon.ts';
import { openNativeUdpListener } from '../../main/net/listen/native-udp-listener.ts';
import { NativeUdpSocket } from '../../main/net/native/native-udp-socket.ts';
import type { Listener } from '../../main/net/listen/packet-handler.ts';

/** What the worker posts. */
export type ThreadReport =
  | { readonly kind: 'port'; readonly port: number; readonly rawPort: number }
  | { readonly kind: 'exception'; readonly message: string }
  | { readonly kind: 'open'; readonly sockets: number };

const { addon, reason } = loadUdpAddon();
if (addon === null || parentPort === null) throw new Error(reason);
const port = parentPort;

function report(message: ThreadReport): void {
  port.postMessage(message);
}

function handle(
  packet: Uint8Array,
  start: number,
  length: number,
  client: Client,
  out: Uint8Array,
  outStart: number,
): number {
  switch (packet[start]) {
    case 9:
      throw new Error('asked to throw');
    case 8:
      for (;;) Math.random();
    case 7: {
      const reply = client.hold();
      const bytes = packet.slice(start, start + length);
      setTimeout(() => reply.send(bytes, 0, bytes.length), packet[start + 1] as number);
      return -1;
    }
    case 6:
      void listener.close().then(() => report({ kind: 'open', sockets: addon!.openSockets() - 1 }));
      return 0;
    case 5:
      globalThis.gc?.();
      return 0;
    default:
      for (let at = 0; at < length; at++) out[outStart + at] = packet[start + at] as number;
      return length;
  }
}

process.on('uncaughtException', (error: Error) => {
  report({ kind: 'exception', message: error.message });
});

const listener: Listener = await openNativeUdpListener(addon, {
  engine: { handle },
  address: '127.0.0.1',
  port: 0,
  reusePort: false,
  counters: { slots: new Float64Array(COUNTER_BLOCK_SLOTS) },
});
const raw: NativeUdpSocket = new NativeUdpSocket(addon, {
  address: '127.0.0.1',
  port: 0,
  reusePort: false,
  slots: 8,
  bufferBytes: 0,
  onSendFailed: () => undefined,
  onBatch: (count) => {
    for (let slot = 0; slot < count; slot++) {
      if (raw.packets[slot * raw.slotBytes] === 9) throw new Error('asked to throw');
      raw.answers[slot] = raw.packets[slot * raw.slotBytes] as number;
      raw.answerOffsets[slot] = slot;
      raw.answerLengths[slot] = 1;
    }
  },
});
report({ kind: 'port', port: listener.port, rawPort: raw.port });
