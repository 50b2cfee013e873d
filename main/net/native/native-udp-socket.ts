/**
 * A UDP socket that receives and sends in batches: the TypeScript end of main/native/udp.c. Used by
 * native-udp-listener.ts, and fit for a client's side too; in the thread that made it.
 *
 * Receiving: `onBatch(count)` is called with `count` slots filled. Slot i holds
 * packets[i * slotBytes, + lengths[i]), came from addresses[i], port portOf(i), and is gone when
 * the call returns. An answer is written to answers[at, at + n) anywhere, with answerLengths[i] = n
 * and answerOffsets[i] = at; all answers leave in one system call after the return.
 *
 * Sending to others or later: `send(peer, …)` copies into a queue that leaves in one system call at
 * the end of the event loop's turn. A peer is 48 bytes, from `copyPeer` or `writePeer`.
 */
import { copyBytes } from '../../dns/wire.ts';
import {
  CONTROL_FAILED,
  CONTROL_QUEUED,
  OPEN_DUAL_STACK,
  OPEN_REUSE_PORT,
  PEER_BYTES,
  PEER_STRIDE,
  type UdpAddon,
  type UdpAddonSocket,
} from './native-udp-addon.ts';

export interface NativeUdpOptions {
  /** Numeric; IPv6 may have a zone (fe80::1%eth0). */
  readonly address: string;
  /** 0 lets the system choose. */
  readonly port: number;
  readonly reusePort: boolean;
  /** An IPv6 socket that takes IPv4 too. */
  readonly dualStack?: boolean;
  /** Datagrams in a batch, 1..64. */
  readonly slots: number;
  /** Wanted size of the kernel's receive and send buffers; the system may give less. */
  readonly bufferBytes: number;
  readonly onBatch: (count: number) => void;
  /** Messages that were dropped: refused by the kernel, or too many in the queue. */
  readonly onSendFailed: (count: number) => void;
}

/** Port of a peer record, in 16-bit words. */
const PEER_PORT_WORD = 8;
const PEER_PORT_BYTE = 16;
const PEER_FAMILY_BYTE = 19;
const PEER_SCOPE_BYTE = 20;

export class NativeUdpSocket {
  /** As bound, without zone. */
  readonly address: string;
  readonly port: number;
  readonly slotBytes: number;
  readonly packets: Uint8Array;
  /** Bytes received a slot; slotBytes when the datagram was longer and cut off. */
  readonly lengths: Uint32Array;
  /** 16 bytes a slot, IPv4 as ::ffff:a.b.c.d; one view each, overwritten by the next batch. */
  readonly addresses: readonly Uint8Array[];
  readonly answers: Uint8Array;
  readonly answerLengths: Uint32Array;
  readonly answerOffsets: Uint32Array;
  readonly #socket: UdpAddonSocket;
  readonly #onSendFailed: (count: number) => void;
  readonly #control: Int32Array;
  readonly #peers: Uint8Array;
  readonly #ports: Uint16Array;
  readonly #queue: Uint8Array;
  readonly #queueMax: number;
  readonly #queueLengths: Uint32Array;
  readonly #queueOffsets: Uint32Array;
  readonly #queuePeers: Uint8Array;
  #queueBytes = 0;
  #isFlushScheduled = false;
  #closed: Promise<void> | null = null;

