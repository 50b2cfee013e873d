/**
 * Servers that give few answers on a connection, in the ways that are found in the wild: plain TCP
 * (with truncated answers over UDP on the same port), TLS, and HTTPS in either version.
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer as createHttp2Server } from 'node:http2';
import type { Http2Session } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { createServer as createTlsServer, TLSSocket } from 'node:tls';
import { certificates } from './certificates.ts';
import { framed } from './dns-client.ts';
import { addressOfName, replyTo } from './fake-upstream.ts';
import type { FakeQuery } from './fake-upstream.ts';
import { decode } from 'dns-packet';

export interface ClosingOptions {
  readonly protocol: 'tcp' | 'tls' | 'h2' | 'http/1.1' | 'no ALPN';
  /** Answers on one connection; then `then`. */
  readonly answers: number;
  readonly then?: 'end' | 'reset' | 'ignore' | 'goaway';
  /** Closes without any answer when a second question is there before the first is answered. */
  readonly isStrict?: boolean;
  /** What becomes of a connection while another is open. */
  readonly others?: 'serve' | 'wait' | 'refuse';
  /** Time that each answer takes. */
  readonly delayMs?: number;
  /** HTTP/2: streams at a time, the others are refused; not announced. */
  readonly streamsMax?: number;
}

export interface ClosingServer {
  readonly port: number;
  connections: number;
  answered: number;
}

interface Cleanup {
  after(action: () => void): void;
}

export async function openClosing(t: Cleanup, options: ClosingOptions): Promise<ClosingServer> {
  const { protocol, others = 'serve' } = options;
  const state = { port: 0, connections: 0, answered: 0 };
  const serve = await connectionServer(protocol, options, state);
  const sockets = new Set<Socket>();
  const waiting: Socket[] = [];
  let active = 0;
  const begin = (socket: Socket): void => {
    active++;
    socket.once('close', () => {
      active--;
      const next = waiting.shift();
      if (next !== undefined) begin(next);
    });
    serve(socket);
  };
  const server = createServer({ pauseOnConnect: others === 'wait' }, (socket) => {
    state.connections++;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    if (active === 0 || others === 'serve') begin(socket);
    else if (others === 'wait') waiting.push(socket);
    else socket.resetAndDestroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  state.port = (server.address() as AddressInfo).port;
  const udp = createSocket('udp4');
  if (protocol === 'tcp') {
    udp.on('message', (bytes, peer) => {
      udp.send(replyTo(readQuery(bytes), { truncated: true }), peer.port, peer.address);
    });
    await new Promise<void>((resolve) => udp.bind(state.port, '127.0.0.1', resolve));
  }
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
    udp.close();
  });
  return state;
}

type Serve = (socket: Socket) => void;

async function connectionServer(
  protocol: ClosingOptions['protocol'],
  options: ClosingOptions,
  state: ClosingServer,
): Promise<Serve> {
  if (protocol === 'tcp') {
    return (socket) => {
      socket.resume();
      serveMessages(socket, socket, options, state);
    };
  }
  const { good } = await certificates();
  if (protocol === 'tls') {
    const secure = createTlsServer(good, (socket) => {
      socket.on('error', () => undefined);
      serveMessages(socket, socket, options, state);
    });
    secure.on('tlsClientError', () => undefined);
    return (socket) => secure.emit('connection', socket);
  }
  return protocol === 'h2' ? http2Server(good, options, state) : http1Server(good, options, state);
}

