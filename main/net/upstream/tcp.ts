/**
 * DNS messages on connections of TCP or TLS (RFC 7766 §6.2.1, RFC 7858 §3.3), each used for many
 * questions at once. Used by the upstream pool for truncated answers, for checks that must not be
 * forged, and for servers written as tcp:// and tls://. Which connection a question takes, and what
 * follows when one is closed, is in upstream-streams.ts.
 */
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { LIMITS } from '../../contract/limits.ts';
import { frameMessage, MessageReader } from '../message-reader.ts';
import { sendFailureOf } from '../transport/network-error.ts';
import type { PlainServer } from '../server-address.ts';
import type { Dialer } from '../transport/tls-dialer.ts';
import type { Attempt } from './attempt.ts';
import { StreamConnection, UpstreamStreams } from './streams.ts';
import type { StreamPorts } from './streams.ts';

/** Waiting questions above which another plain connection is opened: some servers answer in order. */
const BUSY_QUESTIONS = 8;
/** Idle time after which we close. RFC 7766 §6.2.3 asks clients not to keep idle ones. */
const IDLE_MS = 3_000;

/** Opens plain TCP connections. */
export class TcpDialer implements Dialer {
  readonly busyQuestions = BUSY_QUESTIONS;
  readonly idleMs = IDLE_MS;
  readonly isCheap = true;
  readonly pauseUntilUs = 0;
  readonly #server: PlainServer;

  constructor(server: PlainServer) {
    this.#server = server;
  }

  dial(ready: () => void): Socket {
    const { address, port } = this.#server;
    const socket = connect({ host: address, port, noDelay: true });
    socket.unref();
    socket.once('connect', ready);
    return socket;
  }

  doubt(): void {
    // There is one address only.
  }
}

/** The connections of one server. */
export function openTcp(dialer: Dialer, ports: StreamPorts): UpstreamStreams {
  return new UpstreamStreams(dialer, ports, (home) => TcpConnection.open(home));
}

/** One connection and the attempts that wait on it, by ID. */
class TcpConnection extends StreamConnection {
  readonly capacity = LIMITS.upstreamTcpPipelineMax;
  readonly #socket: Socket;
  readonly #reader = new MessageReader();
  readonly #waiting = new Map<number, Attempt>();
  #isReady = false;

  /** Null when there is no address to connect to. */
  static open(home: UpstreamStreams): TcpConnection | null {
    let connection: TcpConnection | null = null;
    const socket = home.dialer.dial(() => connection?.ready());
    if (socket !== null) connection = new TcpConnection(home, socket);
    return connection;
  }

  private constructor(home: UpstreamStreams, socket: Socket) {
    super(home);
    this.#socket = socket;
    let error: Error | null = null;
    const ended = (): void => {
      this.breakOff(this.#isReady ? 'closed' : sendFailureOf(error));
    };
    socket.on('data', (chunk: Buffer) => {
      this.#receive(chunk);
    });
    socket.on('error', (reason) => {
      error = reason;
    });
    socket.on('end', ended);
    socket.on('close', ended);
    socket.setTimeout(home.dialer.idleMs, () => {
      if (this.load === 0) this.close();
    });
  }

  get isOpen(): boolean {
    return this.#isReady;
  }

  get load(): number {
    return this.#waiting.size;
  }

  /** The way is open: what waited for it leaves now, and its time counts from now. */
  ready(): void {
    this.#isReady = true;
    const nowUs = this.home.ports.clock.nowUs();
    for (const attempt of this.#waiting.values()) {
      attempt.sentUs = nowUs;
      this.#write(attempt);
    }
  }

  send(attempt: Attempt): void {
    const { random } = this.home.ports;
    let id = random.uint16();
    while (this.#waiting.has(id)) id = random.uint16();
    attempt.carryBy(this, id);
    this.#waiting.set(id, attempt);
    if (this.#isReady) this.#write(attempt);
  }

  forget(attempt: Attempt): void {
    if (this.#waiting.delete(attempt.id)) this.home.freed(this);
  }

  protected suspect(): void {
    if (!this.#isReady) this.home.dialer.doubt();
  }

  protected end(): void {
    this.#socket.destroy();
  }

  protected takeWaiting(): Attempt[] {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    return waiting;
  }

  #write(attempt: Attempt): void {
    this.#socket.write(frameMessage(attempt.query, 0, attempt.query.length));
  }

  #receive(chunk: Buffer): void {
    this.#reader.feed(chunk);
    const { owner } = this.home.ports;
    while (!this.isClosed && this.#reader.next()) {
      const { bytes, start, length } = this.#reader;
      this.heard();
      const attempt = length < 2 ? undefined : this.#waiting.get(bytes.readUInt16BE(start));
      if (attempt === undefined) {
        owner.strayed();
        continue;
      }
      this.answered++;
      this.home.worked();
      owner.replied(attempt, bytes.subarray(start, start + length));
    }
    this.#reader.settle();
  }
}
