/**
 * DNS over HTTPS in HTTP/2: all requests share one session, each on a stream of its own. Used by
 * upstream-https.ts; node:http2 is loaded when the first session is opened.
 */
import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { LIMITS } from '../../contract/limits.ts';
import {
  ageOf,
  DNS_MESSAGE,
  getPath,
  ResponseBody,
  responseTrouble,
  TOO_LONG,
} from './http-response.ts';
import type { HttpClient, HttpUser } from './http-response.ts';
import { formatEndpoint } from '../server-address.ts';
import type { SecureServer } from '../upstream-address.ts';

/** HTTP/2 error codes. RFC 9113 §7. */
const REFUSED_STREAM = 0x7;
const CANCEL = 0x8;

/** A session; its end shows in the socket's `close`. */
export class HttpTwoClient<Request extends object> implements HttpClient<Request> {
  readonly #server: SecureServer;
  readonly #user: HttpUser<Request>;
  readonly #session: ClientHttp2Session;
  readonly #streams = new Map<Request, ClientHttp2Stream>();
  /** Ours, or what it was seen to take. */
  #streamsMax: number = LIMITS.upstreamTcpPipelineMax;
  #isLeaving = false;

  constructor(socket: TLSSocket, server: SecureServer, user: HttpUser<Request>, idleMs: number) {
    this.#server = server;
    this.#user = user;
    const { connect } = process.getBuiltinModule('node:http2');
    const session = connect(`https://${formatEndpoint(server.host, server.port)}`, {
      createConnection: () => socket,
      settings: { enablePush: false },
    });
    this.#session = session;
    session.unref();
    session.on('error', () => undefined); // the socket's `close` follows
    session.on('close', () => socket.destroy());
    session.on('goaway', () => {
      this.#isLeaving = true;
      user.leaving();
    });
    session.setTimeout(idleMs, () => {
      if (this.load === 0) this.close();
    });
  }

  get load(): number {
    return this.#streams.size;
  }

  /** The server's bound and ours. */
  get capacity(): number {
    const { closed, destroyed, remoteSettings } = this.#session;
    if (closed || destroyed) return 0;
    return Math.min(remoteSettings.maxConcurrentStreams ?? Infinity, this.#streamsMax);
  }

  request(request: Request, query: Buffer): void {
    const session = this.#session;
    if (session.closed || session.destroyed) {
      setImmediate(() => {
        this.#user.lost(request, true);
      });
      return;
    }
    const { path, method } = this.#server;
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
    this.#streams.set(request, stream);
    this.#listen(stream, request);
    if (!isGet) stream.end(query);
  }

  cancel(request: Request): void {
    const stream = this.#streams.get(request);
    this.#streams.delete(request);
    if (stream?.closed === false) stream.close(CANCEL);
  }

  ping(alive: () => void): boolean {
    if (this.#session.closed || this.#session.destroyed) return false;
    return this.#session.ping((error) => {
      if (error === null) alive();
    });
  }

  close(): void {
    this.#streams.clear();
    this.#session.destroy();
  }

  #listen(stream: ClientHttp2Stream, request: Request): void {
    const body = new ResponseBody();
    let ageSeconds = 0;
    stream.on('response', (headers) => {
      this.#user.heard();
      ageSeconds = ageOf(headers.age);
      const trouble = responseTrouble(headers[':status'], headers['content-type'] ?? '');
      if (trouble !== '') this.#refuse(request, trouble);
    });
    stream.on('data', (chunk: Buffer) => {
      if (!body.add(chunk)) this.#refuse(request, TOO_LONG);
    });
    stream.on('end', () => {
      if (stream.rstCode === 0 && this.#streams.delete(request)) {
        this.#user.responded(request, body.take(), ageSeconds);
      }
    });
    stream.on('error', () => undefined); // `close` follows
    stream.on('close', () => {
      // A stream that the server did not look at may be sent again. RFC 9113 §8.7.
      const isUnseen = stream.rstCode === REFUSED_STREAM;
      if (!this.#streams.delete(request)) return;
      if (isUnseen) this.#streamsMax = Math.max(this.#streams.size, 1);
      this.#user.lost(request, isUnseen || this.#isLeaving);
    });
  }

  #refuse(request: Request, reason: string): void {
    if (!this.#streams.has(request)) return;
    this.cancel(request);
    this.#user.refused(request, reason);
  }
}
