/**
 * The UDP side of one upstream: a changing set of connected sockets (udp-client.ts), each on a port
 * the kernel chose at random (RFC 5452 §9.2). Used by the upstream pool in a data-plane thread.
 *
 * A fresh socket for every question would be safest, but costs as much as answering several. So
 * there is a bounded set: while it is not full each question gets a fresh socket, then a random one
 * of the set; a socket is retired after some uses or some seconds, and closed when its last question
 * is answered or given up. On a quiet machine every question therefore has its own port.
 *
 * A reply is matched by socket and ID; everything else is checked by the pool.
 */
import type { Random } from '../../engine/query/ports.ts';
import type { SendFailure } from '../transport/network-error.ts';
import type { PlainServer } from '../server-address.ts';
import type { UdpClient, UdpClientSocket, UdpClientUser } from '../transport/udp-client.ts';
import type { Attempt, Connection, ExchangeOwner, Transport } from './attempt.ts';

/** Questions sent through one socket. */
const USES_MAX = 128;
/** Life of a socket for new questions. */
const AGE_MAX_US = 10_000_000;

/** The sockets of one server. */
export class UpstreamUdp implements Transport {
  readonly #server: PlainServer;
  readonly #owner: ExchangeOwner;
  readonly #random: Random;
  readonly #client: UdpClient;
  readonly #socketsMax: number;
  /** Sockets that take new questions. */
  readonly #active: UpstreamSocket[] = [];
  /** Retired ones that still wait for answers. */
  readonly #retired = new Set<UpstreamSocket>();

  constructor(
    server: PlainServer,
    owner: ExchangeOwner,
    random: Random,
    client: UdpClient,
    socketsMax: number,
  ) {
    this.#server = server;
    this.#owner = owner;
    this.#random = random;
    this.#client = client;
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
    for (const socket of all) socket.fail('closed');
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
    if (active.length > 0) return active[this.#random.uint32() % active.length] ?? null;
    // All are retired and wait for late answers. Rather one of them than no question at all.
    const retired = [...this.#retired];
    return retired[this.#random.uint32() % Math.max(retired.length, 1)] ?? null;
  }

  #open(nowUs: number): UpstreamSocket {
    const socket = new UpstreamSocket(this, this.#owner, this.#random, nowUs);
    socket.connect(this.#client, this.#server);
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
class UpstreamSocket implements Connection, UdpClientUser {
  readonly isSound = false;
  readonly openedUs: number;
  uses = 0;
  readonly #home: UpstreamUdp;
  readonly #owner: ExchangeOwner;
  readonly #random: Random;
  /** Null before `connect` and once it is closed. */
  #socket: UdpClientSocket | null = null;
  /** A short list: at most USES_MAX, and mostly one. */
  readonly #waiting: Attempt[] = [];

  constructor(home: UpstreamUdp, owner: ExchangeOwner, random: Random, nowUs: number) {
    this.#home = home;
    this.#owner = owner;
    this.#random = random;
    this.openedUs = nowUs;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  connect(client: UdpClient, server: PlainServer): void {
    this.#socket = client.open(server, this);
  }

  send(attempt: Attempt): boolean {
    if (this.#socket === null) return false;
    let id = this.#random.uint16();
    while (this.#find(id) >= 0) id = this.#random.uint16();
    attempt.carryBy(this, id);
    if (!this.#socket.send(attempt.query)) return false;
    this.#waiting.push(attempt);
    this.uses++;
    return true;
  }

  forget(attempt: Attempt): void {
    const at = this.#find(attempt.id);
    if (at >= 0) {
      const last = this.#waiting.pop() as Attempt;
      if (at < this.#waiting.length) this.#waiting[at] = last;
    }
    if (this.isEmpty) this.#home.emptied(this);
  }

  doubt(): void {
    // Each question has a socket of its own as far as possible; there is nothing to leave.
  }

  /** Closes; everything that waits fails. */
  fail(failure: SendFailure): void {
    this.close();
    for (const attempt of this.#waiting.splice(0)) this.#owner.failed(attempt, failure);
  }

  close(): void {
    this.#socket?.close();
    this.#socket = null;
  }

  // -- called by the socket --------------------------------------------------------------------

  /** An error concerns the server, and so all that waits here. */
  broken(failure: SendFailure): void {
    this.#home.broken(this);
    this.fail(failure);
  }

  received(bytes: Buffer): void {
    const at = bytes.length < 2 ? -1 : this.#find(bytes.readUInt16BE(0));
    if (at < 0) this.#owner.strayed();
    else this.#owner.replied(this.#waiting[at] as Attempt, bytes);
  }

  #find(id: number): number {
    const waiting = this.#waiting;
    for (let at = 0; at < waiting.length; at++) if (waiting[at]?.id === id) return at;
    return -1;
  }
}
