/**
 * DNS over HTTPS to one upstream (RFC 8484): one HTTP/2 session that all questions share, a second
 * one while the first is full, in doubt or told to end. Used by the upstream pool in a data-plane
 * thread; node:http2 is loaded when the first session is opened.
 *
 *     attempt ─▶ session ─▶ stream: POST, application/dns-message ─▶ 200, same type, ≤ 64 KiB ─▶ reply
 *                  │ GOAWAY, closed: what was not answered moves to a fresh session, once
 *
 * Nothing but the question is sent: no cookies, no user agent, ID 0 (RFC 8484 §4.1), and nothing
 * that a response asks for is kept. Redirects are not followed.
 */
import type {
  ClientHttp2Session,
  ClientHttp2Stream,
  IncomingHttpHeaders,
  IncomingHttpStatusHeader,
} from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { LIMITS } from '../contract/limits.ts';
import type { Clock } from '../engine/ports.ts';
import { formatEndpoint } from './server-address.ts';
import type { TlsDialer } from './tls-dialer.ts';
import type { SecureServer } from './upstream-address.ts';
import type { Attempt, Carrier, CarrierOwner, Way } from './upstream-attempt.ts';

const DNS_MESSAGE = 'application/dns-message';
/** HTTP/2 error codes. RFC 9113 §7. */
const REFUSED_STREAM = 0x7;
const CANCEL = 0x8;
/** A ping that is not answered in this time ends the session. */
const PING_MS = 1_000;

export interface HttpsPorts {
  readonly owner: CarrierOwner;
  readonly clock: Clock;
  /** Why an answer was not taken, as a clause for people. */
  readonly refused: (reason: string) => void;
}

/** The sessions of one server. */
export class UpstreamHttps implements Way {
  readonly server: SecureServer;
  readonly dialer: TlsDialer;
  readonly ports: HttpsPorts;
  readonly #sessions = new Set<HttpsSession>();

  constructor(server: SecureServer, dialer: TlsDialer, ports: HttpsPorts) {
    this.server = server;
    this.dialer = dialer;
    this.ports = ports;
  }

  send(attempt: Attempt): boolean {
    const session = this.#choose();
    if (session === null) return false;
    session.send(attempt);
    return true;
  }

