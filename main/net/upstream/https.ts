/**
 * DNS over HTTPS to one upstream (RFC 8484): HTTP/2 where the server offers it, else HTTP/1.1. Used by
 * the upstream pool in a data-plane thread. Which connection a question takes, and what follows when
 * one is closed, is in upstream-streams.ts.
 *
 *     attempt ─▶ connection ─▶ POST, application/dns-message ─▶ 200, same type, ≤ 64 KiB ─▶ reply
 *                  │ GOAWAY, closed, REFUSED_STREAM: what was not answered goes another way
 *
 * Nothing but the question is sent: no cookies, no user agent, ID 0 (RFC 8484 §4.1), and nothing
 * that a response asks for is kept. Redirects are not followed.
 */
import type { TLSSocket } from 'node:tls';
import { LIMITS } from '../../contract/limits.ts';
import { HttpOneClient } from '../transport/http-one-client.ts';
import { HttpTwoClient } from '../transport/http-two-client.ts';
import type { HttpClient, HttpUser } from '../transport/http-response.ts';
import { sendFailureOf } from '../transport/network-error.ts';
import type { TlsDialer } from '../transport/tls-dialer.ts';
import type { SecureServer } from '../upstream-address.ts';
import type { Attempt } from './attempt.ts';
import { StreamConnection, UpstreamStreams } from './streams.ts';
import type { StreamPorts } from './streams.ts';

/** A ping that is not answered in this time ends the connection. */
const PING_MS = 1_000;

/**
 * The connections of one server.
 *
 * @param refused  told why an answer was not taken, as a clause for people
 */
export function openHttps(
  server: SecureServer,
  dialer: TlsDialer,
  ports: StreamPorts,
  refused: (reason: string) => void,
): UpstreamStreams {
  return new UpstreamStreams(dialer, ports, (home) => {
    let connection: HttpsConnection | null = null;
    const socket = dialer.dial(() => connection?.ready());
    if (socket === null) return null;
    connection = new HttpsConnection(home, socket, server, refused);
    return connection;
  });
}

/** One connection and the attempts that wait on it. */
class HttpsConnection extends StreamConnection implements HttpUser<Attempt> {
  readonly #socket: TLSSocket;
  readonly #server: SecureServer;
  readonly #refused: (reason: string) => void;
  readonly #waiting = new Set<Attempt>();
  /** Null until the connection stands. */
  #client: HttpClient<Attempt> | null = null;
  /** Told to end. */
  #isLeaving = false;
  #pingTimer: NodeJS.Timeout | null = null;

  constructor(
    home: UpstreamStreams,
    socket: TLSSocket,
    server: SecureServer,
    refused: (reason: string) => void,
  ) {
    super(home);
    this.#socket = socket;
    this.#server = server;
    this.#refused = refused;
    let error: Error | null = null;
    socket.on('error', (reason: Error) => {
      error = reason;
    });
    socket.on('close', () => {
      this.breakOff(this.#client === null ? sendFailureOf(error) : 'closed');
    });
  }

  get isOpen(): boolean {
    return this.#client !== null;
  }

  get load(): number {
    return Math.max(this.#waiting.size, this.#client?.load ?? 0);
  }

  override get isBusy(): boolean {
    return this.load >= this.capacity;
  }

  get capacity(): number {
    if (this.#isLeaving) return 0;
    return this.#client?.capacity ?? LIMITS.upstreamTcpPipelineMax;
  }

  /** The connection stands and is verified: what waited for it leaves now. */
  ready(): void {
    const { idleMs } = this.home.dialer;
    const isTwo = this.#socket.alpnProtocol === 'h2';
    const client: HttpClient<Attempt> = isTwo
      ? new HttpTwoClient<Attempt>(this.#socket, this.#server, this, idleMs)
      : new HttpOneClient<Attempt>(this.#socket, this.#server, this, idleMs);
    this.#client = client;
    const nowUs = this.home.ports.clock.nowUs();
    const tooMany: Attempt[] = [];
    for (const attempt of this.#waiting) {
      if (client.load >= client.capacity) {
        tooMany.push(attempt);
        continue;
      }
      attempt.sentUs = nowUs;
      client.request(attempt, attempt.query);
    }
    for (const attempt of tooMany) this.#waiting.delete(attempt);
    this.home.requeue(tooMany);
  }

  send(attempt: Attempt): void {
    attempt.carryBy(this, 0);
    this.#waiting.add(attempt);
    this.#client?.request(attempt, attempt.query);
  }

  forget(attempt: Attempt): void {
    if (!this.#waiting.delete(attempt)) return;
    this.#client?.cancel(attempt);
    if (this.isSuspect && this.#waiting.size === 0) this.close();
    this.home.freed(this);
  }

  // -- called by the client --------------------------------------------------------------------

  responded(attempt: Attempt, body: Buffer, ageSeconds: number): void {
    const { owner } = this.home.ports;
    this.answered++;
    this.home.worked();
    attempt.ageSeconds = ageSeconds;
    owner.replied(attempt, body);
    // Not taken, and nothing more comes of this request.
    if (this.#waiting.delete(attempt)) owner.failed(attempt, 'closed');
    this.freed();
  }

  refused(attempt: Attempt, reason: string): void {
    if (!this.#waiting.delete(attempt)) return;
    this.#refused(reason);
    this.home.ports.owner.failed(attempt, 'closed');
    this.freed();
  }

  lost(attempt: Attempt, mayRepeat: boolean): void {
    if (!this.#waiting.delete(attempt)) return;
    const isAlive = this.answered > 0 || this.#waiting.size > 0;
    if (mayRepeat) this.home.sendAgain(attempt, isAlive, 'closed');
    else this.home.ports.owner.failed(attempt, 'closed');
    this.freed();
  }

  leaving(): void {
    this.#isLeaving = true;
    this.freed();
  }

  freed(): void {
    if (this.#isLeaving && this.load === 0) this.close();
    this.home.freed(this);
  }

  // -- called by the base ----------------------------------------------------------------------

  /** Others are preferred from now on, unless the server shows that it lives. */
  protected suspect(): void {
    if (this.#client === null) {
      this.home.dialer.doubt();
      return;
    }
    const isAsked = this.#client.ping(() => {
      this.#endPing();
      this.suspectUs = -1;
    });
    if (!isAsked) return;
    this.#pingTimer ??= setTimeout(() => {
      this.breakOff('closed');
    }, PING_MS).unref();
  }

  protected end(): void {
    this.#endPing();
    this.#client?.close();
    this.#socket.destroy();
  }

  protected takeWaiting(): Attempt[] {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    return waiting;
  }

  #endPing(): void {
    if (this.#pingTimer !== null) clearTimeout(this.#pingTimer);
    this.#pingTimer = null;
  }
}
