/**
 * Between sockets and the engine: what a listener hands each packet to, and what it is to its owner.
 *
 * Socket code (udp-listener.ts on node:dgram, later a native batch of recvmmsg and sendmmsg) only
 * moves bytes. Whatever happens to one packet happens behind `PacketHandler.handle`, so that both
 * kinds of socket serve the same engine and pass the same tests.
 */
import type { Client, Counters } from '../../engine/query/ports.ts';
import type { TcpClients } from './tcp-clients.ts';

/** Answers packets. */
export interface PacketHandler {
  /**
   * @param packet    one DNS message at packet[start, start + length)
   * @param client    valid only during the call
   * @param out       room for the answer from `outStart`: 4,096 bytes over UDP, 65,535 over TCP
   * @returns         bytes written to `out`; 0 for no answer; -1 when `client.hold()` was called
   *                  and the answer comes later
   */
  handle(
    packet: Uint8Array,
    start: number,
    length: number,
    client: Client,
    out: Uint8Array,
    outStart: number,
  ): number;
  /** Whether a client may connect at all; 16 bytes as in Client. Without it all may. */
  admits?(address: Uint8Array): boolean;
}

/** One that can read packets of a batch before it answers them; `Engine` is one. */
export interface BatchHandler extends PacketHandler {
  /** The packets handed in until `endBatch` arrived together. */
  beginBatch(): void;
  endBatch(): void;
  /**
   * Reads up to AHEAD packets of a batch before they are answered, so that the memory they need is
   * fetched side by side; packet n is packets[n * stride, + lengths[n]).
   */
  readAhead(
    packets: Uint8Array,
    stride: number,
    lengths: Uint32Array,
    first: number,
    count: number,
  ): void;
  /** As `handle`, for packet number `index` of those that were read ahead. */
  handleRead(index: number, client: Client, out: Uint8Array, outStart: number): number;
}

/** Whether a handler gains from being shown a batch. */
export function isBatchHandler(handler: PacketHandler): handler is BatchHandler {
  return 'readAhead' in handler;
}

/** Where a listener listens and what it serves. */
export interface ListenerOptions {
  readonly engine: PacketHandler;
  /** An IP address of this machine, or 0.0.0.0 or ::. */
  readonly address: string;
  /** 0 lets the system choose. */
  readonly port: number;
  /** Several threads share the port; see `canReusePort`. */
  readonly reusePort: boolean;
  /** Only `sendFailed` and the `tcp…` counters are written here. */
  readonly counters: Counters;
  /** The error need not say who holds the port: finding that out takes long. */
  readonly isRetry?: boolean;
  /** Shared by the TCP listeners of a thread; its own when not given. */
  readonly tcpClients?: TcpClients;
}

/** An open listener. */
export interface Listener {
  /** As bound: "127.0.0.1:53", "[::1]:53". */
  readonly endpoint: string;
  readonly port: number;
  /** Takes no more packets, but still sends answers that are on their way. */
  stop(): void;
  /** Closes at once; resolves when the socket is free again. Idempotent. */
  close(): Promise<void>;
}

/**
 * Whether the runtime can spread one port over several threads (SO_REUSEPORT with the kernel
 * balancing): Linux with Node 22.12 or 23.1 and later. Elsewhere one thread owns the port.
 */
export function canReusePort(
  platform = process.platform,
  version = process.versions.node,
): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isKnown = major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12);
  return platform === 'linux' && isKnown;
}
