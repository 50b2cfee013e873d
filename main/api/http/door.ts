/**
 * A socket of the HTTP door: an address, or a path in the data folder (control-socket.ts).
 * node:http, the method schemas and the page (http.ts) are some 20 MiB; they are loaded when the
 * first client connects, so that an instance that only answers DNS does without them.
 *
 * A door that cannot take connections any more, as for want of handles, is closed and opened again
 * after a while; that is shown in health. Runs in the main thread; opened by app/door.ts.
 */
import type { Server as HttpServer } from 'node:http';
import {
  createServer,
  type AddressInfo,
  type ListenOptions,
  type Server,
  type Socket,
} from 'node:net';
import { LIMITS } from '../../contract/limits.ts';
import type { HttpDoorOptions } from './http.ts';

/** Wait before a door is opened again; doubled up to the last. */
const REOPEN_FIRST_MS = 500;
const REOPEN_LAST_MS = 30_000;

export interface DoorPlace {
  /** For health and status: "HTTP", "command line". */
  readonly name: string;
  readonly listen: ListenOptions;
  /** Connections at a time. */
  readonly connectionsMax?: number;
  /** Listens, in place of server.listen: for what has to be done around it. */
  readonly around?: (listen: () => void) => void;
  /** Called each time that it is open. */
  readonly onListening?: (server: Server) => void;
  /** Whether an error of the first bind passes by itself: then the door is opened later. */
  readonly isPassing?: (error: NodeJS.ErrnoException) => boolean;
}

export interface HttpDoor {
  /** Where it is bound; '' and 0 for a path, and until it is open for the first time. */
  readonly address: string;
  readonly port: number;
  /** Ends all connections that are open now. */
  dropClients(): void;
  /** Ends all connections. Idempotent; resolves when none is open. */
  close(): Promise<void>;
}

/** @throws the system's error (EADDRINUSE, EACCES, ...) when it cannot be bound, nor soon */
export async function openHttpDoor(place: DoorPlace, options: HttpDoorOptions): Promise<HttpDoor> {
  const door = new Door(place, options);
  await door.open();
  return door;
}

class Door implements HttpDoor {
  readonly #place: DoorPlace;
  readonly #options: HttpDoorOptions;
  readonly #clients: Clients;
  #listen: ListenOptions;
  #server: Server | null = null;
  #reopenMs = REOPEN_FIRST_MS;
  #reopenTimer: NodeJS.Timeout | undefined;
  #closing: Promise<void> | undefined;
  address = '';
  port = 0;

  constructor(place: DoorPlace, options: HttpDoorOptions) {
    this.#place = place;
    this.#options = options;
    this.#listen = place.listen;
    this.#clients = new Clients(place.connectionsMax ?? LIMITS.httpConnectionsMax, options);
  }

  async open(): Promise<void> {
    const { service } = this.#options;
    try {
      await this.#bind();
    } catch (error) {
      if (this.#place.isPassing?.(error as NodeJS.ErrnoException) !== true) throw error;
      this.#reopenLater(error as Error);
    }
    service.addQueue(() => ({
      name: `${this.#place.name} clients`,
      capacity: this.#clients.max,
      depth: this.#clients.open,
      dropped: this.#clients.refused,
    }));
  }

  dropClients(): void {
    this.#clients.drop();
  }

  close(): Promise<void> {
    clearTimeout(this.#reopenTimer);
    this.#closing ??= new Promise((resolve) => {
      if (this.#server === null) resolve();
      else
        this.#server.close(() => {
          resolve();
        });
      this.#clients.close();
    });
    return this.#closing;
  }

  async #bind(): Promise<void> {
    // Half-open and without delay as node:http wants its connections; paused until it has them.
    const server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true });
    server.on('connection', (socket) => {
      if (this.#clients.makeRoom()) void this.#clients.take(socket);
      else socket.destroy();
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      const listen = (): void => {
        server.listen(this.#listen, () => {
          server.off('error', reject);
          resolve();
        });
      };
      if (this.#place.around) this.#place.around(listen);
      else listen();
    });
    server.on('error', (error) => {
      this.#reopen(server, error);
    });
    this.#server = server;
    this.#place.onListening?.(server);
    const bound = server.address() as AddressInfo | string;
    if (typeof bound === 'string') return;
    this.address = bound.address;
    this.port = bound.port;
    this.#listen = { ...this.#listen, port: bound.port };
  }

  /** A listening socket that fails to accept fails again at once, in an endless loop. */
  #reopen(server: Server, error: Error): void {
    if (this.#server !== server || this.#closing) return;
    this.#server = null;
    server.close();
    this.#reopenLater(error);
  }

  #reopenLater(error: Error): void {
    const { service } = this.#options;
    const { name } = this.#place;
    service.setProblem(
      `door ${name}`,
      `The door for ${name} is closed for a while: ${error.message}.`,
    );
    this.#reopenTimer = setTimeout(() => {
      this.#bind().then(
        () => {
          this.#reopenMs = REOPEN_FIRST_MS;
          service.setProblem(`door ${name}`, null);
          if (this.#closing) this.#server?.close();
        },
        (next: unknown) => {
          if (!this.#closing) this.#reopenLater(next as Error);
        },
      );
    }, this.#reopenMs);
    this.#reopenMs = Math.min(this.#reopenMs * 2, REOPEN_LAST_MS);
  }
}

/** Hands connections to the HTTP server, which is made for the first one. */
class Clients {
  readonly #options: HttpDoorOptions;
  readonly max: number;
  /** Oldest first. */
  readonly #sockets = new Set<Socket>();
  /** Of those: the guard has let them in. */
  readonly #allowed = new WeakSet<Socket>();
  /** Connections closed for want of room. */
  refused = 0;
  #http: Promise<HttpServer> | undefined;
  #isClosed = false;

  constructor(max: number, options: HttpDoorOptions) {
    this.max = max;
    this.#options = options;
  }

  get open(): number {
    return this.#sockets.size;
  }

  /**
   * Whether one more may come. At the bound the oldest that was not let in yet makes room, so that
   * whoever has no token keeps nobody out.
   */
  makeRoom(): boolean {
    if (this.#sockets.size < this.max) return true;
    this.refused++;
    for (const socket of this.#sockets) {
      if (this.#allowed.has(socket)) continue;
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
      // It may have been for want of handles: the next client tries again.
      this.#http = undefined;
      socket.destroy();
      this.#options.service.setProblem('http', `The HTTP door cannot be loaded: ${String(error)}.`);
    }
  }

  drop(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Ends all connections. */
  close(): void {
    this.#isClosed = true;
    this.drop();
    void this.#http?.then((http) => http.close()).catch(ignore); // it was never made
  }

  async #load(): Promise<HttpServer> {
    const { createHttpServer } = await import('./http.ts');
    this.#options.service.setProblem('http', null);
    return createHttpServer(this.#options, (socket) => {
      this.#allowed.add(socket);
    });
  }
}

function ignore(): void {
  // nothing to do: see the callers
}