function serveMessages(
  socket: Socket,
  raw: Socket,
  { answers, then = 'end', isStrict = false, delayMs = 0 }: ClosingOptions,
  state: ClosingServer,
): void {
  let waiting = Buffer.alloc(0);
  let taken = 0;
  let given = 0;
  socket.on('data', (chunk: Buffer) => {
    waiting = Buffer.concat([waiting, chunk]);
    while (waiting.length >= 2 && waiting.length >= 2 + waiting.readUInt16BE(0)) {
      const end = 2 + waiting.readUInt16BE(0);
      const query = readQuery(waiting.subarray(2, end));
      waiting = waiting.subarray(end);
      if (++taken > given + 1 && isStrict) {
        socket.destroy();
        return;
      }
      if (taken > answers) continue;
      setTimeout(() => {
        if (!socket.writable) return;
        given++;
        state.answered++;
        socket.write(framed(answerTo(query)));
        if (given < answers) return;
        if (then === 'end') socket.end();
        if (then === 'reset') setTimeout(() => reset(raw), 1);
      }, delayMs);
    }
  });
}

function reset(socket: Socket): void {
  if (socket instanceof TLSSocket) socket.destroy();
  else socket.resetAndDestroy();
}

function http2Server(
  { key, cert }: { key: string; cert: string },
  { answers, then = 'end', delayMs = 0, streamsMax = Infinity }: ClosingOptions,
  state: ClosingServer,
): Serve {
  const given = new WeakMap<Http2Session, number>();
  let open = 0;
  const plain = createHttp2Server();
  plain.on('session', (session) => session.on('error', () => undefined));
  plain.on('stream', (stream) => {
    const { session } = stream;
    stream.on('error', () => undefined);
    open++;
    stream.on('close', () => open--);
    if (open > streamsMax) {
      stream.close(0x7);
      return;
    }
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () => {
      setTimeout(() => {
        if (session === undefined || session.destroyed || stream.destroyed) return;
        const count = (given.get(session) ?? 0) + 1;
        given.set(session, count);
        if (count > answers) return;
        state.answered++;
        stream.respond({ ':status': 200, 'content-type': 'application/dns-message' });
        stream.end(answerTo(readQuery(Buffer.concat(chunks))));
        if (count < answers) return;
        if (then === 'goaway') session.goaway(0, stream.id);
        else if (then !== 'ignore') stream.on('close', () => session.destroy());
      }, delayMs);
    });
  });
  const secure = createTlsServer({ key, cert, ALPNProtocols: ['h2'] }, (socket) => {
    socket.on('error', () => undefined);
    plain.emit('connection', socket);
  });
  secure.on('tlsClientError', () => undefined);
  return (socket) => secure.emit('connection', socket);
}

function http1Server(
  { key, cert }: { key: string; cert: string },
  { answers, delayMs = 0, protocol }: ClosingOptions,
  state: ClosingServer,
): Serve {
  const given = new WeakMap<Socket, number>();
  const server = createHttpsServer(
    { key, cert, ...(protocol === 'no ALPN' ? {} : { ALPNProtocols: ['http/1.1'] }) },
    (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const count = (given.get(request.socket) ?? 0) + 1;
        given.set(request.socket, count);
        setTimeout(() => {
          state.answered++;
          const sent = new URL(request.url ?? '/', 'https://x').searchParams.get('dns');
          const bytes = sent === null ? Buffer.concat(chunks) : Buffer.from(sent, 'base64url');
          response.setHeader('content-type', 'application/dns-message');
          if (count >= answers) response.setHeader('connection', 'close');
          response.end(answerTo(readQuery(bytes)));
        }, delayMs);
      });
    },
  );
  server.on('tlsClientError', () => undefined);
  return (socket) => server.emit('connection', socket);
}

function answerTo(query: FakeQuery): Buffer {
  const { name, type } = query;
  return replyTo(query, {
    answers: type === 'A' ? [{ name, type, ttl: 300, data: addressOfName(name) }] : [],
  });
}

function readQuery(bytes: Buffer): FakeQuery {
  const { id = 0, questions = [] } = decode(bytes);
  const [asked] = questions;
  return {
    ...{ bytes, id, transport: 'tcp', sourcePort: 0, hasOpt: true },
    name: asked?.name ?? '',
    type: asked?.type ?? 'A',
  };
}
