/**
 * The UDP side of one upstream: a changing set of connected sockets, each on a port the kernel chose
 * at random (RFC 5452 §9.2). Used by the upstream pool in a data-plane thread.
 *
 * A fresh socket for every question would be safest, but costs as much as answering ten. So there is
 * a bounded set: while it is not full each question gets a fresh socket, then a random one of the
 * set; a socket is retired after some uses or some seconds, and closed when its last question is
 * answered or given up. On a quiet machine every question therefore has its own port.
 *
 * Sockets are connected: the kernel drops what comes from another address or port, and reports a
 * closed port at once (ECONNREFUSED) instead of leaving us to time out. A reply is matched by socket
 * and ID; everything else is checked by the pool.
 */
import { createSocket } from 'node:dgram';
import type { Socket } from 'node:dgram';
import type { Random } from '../engine/ports.ts';
import type { PlainServer } from './server-address.ts';
import { literalLookup } from './udp-listener.ts';
import type { Attempt, Carrier, CarrierOwner, Way } from './upstream-attempt.ts';

/** Questions sent through one socket. */
const USES_MAX = 128;
/** Life of a socket for new questions. */
const AGE_MAX_US = 10_000_000;

/** The sockets of one server. */
export class UpstreamUdp implements Way {
  readonly #server: PlainServer;
  readonly #owner: CarrierOwner;
  readonly #random: Random;
  readonly #socketsMax: number;
  /** Sockets that take new questions. */
  readonly #active: UpstreamSocket[] = [];
  /** Retired ones that still wait for answers. */
  readonly #retired = new Set<UpstreamSocket>();

  constructor(server: PlainServer, owner: CarrierOwner, random: Random, socketsMax: number) {
    this.#server = server;
    this.#owner = owner;
    this.#random = random;
    this.#socketsMax = socketsMax;
  }

  /** Sends the attempt. False when no socket could be opened or used. */
  send(attempt: Attempt, nowUs: number): boolean {
    const socket = this.#choose(nowUs);
    if (socket === null) return false;
    if (!socket.send(attempt)) {
      this.#retire(socket);
      return false;
    }
    if (socket.uses >= USES_MAX) this.#retire(socket);
    return true;
  }

  /** Retires what is too old, so that quiet times leave no open ports. */
  sweep(nowUs: number): void {
    for (const socket of [...this.#active]) {
      if (nowUs - socket.openedUs > AGE_MAX_US) this.#retire(socket);
    }
  }

  rest(): void {
    this.retireAll();
  }

  /** No further question goes through a present socket; those in flight may be answered. */
  retireAll(): void {
    for (const socket of [...this.#active]) this.#retire(socket);
  }

  /** Closes every socket; what was in flight fails. */
  close(): void {
    const all = [...this.#active, ...this.#retired];
    this.#active.length = 0;
    this.#retired.clear();
    for (const socket of all) socket.fail();
  }

  /** Called by a socket that waits for nothing any more. */
  emptied(socket: UpstreamSocket): void {
    if (this.#retired.delete(socket)) socket.close();
  }

  /** Called by a socket that reported an error. */
  broken(socket: UpstreamSocket): void {
    const at = this.#active.indexOf(socket);
    if (at >= 0) this.#removeActive(at);
    this.#retired.delete(socket);
  }

  #choose(nowUs: number): UpstreamSocket | null {
    const active = this.#active;
    if (active.length + this.#retired.size < this.#socketsMax) return this.#open(nowUs);
    if (active.length === 0) return null;
    return active[this.#random.uint32() % active.length] ?? null;
  }

  #open(nowUs: number): UpstreamSocket {
    const socket = new UpstreamSocket(this.#server, this, this.#owner, this.#random, nowUs);
    this.#active.push(socket);
    return socket;
  }

  #retire(socket: UpstreamSocket): void {
    const at = this.#active.indexOf(socket);
    if (at < 0) return;
    this.#removeActive(at);
    if (socket.isEmpty) socket.close();
    else this.#retired.add(socket);
  }

  #removeActive(at: number): void {
    const last = this.#active.pop() as UpstreamSocket;
    if (at < this.#active.length) this.#active[at] = last;
  }
}

/** One connected socket and the attempts that wait on it, by ID. */
class UpstreamSocket implements Carrier {
  readonly openedUs: number;
  uses = 0;
  readonly #home: UpstreamUdp;
  readonly #owner: CarrierOwner;
  readonly #random: Random;
  readonly #socket: Socket;
  readonly #waiting = new Map<number, Attempt>();
  #isClosed = false;
  /** One callback for all sends: an error concerns the server, and so all that waits here. */
  readonly #sent = (error: Error | null): void => {
    if (error !== null) this.#breakOff();
  };

  constructor(
    server: PlainServer,
    home: UpstreamUdp,
    owner: CarrierOwner,
    random: Random,
    nowUs: number,
  ) {
    this.#home = home;
    this.#owner = owner;
    this.#random = random;
    this.openedUs = nowUs;
    this.#socket = createSocket({
      type: server.family === 6 ? 'udp6' : 'udp4',
      lookup: literalLookup,
    });
    this.#socket.on('error', () => {
      this.#breakOff();
    });
    this.#socket.on('message', (bytes) => {
      this.#receive(bytes);
    });
    this.#socket.connect(server.port, server.address);
    this.#socket.unref();
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  send(attempt: Attempt): boolean {
    if (this.#isClosed) return false;
    let id = this.#random.uint16();
    while (this.#waiting.has(id)) id = this.#random.uint16();
    attempt.carryBy(this, id);
    try {
      this.#socket.send(attempt.query, this.#sent);
    } catch {
      // Not bound or not connected: its error event says so later, to nobody who waits.
      return false;
    }
    this.#waiting.set(id, attempt);
    this.uses++;
    return true;
  }

  forget(attempt: Attempt): void {
    this.#waiting.delete(attempt.id);
    if (this.#waiting.size === 0) this.#home.emptied(this);
  }

  doubt(): void {
    // Each question has a socket of its own as far as possible; there is nothing to leave.
  }

  /** Closes; everything that waits fails. */
  fail(): void {
    this.close();
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const attempt of waiting) this.#owner.failed(attempt);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#socket.close();
  }

  #breakOff(): void {
    if (this.#isClosed) return;
    this.#home.broken(this);
    this.fail();
  }

  #receive(bytes: Buffer): void {
    if (this.#isClosed) return;
    const attempt = bytes.length < 2 ? undefined : this.#waiting.get(bytes.readUInt16BE(0));
    if (attempt === undefined) this.#owner.strayed();
    else this.#owner.replied(attempt, bytes);
  }
}
