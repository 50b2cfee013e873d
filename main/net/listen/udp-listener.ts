/**
 * Listens for questions over UDP with node:dgram, one callback a packet; runs in a data-plane
 * thread. Only socket work is here: the packet itself is the handler's (packet-handler.ts).
 *
 *     socket ─message─▶ client address ─▶ engine.handle ─▶ send slot ─▶ socket.send
 *                                              └─ -1: the answer comes later through `hold`
 *
 * Answers leave from the address the kernel chooses; on a wildcard listener of a machine with
 * several addresses that may differ from the one asked (the native listener will use pktinfo).
 */
import { createSocket } from 'node:dgram';
import type { RemoteInfo, Socket, SocketOptions } from 'node:dgram';
import { LIMITS } from '../../contract/limits.ts';
import type { Client, Counters, ReplyTo } from '../../engine/query/ports.ts';
import { bindError } from './bind-error.ts';
import { ClientAddresses } from './client-address.ts';
import type { Listener, ListenerOptions, PacketHandler } from './packet-handler.ts';
import { countFailedSend, SendSlots } from '../send-slots.ts';
import { formatEndpoint } from '../server-address.ts';

/**
 * Asked of the kernel, the largest it takes. Linux grants at most net.core.rmem_max; others refuse
 * what is too much. 4 MiB hold the questions of about a tenth of a second at the highest rate.
 */
const SOCKET_BUFFER_BYTES = [4 * 1024 * 1024, 1024 * 1024, 256 * 1024];
/** Answers in flight; a send is nearly always done before it returns, so few are ever made. */
const SEND_SLOTS_MAX = 1_024;

/**
 * Opens a UDP listener. IPv6 sockets take IPv6 only.
 *
 * @throws AppError PORT_IN_USE (naming the process), PORT_FORBIDDEN, ADDRESS_UNAVAILABLE
 */
export async function openUdpListener(options: ListenerOptions): Promise<Listener> {
  const { address, port } = options;
  const isIpv6 = address.includes(':');
  const socketOptions: SocketOptions = {
    type: isIpv6 ? 'udp6' : 'udp4',
    ipv6Only: isIpv6,
    lookup: literalLookup,
  };
  // The runtime refuses the option where the system has no such thing, even when it is false.
  const socket = createSocket(
    options.reusePort ? { ...socketOptions, reusePort: true } : socketOptions,
  );
  await new Promise<void>((resolve, reject) => {
    socket.once('error', (cause: NodeJS.ErrnoException) => {
      socket.close();
      reject(bindError(cause, 'udp', address, port, 'dns', options.isRetry));
    });
    socket.bind({ address, port, exclusive: true }, () => {
      socket.removeAllListeners('error');
      resolve();
    });
  });
  widenBuffers(socket);
  return new UdpListener(socket, options.engine, options.counters);
}

function widenBuffers(socket: Socket): void {
  for (const bytes of SOCKET_BUFFER_BYTES) {
    try {
      socket.setRecvBufferSize(bytes);
      socket.setSendBufferSize(bytes);
      return;
    } catch {
      // Too much for this system: the next is smaller, and the system's own size serves too.
    }
  }
}

/** Addresses are literals already; answering at once spares each send a trip through node:dns. */
export function literalLookup(
  address: string,
  _options: unknown,
  callback: (error: null, address: string, family: number) => void,
): void {
  callback(null, address, address.includes(':') ? 6 : 4);
}

class UdpListener implements Listener {
  readonly endpoint: string;
  readonly port: number;
  readonly #socket: Socket;
  readonly #engine: PacketHandler;
  readonly #counters: Counters;
  readonly #slots: SendSlots;
  readonly #client: UdpClient;
  /** Where an answer is written that cannot be sent, when no slot is free. */
  readonly #spare = Buffer.allocUnsafeSlow(LIMITS.udpQueryBytesMax);
  #isStopped = false;
  #closed: Promise<void> | null = null;

  constructor(socket: Socket, engine: PacketHandler, counters: Counters) {
    this.#socket = socket;
    this.#engine = engine;
    this.#counters = counters;
    this.#slots = new SendSlots(LIMITS.udpQueryBytesMax, SEND_SLOTS_MAX, counters);
    this.#client = new UdpClient(this);
    const bound = socket.address();
    this.endpoint = formatEndpoint(bound.address, bound.port);
    this.port = bound.port;
    socket.on('message', (packet, peer) => {
      this.#receive(packet, peer);
    });
    // What a bound UDP socket reports is the fate of an earlier answer (ICMP errors on Windows).
    socket.on('error', () => {
      countFailedSend(counters);
    });
  }

  stop(): void {
    this.#isStopped = true;
  }

  close(): Promise<void> {
    this.#isStopped = true;
    this.#closed ??= new Promise((resolve) => {
      this.#socket.close(resolve);
    });
    return this.#closed;
  }

  /** Sends a copy of an answer that was held back. */
  sendLate(bytes: Uint8Array, start: number, length: number, address: string, port: number): void {
    const slot = this.#closed === null ? this.#slots.take() : null;
    if (slot === null || length > slot.bytes.length) {
      countFailedSend(this.#counters);
      if (slot !== null) this.#slots.giveBack(slot);
      return;
    }
    for (let at = 0; at < length; at++) slot.bytes[at] = bytes[start + at] as number;
    this.#socket.send(slot.bytes, 0, length, port, address, slot.sent);
  }

  #receive(packet: Buffer, peer: RemoteInfo): void {
    if (this.#isStopped) return;
    const slot = this.#slots.take();
    const out = slot === null ? this.#spare : slot.bytes;
    this.#client.become(peer.address, peer.port);
    const length = this.#engine.handle(packet, 0, packet.length, this.#client, out, 0);
    if (slot === null) {
      if (length > 0) countFailedSend(this.#counters);
    } else if (length > 0 && this.#closed === null) {
      this.#socket.send(slot.bytes, 0, length, peer.port, peer.address, slot.sent);
    } else {
      this.#slots.giveBack(slot);
    }
  }
}

/** The sender of the current packet. One object for all packets of a listener. */
class UdpClient implements Client {
  address: Uint8Array;
  port = 0;
  readonly transport = 'udp';
  readonly #listener: UdpListener;
  readonly #addresses = new ClientAddresses();
  #text = '';

  constructor(listener: UdpListener) {
    this.#listener = listener;
    this.address = this.#addresses.bytesOf('0.0.0.0');
  }

  become(text: string, port: number): void {
    this.#text = text;
    this.port = port;
    this.address = this.#addresses.bytesOf(text);
  }

  hold(): ReplyTo {
    return new UdpReply(this.#listener, this.#text, this.port);
  }
}

/** The way back for an answer that comes later. */
class UdpReply implements ReplyTo {
  readonly #listener: UdpListener;
  readonly #address: string;
  readonly #port: number;

  constructor(listener: UdpListener, address: string, port: number) {
    this.#listener = listener;
    this.#address = address;
    this.#port = port;
  }

  send(bytes: Uint8Array, start: number, length: number): void {
    this.#listener.sendLate(bytes, start, length, this.#address, this.#port);
  }
}
