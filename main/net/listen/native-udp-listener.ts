/**
 * Listens for questions over UDP in batches (Linux, main/native); the drop-in for udp-listener.ts,
 * with the same contract. Runs in a data-plane thread.
 *
 *     recvmmsg ─▶ slots ─onBatch─▶ engine.handle, slot by slot ─▶ answers, packed ─▶ sendmmsg
 *                                       └─ -1: the answer comes later through `hold`
 *
 * Packets of a batch are read ahead, up to sixteen, then answered one by one.
 *
 * Nothing is allocated for an answer given at once: each slot has its client object for good, whose
 * address is a view of the slot's record. Answers leave from the address that was asked.
 */
import type { Client, Counters, ReplyTo } from '../../engine/query/ports.ts';
import { AHEAD } from '../../engine/read-ahead.ts';
import { COUNTER } from '../../contract/counters.ts';
import { bindError } from './bind-error.ts';
import type { UdpAddon } from '../native/native-udp-addon.ts';
import { NativeUdpSocket } from '../native/native-udp-socket.ts';
import {
  isBatchHandler,
  type BatchHandler,
  type Listener,
  type ListenerOptions,
  type PacketHandler,
} from './packet-handler.ts';
import { formatEndpoint } from '../server-address.ts';

/** Most datagrams in a batch, the add-on's own bound. */
const SLOTS = 64;
/** Asked of the kernel, which grants at most net.core.rmem_max and wmem_max. */
const SOCKET_BUFFER_BYTES = 4 * 1024 * 1024;
/** Answers begin on a cache line of their own. */
const ANSWER_ALIGNMENT = 64;

/**
 * Opens a UDP listener. IPv6 sockets take IPv6 only.
 *
 * @throws AppError PORT_IN_USE (naming the process), PORT_FORBIDDEN, ADDRESS_UNAVAILABLE
 */
export function openNativeUdpListener(
  addon: UdpAddon,
  options: ListenerOptions,
): Promise<Listener> {
  try {
    return Promise.resolve(new NativeUdpListener(addon, options));
  } catch (error) {
    const cause = error as NodeJS.ErrnoException;
    const { address, port, isRetry } = options;
    return Promise.reject(bindError(cause, 'udp', address, port, 'dns', isRetry));
  }
}

class NativeUdpListener implements Listener {
  readonly endpoint: string;
  readonly port: number;
  readonly #engine: PacketHandler;
  /** The same, if it reads ahead. */
  readonly #batch: BatchHandler | null;
  readonly #socket: NativeUdpSocket;
  readonly #clients: readonly SlotClient[];
  /** Slot that is being served, and the end of the answers written so far. */
  #slot = 0;
  #end = 0;

  constructor(addon: UdpAddon, options: ListenerOptions) {
    const { engine, address, port, reusePort, counters } = options;
    this.#engine = engine;
    this.#batch = isBatchHandler(engine) ? engine : null;
    const socket = new NativeUdpSocket(addon, {
      address,
      port,
      reusePort,
      slots: SLOTS,
      bufferBytes: SOCKET_BUFFER_BYTES,
      onBatch: (count) => {
        this.#serve(count);
      },
      onSendFailed: (count) => {
        countFailedSends(counters, count);
      },
    });
    this.#socket = socket;
    this.#clients = socket.addresses.map((bytes, slot) => new SlotClient(socket, slot, bytes));
    this.endpoint = formatEndpoint(socket.address, socket.port);
    this.port = socket.port;
  }

  stop(): void {
    this.#socket.stop();
  }

  close(): Promise<void> {
    return this.#socket.close();
  }

  #serve(count: number): void {
    this.#slot = 0;
    this.#end = 0;
    this.#batch?.beginBatch();
    while (this.#slot < count) {
      try {
        this.#serveUpTo(count);
      } catch (error) {
        // One packet's exception must not cost the others of the batch their answers.
        this.#slot++;
        queueMicrotask(() => {
          throw error;
        });
      }
    }
    this.#batch?.endBatch();
  }

  #serveUpTo(count: number): void {
    while (this.#slot < count) {
      const first = this.#slot;
      const ahead = Math.min(count - first, AHEAD);
      if (ahead === 1 || this.#batch === null) this.#serveOne(first);
      else this.#serveAhead(this.#batch, first, ahead);
    }
  }

  #serveOne(slot: number): void {
    const { packets, lengths, slotBytes, answers } = this.#socket;
    const at = slot * slotBytes;
    const length = lengths[slot] as number;
    const client = this.#client(slot);
    this.#took(slot, this.#engine.handle(packets, at, length, client, answers, this.#end));
  }

  #serveAhead(engine: BatchHandler, first: number, count: number): void {
    const { packets, lengths, slotBytes, answers } = this.#socket;
    engine.readAhead(packets, slotBytes, lengths, first, count);
    for (let index = 0; index < count; index++) {
      const client = this.#client(first + index);
      this.#took(first + index, engine.handleRead(index, client, answers, this.#end));
    }
  }

  #client(slot: number): SlotClient {
    const client = this.#clients[slot] as SlotClient;
    client.port = this.#socket.portOf(slot);
    return client;
  }

  /** A slot is served, with an answer of so many bytes at the end of the answers. */
  #took(slot: number, written: number): void {
    this.#slot = slot + 1;
    if (written <= 0) return;
    const { answerLengths, answerOffsets } = this.#socket;
    answerLengths[slot] = written;
    answerOffsets[slot] = this.#end;
    this.#end = (this.#end + written + ANSWER_ALIGNMENT - 1) & -ANSWER_ALIGNMENT;
  }
}

function countFailedSends(counters: Counters, count: number): void {
  const slots = counters.slots;
  slots[COUNTER.sendFailed] = (slots[COUNTER.sendFailed] as number) + count;
}

/** The sender of a slot's packet; one object a slot for the life of the listener. */
class SlotClient implements Client {
  readonly address: Uint8Array;
  port = 0;
  readonly transport = 'udp';
  readonly #socket: NativeUdpSocket;
  readonly #slot: number;

  constructor(socket: NativeUdpSocket, slot: number, address: Uint8Array) {
    this.address = address;
    this.#socket = socket;
    this.#slot = slot;
  }

  hold(): ReplyTo {
    return new HeldPeer(this.#socket, this.#socket.copyPeer(this.#slot));
  }
}

/** The way back for an answer that comes later. */
class HeldPeer implements ReplyTo {
  readonly #socket: NativeUdpSocket;
  readonly #peer: Uint8Array;

  constructor(socket: NativeUdpSocket, peer: Uint8Array) {
    this.#socket = socket;
    this.#peer = peer;
  }

  send(bytes: Uint8Array, start: number, length: number): void {
    this.#socket.send(this.#peer, bytes, start, length);
  }
}