  /** @throws Error whose code is the errno name when the address cannot be bound */
  constructor(addon: UdpAddon, options: NativeUdpOptions) {
    const { onBatch, slots } = options;
    const flags =
      (options.reusePort ? OPEN_REUSE_PORT : 0) | (options.dualStack ? OPEN_DUAL_STACK : 0);
    const socket = addon.open(
      options.address,
      options.port,
      flags,
      slots,
      options.bufferBytes,
      (count) => {
        if (this.#control[CONTROL_FAILED] !== 0) this.#reportFailed();
        if (count > 0) onBatch(count);
      },
    );
    const { block } = socket;
    this.#socket = socket;
    this.#onSendFailed = options.onSendFailed;
    this.address = socket.address;
    this.port = socket.port;
    this.slotBytes = addon.slotBytes;
    this.packets = new Uint8Array(block, socket.packets, slots * addon.slotBytes);
    this.lengths = new Uint32Array(block, socket.lengths, slots);
    this.addresses = Array.from(
      { length: slots },
      (_, slot) => new Uint8Array(block, socket.peers + slot * PEER_STRIDE, 16),
    );
    this.answers = new Uint8Array(block, socket.answers, slots * addon.answerBytes);
    this.answerLengths = new Uint32Array(block, socket.answerLengths, slots);
    this.answerOffsets = new Uint32Array(block, socket.answerOffsets, slots);
    this.#control = new Int32Array(block, socket.control, 2);
    this.#peers = new Uint8Array(block, socket.peers, slots * PEER_STRIDE);
    this.#ports = new Uint16Array(block, socket.peers, slots * (PEER_STRIDE / 2));
    this.#queue = new Uint8Array(block, socket.queue, addon.queueBytes);
    this.#queueMax = addon.queueMax;
    this.#queueLengths = new Uint32Array(block, socket.queueLengths, addon.queueMax);
    this.#queueOffsets = new Uint32Array(block, socket.queueOffsets, addon.queueMax);
    this.#queuePeers = new Uint8Array(block, socket.queuePeers, addon.queueMax * PEER_STRIDE);
  }

  /** Port of the peer that a slot came from. */
  portOf(slot: number): number {
    return this.#ports[slot * (PEER_STRIDE / 2) + PEER_PORT_WORD] as number;
  }

  /** The peer of a slot, to keep: its address and the local address it asked. */
  copyPeer(slot: number): Uint8Array {
    return this.#peers.slice(slot * PEER_STRIDE, slot * PEER_STRIDE + PEER_BYTES);
  }

  /**
   * Queues bytes[start, start + length) for a peer. Copies; never waits. What cannot be queued or
   * sent is dropped and reported to `onSendFailed`.
   */
  send(peer: Uint8Array, bytes: Uint8Array, start: number, length: number): void {
    if (this.#closed !== null || !this.#makeRoom(length)) {
      this.#onSendFailed(1);
      return;
    }
    const entry = this.#control[CONTROL_QUEUED] as number;
    copyBytes(bytes, start, this.#queue, this.#queueBytes, length);
    this.#queuePeers.set(peer, entry * PEER_STRIDE);
    this.#queueLengths[entry] = length;
    this.#queueOffsets[entry] = this.#queueBytes;
    this.#queueBytes += length;
    this.#control[CONTROL_QUEUED] = entry + 1;
    if (this.#isFlushScheduled) return;
    this.#isFlushScheduled = true;
    setImmediate(this.#flushScheduled);
  }

  /** Sends the queue now. */
  flush(): void {
    if (this.#closed !== null || this.#control[CONTROL_QUEUED] === 0) return;
    this.#socket.flush();
    if (this.#control[CONTROL_FAILED] !== 0) this.#reportFailed();
  }

  /** Receives no more; `send` still works. */
  stop(): void {
    if (this.#closed === null) this.#socket.stop();
  }

  /** An open socket keeps the process running; `unref` takes that back. */
  unref(): void {
    if (this.#closed === null) this.#socket.unref();
  }

  /** Sends the queue and closes. Resolves when the port is free. Idempotent. */
  close(): Promise<void> {
    if (this.#closed !== null) return this.#closed;
    this.flush();
    this.#closed = new Promise((resolve) => {
      this.#socket.close(() => {
        if (this.#control[CONTROL_FAILED] !== 0) this.#reportFailed();
        resolve();
      });
    });
    return this.#closed;
  }

  readonly #flushScheduled = (): void => {
    this.#isFlushScheduled = false;
    this.flush();
  };

  /** Whether one more message fits; sends the queue when it is full. */
  #makeRoom(length: number): boolean {
    if (this.#fits(length)) return true;
    this.flush();
    return this.#fits(length);
  }

  #fits(length: number): boolean {
    const queued = this.#control[CONTROL_QUEUED] as number;
    if (queued === 0) this.#queueBytes = 0;
    return queued < this.#queueMax && this.#queueBytes + length <= this.#queue.length;
  }

  #reportFailed(): void {
    const count = this.#control[CONTROL_FAILED] as number;
    this.#control[CONTROL_FAILED] = 0;
    this.#onSendFailed(count);
  }
}

/**
 * Writes a peer record, for sending to an address that no packet came from.
 *
 * @param address  16 bytes, IPv4 as ::ffff:a.b.c.d
 * @param scope    interface index of a link-local address, else 0
 * @returns        PEER_BYTES bytes for `NativeUdpSocket.send`
 */
export function writePeer(address: Uint8Array, port: number, scope = 0): Uint8Array {
  const peer = new Uint8Array(PEER_BYTES);
  peer.set(address);
  new Uint16Array(peer.buffer)[PEER_PORT_BYTE / 2] = port;
  peer[PEER_FAMILY_BYTE] = isMapped(address) ? 4 : 6;
  new Uint32Array(peer.buffer)[PEER_SCOPE_BYTE / 4] = scope;
  return peer;
}

function isMapped(address: Uint8Array): boolean {
  for (let at = 0; at < 12; at++) if (address[at] !== (at < 10 ? 0 : 0xff)) return false;
  return true;
}