  /** Sessions close by themselves when they are idle. */
  sweep(): void {
    for (const session of this.#sessions) if (session.isLeft && session.load === 0) session.close();
  }

  rest(): void {
    this.sweep();
  }

  close(): void {
    for (const session of [...this.#sessions]) session.fail();
  }

  /** Called by a session that has ended, before it reports what waited on it. */
  ended(session: HttpsSession): void {
    this.#sessions.delete(session);
  }

  #choose(): HttpsSession | null {
    for (const session of this.#sessions) {
      if (!session.isLeft && session.load < session.capacity) return session;
    }
    if (this.#sessions.size >= LIMITS.upstreamTcpConnectionsMax) return null;
    const opened = HttpsSession.open(this);
    if (opened !== null) this.#sessions.add(opened);
    return opened;
  }
}

/** One session and the attempts that wait on it, each on a stream of its own. */
class HttpsSession implements Carrier {
  /** In doubt, or told to end: takes no more questions. */
  isLeft = false;
  readonly #home: UpstreamHttps;
  readonly #socket: TLSSocket;
  /** Null while the session is not open yet. */
  readonly #waiting = new Map<Attempt, ClientHttp2Stream | null>();
  #session: ClientHttp2Session | null = null;
  #heardUs = -1;
  #isClosed = false;
  #pingTimer: NodeJS.Timeout | null = null;

  /** Null when there is no address to connect to. */
  static open(home: UpstreamHttps): HttpsSession | null {
    let session: HttpsSession | null = null;
    const socket = home.dialer.dial(() => session?.ready());
    if (socket !== null) session = new HttpsSession(home, socket);
    return session;
  }

  private constructor(home: UpstreamHttps, socket: TLSSocket) {
    this.#home = home;
    this.#socket = socket;
    socket.on('close', () => {
      this.#breakOff();
    });
  }

  get load(): number {
    return this.#waiting.size;
  }

  /** Streams at a time: the server's bound and ours. */
  get capacity(): number {
    const theirs = this.#session?.remoteSettings.maxConcurrentStreams ?? Infinity;
    return Math.min(theirs, LIMITS.upstreamTcpPipelineMax);
  }

  /** The connection stands and is verified. */
  ready(): void {
    const { connect } = process.getBuiltinModule('node:http2');
    const { host, port } = this.#home.server;
    const session = connect(`https://${formatEndpoint(host, port)}`, {
      createConnection: () => this.#socket,
      settings: { enablePush: false },
    });
    this.#session = session;
    session.unref();
    session.on('error', () => undefined); // `close` follows
    session.on('goaway', () => {
      this.isLeft = true;
    });
    session.on('close', () => {
      this.#breakOff();
    });
    session.setTimeout(this.#home.dialer.idleMs, () => {
      if (this.load === 0) this.close();
    });
    const nowUs = this.#home.ports.clock.nowUs();
    for (const attempt of this.#waiting.keys()) {
      attempt.sentUs = nowUs;
      this.#request(session, attempt);
    }
  }

  send(attempt: Attempt): void {
    attempt.carryBy(this, 0);
    this.#waiting.set(attempt, null);
    if (this.#session !== null) this.#request(this.#session, attempt);
  }

  forget(attempt: Attempt, timedOut: boolean): void {
    const stream = this.#waiting.get(attempt);
    this.#waiting.delete(attempt);
    if (timedOut) this.doubt(attempt);
    if (stream && !stream.closed) stream.close(CANCEL);
    if (this.isLeft && this.load === 0) this.close();
  }

  /** Asks elsewhere from now on, unless the server shows that it lives. */
  doubt(attempt: Attempt): void {
    if (this.isLeft || this.#heardUs >= attempt.sentUs) return;
    this.isLeft = true;
    const session = this.#session;
    if (session === null) {
      this.#home.dialer.doubt();
      return;
    }
    this.#pingTimer ??= setTimeout(() => {
      this.fail();
    }, PING_MS).unref();
    session.ping((error) => {
      if (error === null) this.#alive();
    });
  }

  /** Closes; everything that waits fails. */
  fail(): void {
    this.close();
    for (const attempt of this.#takeWaiting()) this.#home.ports.owner.failed(attempt);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#pingTimer !== null) clearTimeout(this.#pingTimer);
    this.#home.ended(this);
    this.#session?.destroy();
    this.#socket.destroy();
  }

  /** The answer to a ping: it was only slow. */
  #alive(): void {
    if (this.#pingTimer !== null) clearTimeout(this.#pingTimer);
    this.#pingTimer = null;
    if (this.#session?.closed === false) this.isLeft = false;
  }

  /** The session has ended: what a working one left over moves to a fresh one. */
  #breakOff(): void {
    if (this.#isClosed) return;
    const hasWorked = this.#heardUs >= 0;
    this.close();
    for (const attempt of this.#takeWaiting()) this.#moveOrFail(attempt, hasWorked);
  }

  #moveOrFail(attempt: Attempt, mayMove: boolean): void {
    const moves = mayMove && attempt.moves++ === 0;
    if (!moves || !this.#home.send(attempt)) this.#home.ports.owner.failed(attempt);
  }

  #takeWaiting(): Attempt[] {
    const waiting = [...this.#waiting.keys()];
    this.#waiting.clear();
    return waiting;
  }

  #request(session: ClientHttp2Session, attempt: Attempt): void {
    if (session.closed || session.destroyed) {
      this.#waiting.delete(attempt);
      // Not now: the pool is still sending it.
      setImmediate(() => {
        this.#moveOrFail(attempt, true);
      });
      return;
    }
    const { path, method } = this.#home.server;
    const { query } = attempt;
    const isGet = method === 'GET';
    const stream = session.request(
      isGet
        ? { ':method': 'GET', ':path': getPath(path, query), accept: DNS_MESSAGE }
        : {
            ':method': 'POST',
            ':path': path,
            accept: DNS_MESSAGE,
            'content-type': DNS_MESSAGE,
            'content-length': query.length,
          },
      { endStream: isGet },
    );
    this.#waiting.set(attempt, stream);
    this.#listen(stream, attempt);
    if (!isGet) stream.end(query);
  }

  #listen(stream: ClientHttp2Stream, attempt: Attempt): void {
    const chunks: Buffer[] = [];
    let bytes = 0;
    stream.on('response', (headers) => {
      this.#heardUs = this.#home.ports.clock.nowUs();
      const trouble = responseTrouble(headers);
      attempt.ageSeconds = ageOf(headers);
      if (trouble !== '') this.#refuse(attempt, trouble);
    });
    stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > LIMITS.messageBytesMax) this.#refuse(attempt, 'its answer is above 64 KiB');
      else chunks.push(chunk);
    });
    stream.on('end', () => {
      if (this.#waiting.has(attempt) && stream.rstCode === 0) {
        this.#answer(attempt, Buffer.concat(chunks, bytes));
      }
    });
    stream.on('error', () => undefined); // `close` follows
    stream.on('close', () => {
      if (!this.#waiting.delete(attempt)) return;
      // A stream that the server did not look at may be sent again. RFC 9113 §8.7.
      const wasUnseen = stream.rstCode === REFUSED_STREAM || this.isLeft;
      this.#moveOrFail(attempt, wasUnseen);
    });
  }

  #answer(attempt: Attempt, bytes: Buffer): void {
    const { owner } = this.#home.ports;
    owner.replied(attempt, bytes);
    // Not taken, and nothing more comes on this stream.
    if (this.#waiting.delete(attempt)) owner.failed(attempt);
    if (this.isLeft && this.load === 0) this.close();
  }

  #refuse(attempt: Attempt, trouble: string): void {
    const stream = this.#waiting.get(attempt);
    if (!this.#waiting.delete(attempt)) return;
    if (stream && !stream.closed) stream.close(CANCEL);
    this.#home.ports.refused(trouble);
    this.#home.ports.owner.failed(attempt);
  }
}

/** '' for a response that may hold an answer. */
function responseTrouble(headers: IncomingHttpHeaders & IncomingHttpStatusHeader): string {
  const status = headers[':status'];
  if (status !== 200) return `it answers with HTTP status ${String(status ?? 'none')}`;
  const type = (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  return type === DNS_MESSAGE ? '' : `its answer is "${type.slice(0, 60)}", not ${DNS_MESSAGE}`;
}

function ageOf(headers: IncomingHttpHeaders): number {
  const age = Number(headers.age ?? 0);
  return Number.isInteger(age) && age > 0 ? Math.min(age, 0xffff_ffff) : 0;
}

function getPath(path: string, query: Buffer): string {
  return `${path}${path.includes('?') ? '&' : '?'}dns=${query.toString('base64url')}`;
}
