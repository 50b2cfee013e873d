/**
 * Listens for questions over TCP (RFC 7766); runs in a data-plane thread. It accepts and counts
 * connections; who may hold how many is tcp-clients.ts, each connection's bytes are
 * tcp-connection.ts.
 *
 * A connection that finds no room is closed at once (`tcpRefused`); one that made room for another
 * is counted in `tcpEvicted`.
 */
import { createServer } from 'node:net';
import type { ListenOptions, Server, Socket } from 'node:net';
import { COUNTER } from '../../contract/counters.ts';
import { LIMITS } from '../../contract/limits.ts';
import type { Counters } from '../../engine/query/ports.ts';
import { parseAddress } from './client-address.ts';
import { bindError } from './bind-error.ts';
import type { Listener, ListenerOptions, PacketHandler } from './packet-handler.ts';
import { formatEndpoint } from '../server-address.ts';
import { handlesFor } from '../handle-limit.ts';
import { TCP_BOUNDS, TcpClients, type TcpBounds } from './tcp-clients.ts';
import { TcpConnection } from './tcp-connection.ts';
import type { ConnectionOwner } from './tcp-connection.ts';

/** Connections the kernel completes before we accept them. */
const BACKLOG = 511;

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
      reject(bindError(cause, 'tcp', address, port, 'dns', options.isRetry));
    });
    server.listen(listen, () => {
      server.removeAllListeners('error');
      resolve();
    });
  });
  // Connections that nobody uses must leave handles for the questions of others.
  const connectionsMax = handlesFor(TCP_BOUNDS.connectionsMax);
  return new TcpListener(server, options, { ...TCP_BOUNDS, connectionsMax, ...bounds });
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
  readonly #clients: TcpClients;
  /** Runs while there are connections. */
  #idleTimer: NodeJS.Timeout | null = null;
  #isStopped = false;
  #closed: Promise<void> | null = null;

  constructor(server: Server, options: ListenerOptions, bounds: TcpBounds) {
    this.#server = server;
    this.engine = options.engine;
    this.counters = options.counters;
    this.#clients = options.tcpClients ?? new TcpClients();
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
    this.#clients.closed(connection);
    this.#add('tcpConnections', -1);
    if (this.#connections.size === 0) this.#stopIdleTimer();
  }

  evicted(connection: TcpConnection): void {
    this.#add('tcpEvicted', 1);
    this.closed(connection);
  }

  #accept(socket: Socket): void {
    const text = socket.remoteAddress ?? '::';
    parseAddress(text, this.#address);
    const isDenied = this.engine.admits?.(this.#address) === false;
    if (this.#isStopped || isDenied || !this.#clients.admit(this.#address, text, this.#bounds)) {
      this.#add('tcpRefused', 1);
      if (isDenied) this.#add('denied', 1);
      // A reset while closing is all that can still happen.
      socket.on('error', () => undefined);
      socket.destroy();
      return;
    }
    const connection = new TcpConnection(socket, this, performance.now());
    this.#connections.add(connection);
    this.#clients.opened(connection);
    this.#add('tcpConnections', 1);
    this.#startIdleTimer();
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

  #add(name: 'tcpConnections' | 'tcpRefused' | 'tcpEvicted' | 'denied', difference: number): void {
    const slots = this.counters.slots;
    slots[COUNTER[name]] = (slots[COUNTER[name]] as number) + difference;
  }
}
