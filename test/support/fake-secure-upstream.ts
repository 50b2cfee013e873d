/**
 * An upstream behind TLS for tests: DNS over TLS or over HTTPS, behaving as told, writing down what
 * it was asked and over how many connections.
 */
import { decode } from 'dns-packet';
import { once } from 'node:events';
import { createSecureServer, constants } from 'node:http2';
import type { Http2Session, ServerHttp2Stream, IncomingHttpHeaders } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:tls';
import type { Server, TLSSocket } from 'node:tls';
import { framed } from './dns-client.ts';
import type { Certificate } from './certificates.ts';
import type { Behaviour, FakeQuery, FakeUpstream } from './fake-upstream.ts';

/** What to do with one HTTP request in place of an ordinary answer; true when it was dealt with. */
export type HttpTwist = (
  stream: ServerHttp2Stream,
  query: FakeQuery,
  session: Http2Session,
) => boolean;

type Context = { after(action: () => void): void };

/** A DoT or DoH server on 127.0.0.1. Closed when its test ends. */
export class FakeSecureUpstream {
  readonly queries: FakeQuery[] = [];
  /** Headers of each HTTP request. */
  readonly requests: IncomingHttpHeaders[] = [];
  /** TLS connections, and those of them that resumed a session. */
  connections = 0;
  resumed = 0;
  behaviour: Behaviour;
  twist: HttpTwist = () => false;
  /** Reads nothing and writes nothing any more, but keeps connections open. */
  isFrozen = false;
  readonly protocol: 'tls' | 'https';
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #timers = new Set<NodeJS.Timeout>();

  static async open(
    t: Context,
    protocol: 'tls' | 'https',
    certificate: Certificate,
    behaviour: Behaviour,
    port = 0,
  ): Promise<FakeSecureUpstream> {
    const server = new FakeSecureUpstream(protocol, certificate, behaviour);
    server.#server.listen(port, '127.0.0.1');
    await once(server.#server, 'listening');
    t.after(() => {
      server.close();
    });
    return server;
  }

  private constructor(protocol: 'tls' | 'https', certificate: Certificate, behaviour: Behaviour) {
    this.protocol = protocol;
    this.behaviour = behaviour;
    const { key, cert } = certificate;
    if (protocol === 'https') {
      const server = createSecureServer({ key, cert });
      server.on('stream', (stream, headers) => {
        this.#serveStream(stream, headers);
      });
      this.#server = server;
    } else {
      this.#server = createServer({ key, cert });
    }
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => this.#sockets.delete(socket));
    });
    this.#server.on('tlsClientError', () => undefined);
    this.#server.on('secureConnection', (socket: TLSSocket) => {
      this.connections++;
      if (socket.isSessionReused()) this.resumed++;
      socket.on('error', () => undefined);
      if (protocol === 'tls') this.#serveSocket(socket);
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** As a setting names it. @param options  behind "#" */
  text(options = ''): string {
    const path = this.protocol === 'https' ? '/dns-query' : '';
    const fragment = options === '' ? '' : `#${options}`;
    return `${this.protocol}://127.0.0.1:${String(this.port)}${path}${fragment}`;
  }

  dropConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.dropConnections();
    this.#server.close();
  }

  #serveSocket(socket: TLSSocket): void {
    let waiting = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      waiting = Buffer.concat([waiting, chunk]);
      while (waiting.length >= 2 && waiting.length >= 2 + waiting.readUInt16BE(0)) {
        const end = 2 + waiting.readUInt16BE(0);
        const query = this.#note(waiting.subarray(2, end));
        waiting = waiting.subarray(end);
        this.#answer(query, (bytes, thenClose) => {
          if (socket.writable) socket.write(framed(bytes));
          if (thenClose) socket.end();
        });
      }
    });
  }

  #serveStream(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    this.requests.push(headers);
    const chunks: Buffer[] = [];
    stream.on('error', () => undefined);
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => {
      const sent = new URL(headers[':path'] as string, 'https://x').searchParams.get('dns');
      const bytes = sent === null ? Buffer.concat(chunks) : Buffer.from(sent, 'base64url');
      const query = this.#note(bytes);
      if (stream.session && this.twist(stream, query, stream.session)) return;
      this.#answer(query, (reply) => {
        if (stream.destroyed) return;
        stream.respond({ ':status': 200, 'content-type': 'application/dns-message' });
        stream.end(reply);
      });
    });
    stream.resume();
  }

  #note(bytes: Buffer): FakeQuery {
    const packet = decode(bytes);
    const [asked] = packet.questions ?? [];
    const query: FakeQuery = {
      bytes: Buffer.from(bytes),
      transport: 'tcp',
      sourcePort: 0,
      id: packet.id ?? 0,
      name: asked?.name ?? '',
      type: asked?.type ?? 'A',
      hasOpt: (packet.additionals ?? []).some((record) => record.type === 'OPT'),
    };
    this.queries.push(query);
    return query;
  }

  #answer(query: FakeQuery, send: (bytes: Buffer, thenClose: boolean) => void): void {
    if (this.isFrozen) return;
    // The behaviours in use look at the query only.
    const sendings = this.behaviour(query, this as unknown as FakeUpstream);
    for (const { bytes, delayMs = 0, thenClose = false } of sendings) {
      if (delayMs === 0) {
        send(bytes, thenClose);
        continue;
      }
      const timer = setTimeout(() => {
        this.#timers.delete(timer);
        send(bytes, thenClose);
      }, delayMs);
      this.#timers.add(timer);
    }
  }
}

/** Answers with HTTP in another way than RFC 8484 says. */
export function httpAnswer(
  headers: Record<string, string | number>,
  body: Buffer | string,
): HttpTwist {
  return (stream) => {
    stream.respond(headers);
    stream.end(body);
    return true;
  };
}

/** Resets the stream, as a server that is restarting does. */
export const resetStream: HttpTwist = (stream) => {
  stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  return true;
};
