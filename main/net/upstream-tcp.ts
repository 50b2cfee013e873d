/**
 * The TCP side of one upstream: a few connections, each used for many questions at once
 * (RFC 7766 §6.2.1). Used by the upstream pool for truncated answers, for checks that must not be
 * forged, and for servers written as tcp://.
 *
 * A connection is opened when the others are busy, kept while it is used, closed after some idle
 * seconds. A server may close one whenever it likes: what waited there moves to a fresh connection
 * once, then fails.
 */
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { LIMITS } from '../contract/limits.ts';
import type { Random } from '../engine/ports.ts';
import { frameMessage, MessageReader } from './message-reader.ts';
import type { PlainServer } from './server-address.ts';
import type { Attempt, Carrier, CarrierOwner } from './upstream-attempt.ts';

/** Waiting questions above which another connection is opened: some servers answer in order. */
const BUSY_QUESTIONS = 8;
/** Idle time after which we close. RFC 7766 §6.2.3 asks clients not to keep idle ones. */
const IDLE_US = 3_000_000;

/** The connections of one server. */
export class UpstreamTcp {
  readonly #server: PlainServer;
  readonly #owner: CarrierOwner;
  readonly #random: Random;
  readonly #connections = new Set<UpstreamConnection>();

  constructor(server: PlainServer, owner: CarrierOwner, random: Random) {
    this.#server = server;
    this.#owner = owner;
    this.#random = random;
  }

  /** Sends the attempt, perhaps after connecting. False when every connection is full. */
  send(attempt: Attempt, nowUs: number): boolean {
    const connection = this.#choose();
    if (connection === null) return false;
    connection.send(attempt, nowUs);
    return true;
  }

  /** Closes connections that were not used lately. */
  sweep(nowUs: number): void {
    for (const connection of this.#connections) {
      if (connection.load === 0 && nowUs - connection.usedUs > IDLE_US) connection.close();
    }
  }

  /** Closes every connection; what was in flight fails. */
  close(): void {
    for (const connection of [...this.#connections]) connection.fail();
  }

  /** Called by a connection that has ended, before it reports what waited on it. */
  ended(connection: UpstreamConnection): void {
    this.#connections.delete(connection);
  }

  #choose(): UpstreamConnection | null {
    let best: UpstreamConnection | null = null;
    for (const connection of this.#connections) {
      if (!connection.isSuspect && (best === null || connection.load < best.load)) {
        best = connection;
      }
    }
    const isBusy = best === null || best.load >= BUSY_QUESTIONS;
    if (isBusy && this.#connections.size < LIMITS.upstreamTcpConnectionsMax) {
      best = new UpstreamConnection(this.#server, this, this.#owner, this.#random);
      this.#connections.add(best);
    }
    return best !== null && best.load < LIMITS.upstreamTcpPipelineMax ? best : null;
  }
}

/** One connection and the attempts that wait on it, by ID. */
class UpstreamConnection implements Carrier {
  /** Last sending, for the idle check. */
  usedUs = 0;
  /** Said nothing while a question timed out: probably dead, gets no more of them. */
  isSuspect = false;
  readonly #home: UpstreamTcp;
  readonly #owner: CarrierOwner;
  readonly #random: Random;
  readonly #socket: Socket;
  readonly #reader = new MessageReader();
  readonly #waiting = new Map<number, Attempt>();
  /** Messages received since the last time-out and in all. */
  #received = 0;
  #isClosed = false;

  constructor(server: PlainServer, home: UpstreamTcp, owner: CarrierOwner, random: Random) {
    this.#home = home;
    this.#owner = owner;
    this.#random = random;
    this.#socket = connect({ host: server.address, port: server.port, noDelay: true });
    this.#socket.unref();
    this.#socket.on('data', (chunk: Buffer) => {
      this.#receive(chunk);
    });
    // `close` follows and says what is to be done.
    this.#socket.on('error', () => undefined);
    this.#socket.on('end', () => {
      this.#breakOff();
    });
    this.#socket.on('close', () => {
      this.#breakOff();
    });
  }

  get load(): number {
    return this.#waiting.size;
  }

  send(attempt: Attempt, nowUs: number): void {
    let id = this.#random.uint16();
    while (this.#waiting.has(id)) id = this.#random.uint16();
    attempt.carryBy(this, id);
    this.#waiting.set(id, attempt);
    this.usedUs = nowUs;
    this.#socket.write(frameMessage(attempt.query, 0, attempt.query.length));
  }

  forget(attempt: Attempt, timedOut: boolean): void {
    this.#waiting.delete(attempt.id);
    if (timedOut) {
      if (this.#received === 0) this.isSuspect = true;
      this.#received = 0;
    }
    if (this.isSuspect && this.load === 0) this.close();
  }

  /** Closes; everything that waits fails. */
  fail(): void {
    this.close();
    for (const attempt of this.#takeWaiting()) this.#owner.failed(attempt);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#home.ended(this);
    this.#socket.destroy();
  }

  /** The server closed: a connection that worked may just have been idle for too long for it. */
  #breakOff(): void {
    if (this.#isClosed) return;
    const hasWorked = this.#socket.bytesRead > 0;
    this.close();
    for (const attempt of this.#takeWaiting()) {
      const mayMove = hasWorked && attempt.moves++ === 0;
      if (!mayMove || !this.#home.send(attempt, this.usedUs)) this.#owner.failed(attempt);
    }
  }

  #takeWaiting(): Attempt[] {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    return waiting;
  }

  #receive(chunk: Buffer): void {
    this.#reader.feed(chunk);
    while (!this.#isClosed && this.#reader.next()) {
      const { bytes, start, length } = this.#reader;
      this.#received++;
      const attempt = length < 2 ? undefined : this.#waiting.get(bytes.readUInt16BE(start));
      if (attempt === undefined) this.#owner.strayed();
      else this.#owner.replied(attempt, bytes.subarray(start, start + length));
    }
    this.#reader.settle();
  }
}
