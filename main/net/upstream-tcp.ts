/**
 * The stream side of one upstream, TCP or TLS: a few connections, each used for many questions at
 * once (RFC 7766 §6.2.1, RFC 7858 §3.3). Used by the upstream pool for truncated answers, for checks
 * that must not be forged, and for servers written as tcp:// and tls://.
 *
 * A connection is opened when the others are busy or in doubt, kept while it is used, closed after
 * some idle time. A server may close one whenever it likes: what waited there moves to a fresh
 * connection once, then fails.
 */
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { LIMITS } from '../contract/limits.ts';
import type { Clock, Random } from '../engine/ports.ts';
import { frameMessage, MessageReader } from './message-reader.ts';
import type { PlainServer } from './server-address.ts';
import type { Dialer } from './tls-dialer.ts';
import type { Attempt, Carrier, CarrierOwner, Way } from './upstream-attempt.ts';

/** Waiting questions above which another plain connection is opened: some servers answer in order. */
const BUSY_QUESTIONS = 8;
/** Idle time after which we close. RFC 7766 §6.2.3 asks clients not to keep idle ones. */
const IDLE_MS = 3_000;

/** Opens plain TCP connections. */
export class TcpDialer implements Dialer {
  readonly busyQuestions = BUSY_QUESTIONS;
  readonly idleMs = IDLE_MS;
  readonly #server: PlainServer;

  constructor(server: PlainServer) {
    this.#server = server;
  }

  dial(ready: () => void): Socket {
    const { address, port } = this.#server;
    const socket = connect({ host: address, port, noDelay: true });
    socket.unref();
    socket.on('error', () => undefined); // `close` follows and says what is to be done
    socket.once('connect', ready);
    return socket;
  }

  doubt(): void {
    // There is one address only.
  }
}

/** What a connection needs of its upstream. */
export interface StreamPorts {
  readonly owner: CarrierOwner;
  readonly random: Random;
  readonly clock: Clock;
}

/** The connections of one server. */
export class UpstreamTcp implements Way {
  readonly dialer: Dialer;
  readonly #ports: StreamPorts;
  readonly #connections = new Set<UpstreamConnection>();

  constructor(dialer: Dialer, ports: StreamPorts) {
    this.dialer = dialer;
    this.#ports = ports;
  }

  send(attempt: Attempt, nowUs: number): boolean {
    const connection = this.#choose();
    if (connection === null) return false;
    connection.send(attempt, nowUs);
    return true;
  }

  sweep(nowUs: number): void {
    for (const connection of this.#connections) {
      const idleUs = nowUs - connection.usedUs;
      if (connection.load === 0 && idleUs > this.dialer.idleMs * 1000) connection.close();
    }
  }

  /** TLS connections close by themselves: a handshake costs more than a quiet socket. */
  rest(): void {
    if (this.dialer instanceof TcpDialer) this.sweep(Infinity);
  }

  close(): void {
    for (const connection of [...this.#connections]) connection.fail();
  }

  /** Called by a connection that has ended, before it reports what waited on it. */
  ended(connection: UpstreamConnection): void {
    this.#connections.delete(connection);
  }

  #choose(): UpstreamConnection | null {
    const quietest = this.#quietest();
    if (quietest !== null && quietest.load < this.dialer.busyQuestions) return quietest;
    const best = this.#open() ?? quietest;
    return best !== null && best.load < LIMITS.upstreamTcpPipelineMax ? best : null;
  }

  #quietest(): UpstreamConnection | null {
    let best: UpstreamConnection | null = null;
    for (const connection of this.#connections) {
      if (connection.isSuspect) continue;
      if (best === null || connection.load < best.load) best = connection;
    }
    return best;
  }

