/**
 * The HTTP door's socket. node:http, the method schemas and the page (http.ts) are some 20 MiB;
 * they are loaded when the first client connects, so that an instance that only answers DNS does
 * without them.
 *
 * Runs in the main thread; opened by compose.ts.
 */
import type { IncomingMessage, Server as HttpServer } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { LIMITS } from '../contract/limits.ts';
import type { HttpDoorOptions } from './http.ts';

export interface HttpDoor {
  readonly address: string;
  readonly port: number;
  /** Ends all connections. Idempotent; resolves when none is open. */
  close(): Promise<void>;
}

/** @throws the system's error (EADDRINUSE, EACCES, ...) when the port cannot be bound */
export async function openHttpDoor(options: HttpDoorOptions): Promise<HttpDoor> {
  const clients = new Clients(options);
  // Half-open and without delay as node:http wants its connections; paused until it has them.
  const server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true });
  server.on('connection', (socket) => {
    if (clients.makeRoom()) void clients.take(socket);
    else socket.destroy();
  });
  await listen(server, options.address, options.port);
  const bound = server.address() as AddressInfo;
  options.service.addQueue(() => ({
    name: 'HTTP clients',
    capacity: LIMITS.httpConnectionsMax,
    depth: clients.open,
    dropped: clients.refused,
  }));
  let closing: Promise<void> | undefined;
  return {
    address: bound.address,
    port: bound.port,
    close: () => (closing ??= close(server, clients)),
  };
}

/** Hands connections to the HTTP server, which is made for the first one. */
class Clients {
  readonly #options: HttpDoorOptions;
  /** Oldest first. */
  readonly #sockets = new Set<Socket>();
  /** Of those: they have sent a whole request head. */
  readonly #asking = new WeakSet<Socket>();
  /** Connections closed for want of room. */
  refused = 0;
  #http: Promise<HttpServer> | undefined;
  #isClosed = false;

  constructor(options: HttpDoorOptions) {
    this.#options = options;
  }

  get open(): number {
    return this.#sockets.size;
  }

  /**
   * Whether one more may come. At the bound the oldest that never sent a request makes room, so
   * that connections which only stay open keep nobody out.
   */
  makeRoom(): boolean {
    if (this.#sockets.size < LIMITS.httpConnectionsMax) return true;
    this.refused++;
    for (const socket of this.#sockets) {
      if (this.#asking.has(socket)) continue;
      this.#sockets.delete(socket);
      socket.destroy();
      return true;
    }
    return false;
  }

  async take(socket: Socket): Promise<void> {
    this.#sockets.add(socket);
    socket.on('close', () => {
      this.#sockets.delete(socket);
    });
    socket.on('error', ignore); // a client that goes while the server is being loaded
    try {
      const http = await (this.#http ??= this.#load());
      if (this.#isClosed || socket.destroyed) return;
      http.emit('connection', socket);
      socket.off('error', ignore);
      socket.resume();
    } catch (error) {
      socket.destroy();
      this.#options.service.setProblem('http', `The HTTP door cannot be loaded: ${String(error)}.`);
    }
  }

  /** Ends all connections. */
  close(): void {
    this.#isClosed = true;
    for (const socket of this.#sockets) socket.destroy();
    void this.#http?.then((http) => http.close()).catch(ignore); // it was never made
  }

  async #load(): Promise<HttpServer> {
    const { createHttpServer } = await import('./http.ts');
    const http = createHttpServer(this.#options);
    http.prependListener('request', ({ socket }: IncomingMessage) => {
      this.#asking.add(socket);
    });
    return http;
  }
}

function ignore(): void {
  // nothing to do: see the callers
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, exclusive: true }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function close(server: Server, clients: Clients): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => {
      resolve();
    });
    clients.close();
  });
}
