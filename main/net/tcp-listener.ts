/**
 * Listens for questions over TCP (RFC 7766); runs in a data-plane thread. It accepts, counts and
 * bounds connections; each connection's bytes are tcp-connection.ts.
 *
 * The bound on all connections holds for the thread: every listener of a thread counts in the same
 * `tcpConnections` gauge. A connection above a bound is closed at once (`tcpRefused`).
 */
import { createServer } from 'node:net';
import type { ListenOptions, Server, Socket } from 'node:net';
import { COUNTER } from '../contract/counters.ts';
import { LIMITS } from '../contract/limits.ts';
import type { Counters } from '../engine/ports.ts';
import { parseAddress } from './client-address.ts';
import { bindError } from './bind-error.ts';
import type { Listener, ListenerOptions, PacketHandler } from './packet-handler.ts';
import { formatEndpoint } from './server-address.ts';
import { TcpConnection } from './tcp-connection.ts';
import type { ConnectionOwner } from './tcp-connection.ts';

/** Connections the kernel completes before we accept them. */
const BACKLOG = 511;

/** Bounds that tests shorten. */
export interface TcpBounds {
  readonly idleMs: number;
  readonly connectionsMax: number;
  readonly connectionsPerClientMax: number;
  /** In place of it for loopback addresses. */
  readonly connectionsPerLoopbackMax: number;
}

const BOUNDS: TcpBounds = {
  idleMs: LIMITS.tcpIdleMs,
  connectionsMax: LIMITS.tcpConnectionsMax,
  connectionsPerClientMax: LIMITS.tcpConnectionsPerClientMax,
  connectionsPerLoopbackMax: LIMITS.tcpConnectionsPerLoopbackMax,
};

/**
 * Opens a TCP listener. IPv6 sockets take IPv6 only.
 *
 * @throws AppError PORT_IN_USE (naming the process), PORT_FORBIDDEN, ADDRESS_UNAVAILABLE
 */
export async function openTcpListener(
  options: ListenerOptions,
  bounds: Partial<TcpBounds> = {},
): Promise<Listener> {
  const { address, port } = options;
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: false });
  const listen: ListenOptions & { reusePort?: boolean } = {
    host: address,
    port,
    backlog: BACKLOG,
    ipv6Only: address.includes(':'),
    exclusive: true,
  };
  if (options.reusePort) listen.reusePort = true;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      reject(bindError(cause, 'tcp', address, port));
    });
    server.listen(listen, () => {
      server.removeAllListeners('error');
      resolve();
    });
  });
  return new TcpListener(server, options.engine, options.counters, { ...BOUNDS, ...bounds });
}

class TcpListener implements Listener, ConnectionOwner {
  readonly endpoint: string;
  readonly port: number;
  readonly engine: PacketHandler;
  readonly counters: Counters;
  readonly out = Buffer.allocUnsafeSlow(LIMITS.messageBytesMax);
  readonly #server: Server;
  readonly #address = new Uint8Array(16);
  readonly #bounds: TcpBounds;
  readonly #connections = new Set<TcpConnection>();
  /** Open connections by client address. */
  readonly #perClient = new Map<string, number>();
  /** Runs while there are connections. */
  #idleTimer: NodeJS.Timeout | null = null;
  #isStopped = false;
  #closed: Promise<void> | null = null;

  constructor(server: Server, engine: PacketHandler, counters: Counters, bounds: TcpBounds) {
    this.#server = server;
    this.engine = engine;
    this.counters = counters;
    this.#bounds = bounds;
    const bound = server.address();
    if (bound === null || typeof bound === 'string') throw new Error('tcp listener is not bound');
    this.endpoint = formatEndpoint(bound.address, bound.port);
    this.port = bound.port;
    server.on('connection', (socket) => {
      this.#accept(socket);
    });
    // An accept that failed (no file handles left) is a client that was not served.
    server.on('error', () => {
      this.#add('tcpRefused', 1);
    });
  }

  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#server.close();
    for (const connection of this.#connections) connection.stop();
  }

  close(): Promise<void> {
    this.#closed ??= new Promise((resolve) => {
      if (this.#isStopped && this.#connections.size === 0 && !this.#server.listening) resolve();
      else this.#server.once('close', resolve);
      this.stop();
      for (const connection of this.#connections) connection.destroy();
    });
    return this.#closed;
  }

  closed(connection: TcpConnection): void {
    if (!this.#connections.delete(connection)) return;
    this.#add('tcpConnections', -1);
    const left = (this.#perClient.get(connection.addressText) ?? 1) - 1;
    if (left > 0) this.#perClient.set(connection.addressText, left);
    else this.#perClient.delete(connection.addressText);
    if (this.#connections.size === 0) this.#stopIdleTimer();
  }

  /** One address stands for all programs of this machine, users and all. */
  #mostOf(address: string): number {
    const isLoopback = /^(::ffff:)?127\.|^::1$/.test(address);
    const { connectionsPerLoopbackMax, connectionsPerClientMax } = this.#bounds;
    return isLoopback ? connectionsPerLoopbackMax : connectionsPerClientMax;
  }

  #accept(socket: Socket): void {
    const text = socket.remoteAddress ?? '::';
    const isDenied = !this.#isAdmitted(text);
    const ofClient = this.#perClient.get(text) ?? 0;
    const open = this.counters.slots[COUNTER.tcpConnections] as number;
    if (
      this.#isStopped ||
      isDenied ||
      open >= this.#bounds.connectionsMax ||
      ofClient >= this.#mostOf(text)
    ) {
      this.#add('tcpRefused', 1);
      if (isDenied) this.#add('denied', 1);
      // A reset while closing is all that can still happen.
      socket.on('error', () => undefined);
      socket.destroy();
      return;
    }
    const connection = new TcpConnection(socket, this, performance.now());
    this.#connections.add(connection);
    this.#perClient.set(connection.addressText, ofClient + 1);
    this.#add('tcpConnections', 1);
    this.#startIdleTimer();
  }

  #isAdmitted(text: string): boolean {
    if (this.engine.admits === undefined) return true;
    parseAddress(text, this.#address);
    return this.engine.admits(this.#address);
  }

  #startIdleTimer(): void {
    this.#idleTimer ??= setInterval(() => {
      const nowMs = performance.now();
      for (const connection of this.#connections) {
        connection.checkIdle(nowMs, this.#bounds.idleMs);
      }
    }, this.#bounds.idleMs / 10).unref();
  }

  #stopIdleTimer(): void {
    if (this.#idleTimer !== null) clearInterval(this.#idleTimer);
    this.#idleTimer = null;
  }

  #add(name: 'tcpConnections' | 'tcpRefused' | 'denied', difference: number): void {
    const slots = this.counters.slots;
    slots[COUNTER[name]] = (slots[COUNTER[name]] as number) + difference;
  }
}