  #open(): UpstreamConnection | null {
    if (this.#connections.size >= LIMITS.upstreamTcpConnectionsMax) return null;
    const opened = UpstreamConnection.open(this, this.#ports);
    if (opened !== null) this.#connections.add(opened);
    return opened;
  }
}

/** One connection and the attempts that wait on it, by ID. */
class UpstreamConnection implements Carrier {
  /** Last sending, for the idle check. */
  usedUs = 0;
  /** Said nothing while a question was due: probably dead, gets no more of them. */
  isSuspect = false;
  readonly #home: UpstreamTcp;
  readonly #ports: StreamPorts;
  readonly #socket: Socket;
  readonly #reader = new MessageReader();
  readonly #waiting = new Map<number, Attempt>();
  /** Time of the last message received; -1 before the first. */
  #heardUs = -1;
  #isReady = false;
  #isClosed = false;

  /** Null when there is no address to connect to. */
  static open(home: UpstreamTcp, ports: StreamPorts): UpstreamConnection | null {
    let connection: UpstreamConnection | null = null;
    const socket = home.dialer.dial(() => connection?.ready());
    if (socket !== null) connection = new UpstreamConnection(home, ports, socket);
    return connection;
  }

  private constructor(home: UpstreamTcp, ports: StreamPorts, socket: Socket) {
    this.#home = home;
    this.#ports = ports;
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.#receive(chunk);
    });
    socket.on('end', () => {
      this.#breakOff();
    });
    socket.on('close', () => {
      this.#breakOff();
    });
    socket.setTimeout(home.dialer.idleMs, () => {
      if (this.load === 0) this.close();
    });
  }

  get load(): number {
    return this.#waiting.size;
  }

  /** The way is open: what waited for it leaves now, and its time counts from now. */
  ready(): void {
    this.#isReady = true;
    const nowUs = this.#ports.clock.nowUs();
    for (const attempt of this.#waiting.values()) {
      attempt.sentUs = nowUs;
      this.#write(attempt);
    }
  }

  send(attempt: Attempt, nowUs: number): void {
    const { random } = this.#ports;
    let id = random.uint16();
    while (this.#waiting.has(id)) id = random.uint16();
    attempt.carryBy(this, id);
    this.#waiting.set(id, attempt);
    this.usedUs = nowUs;
    if (this.#isReady) this.#write(attempt);
  }

  forget(attempt: Attempt, timedOut: boolean): void {
    this.#waiting.delete(attempt.id);
    if (timedOut) this.doubt(attempt);
    if (this.isSuspect && this.load === 0) this.close();
  }

  doubt(attempt: Attempt): void {
    if (this.isSuspect || this.#heardUs >= attempt.sentUs) return;
    this.isSuspect = true;
    if (!this.#isReady) this.#home.dialer.doubt();
  }

  /** Closes; everything that waits fails. */
  fail(): void {
    this.close();
    for (const attempt of this.#takeWaiting()) this.#ports.owner.failed(attempt);
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
    const hasWorked = this.#heardUs >= 0;
    this.close();
    for (const attempt of this.#takeWaiting()) {
      const mayMove = hasWorked && attempt.moves++ === 0;
      if (!mayMove || !this.#home.send(attempt, this.usedUs)) this.#ports.owner.failed(attempt);
    }
  }

  #takeWaiting(): Attempt[] {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    return waiting;
  }

  #write(attempt: Attempt): void {
    this.#socket.write(frameMessage(attempt.query, 0, attempt.query.length));
  }

  #receive(chunk: Buffer): void {
    this.#reader.feed(chunk);
    const { owner, clock } = this.#ports;
    while (!this.#isClosed && this.#reader.next()) {
      const { bytes, start, length } = this.#reader;
      this.#heardUs = clock.nowUs();
      this.isSuspect = false;
      const attempt = length < 2 ? undefined : this.#waiting.get(bytes.readUInt16BE(start));
      if (attempt === undefined) owner.strayed();
      else owner.replied(attempt, bytes.subarray(start, start + length));
    }
    this.#reader.settle();
  }
}
