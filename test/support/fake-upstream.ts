/**
 * An upstream server for tests, on UDP and TCP of one port, that behaves as told and writes down
 * what it was asked.
 *
 *     const upstream = await FakeUpstream.open(t, answerAddress('192.0.2.1'));
 *     upstream.behave(delayed(20, answerAddress('192.0.2.1')));
 *     upstream.queries.length
 */
import { decode, encode } from 'dns-packet';
import type { Answer as Record_, DecodedPacket, RecordType } from 'dns-packet';
import { createSocket } from 'node:dgram';
import type { Socket } from 'node:dgram';
import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket as TcpSocket } from 'node:net';
import type { TestContext } from 'node:test';
import { framed } from './dns-client.ts';

/** One question that arrived. */
export interface FakeQuery {
  readonly bytes: Buffer;
  readonly id: number;
  /** As sent, letter case included. */
  readonly name: string;
  readonly type: RecordType;
  readonly transport: 'udp' | 'tcp';
  readonly sourcePort: number;
  readonly hasOpt: boolean;
}

/** What to do with one question: messages to send, each perhaps later. Empty: stay silent. */
export type Behaviour = (query: FakeQuery, upstream: FakeUpstream) => readonly Sending[];

/** One message back. */
export interface Sending {
  readonly bytes: Buffer;
  readonly delayMs?: number;
  /** Sends it from another port than the one asked (UDP only). */
  readonly fromElsewhere?: boolean;
  /** TCP only: closes the connection after it. */
  readonly thenClose?: boolean;
  /** Sent when the test calls `release`. */
  readonly isHeld?: boolean;
}

export interface FakeOptions {
  readonly address?: string;
  /** Default: one that the system chooses. */
  readonly port?: number;
  /** False leaves the TCP port closed. */
  readonly tcp?: boolean;
  /** False leaves the UDP port closed. */
  readonly udp?: boolean;
}

/** A server with settable behaviour. Closed when its test ends. */
export class FakeUpstream extends EventEmitter {
  readonly queries: FakeQuery[] = [];
  readonly address: string;
  readonly port: number;
  /** TCP connections accepted so far. */
  connections = 0;
  #behaviour: Behaviour;
  readonly #udp: Socket | null;
  readonly #elsewhere: Socket;
  readonly #tcp: Server | null;
  readonly #open = new Set<TcpSocket>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #held: (() => void)[] = [];

  static async open(
    t: Pick<TestContext, 'after'>,
    behaviour: Behaviour,
    options: FakeOptions = {},
  ): Promise<FakeUpstream> {
    const address = options.address ?? '127.0.0.1';
    const type = address.includes(':') ? 'udp6' : 'udp4';
    for (;;) {
      const server = createServer();
      server.listen(options.port ?? 0, address);
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      // A burst of a test must not be lost in the kernel's ordinary buffer.
      const udp = createSocket({ type, recvBufferSize: 4 * 1024 * 1024 });
      const isBound = await new Promise<boolean>((resolve) => {
        udp.once('error', () => resolve(false));
        udp.bind(port, address, () => resolve(true));
      });
      if (!isBound) {
        server.close();
        continue;
      }
      const hasUdp = options.udp ?? true;
      const hasTcp = options.tcp ?? true;
      if (!hasUdp) udp.close();
      if (!hasTcp) server.close();
      const elsewhere = createSocket(type);
      const upstream = new FakeUpstream(
        address,
        port,
        behaviour,
        hasUdp ? udp : null,
        hasTcp ? server : null,
        elsewhere,
      );
      t.after(() => upstream.close());
      return upstream;
    }
  }

  private constructor(
    address: string,
    port: number,
    behaviour: Behaviour,
    udp: Socket | null,
    tcp: Server | null,
    elsewhere: Socket,
  ) {
    super();
    this.address = address;
    this.port = port;
    this.#behaviour = behaviour;
    this.#udp = udp;
    this.#tcp = tcp;
    this.#elsewhere = elsewhere;
    udp?.on('message', (bytes, peer) => {
      this.#answer(bytes, 'udp', peer.port, (sending) => {
        const from = sending.fromElsewhere === true ? this.#elsewhere : udp;
        from.send(sending.bytes, peer.port, peer.address);
      });
    });
    tcp?.on('connection', (socket) => {
      this.#serveConnection(socket);
    });
  }

  /** "127.0.0.1:5353", as a setting names it. */
  get endpoint(): string {
    const host = this.address.includes(':') ? `[${this.address}]` : this.address;
    return `${host}:${String(this.port)}`;
  }

  behave(behaviour: Behaviour): void {
    this.#behaviour = behaviour;
  }

  /** Sends what was held. */
  release(): void {
    for (const send of this.#held.splice(0)) send();
  }

  /** Waits until `count` questions have arrived in all. */
  async asked(count: number, timeoutMs = 5_000): Promise<void> {
    const signal = AbortSignal.timeout(timeoutMs);
    while (this.queries.length < count) await once(this, 'query', { signal });
  }

  /** Closes the connections of clients, not the server. */
  dropConnections(): void {
    for (const socket of this.#open) socket.destroy();
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    this.dropConnections();
    this.#tcp?.close();
    for (const socket of [this.#udp, this.#elsewhere]) {
      try {
        socket?.close();
      } catch {
        // Closed before by the test itself.
      }
    }
  }

  #serveConnection(socket: TcpSocket): void {
    this.connections++;
    this.#open.add(socket);
    socket.on('close', () => this.#open.delete(socket));
    socket.on('error', () => undefined);
    let waiting = Buffer.alloc(0);
    socket.on('data', (chunk: Buffer) => {
      waiting = Buffer.concat([waiting, chunk]);
      while (waiting.length >= 2 && waiting.length >= 2 + waiting.readUInt16BE(0)) {
        const end = 2 + waiting.readUInt16BE(0);
        const message = waiting.subarray(2, end);
        waiting = waiting.subarray(end);
        this.#answer(message, 'tcp', socket.remotePort ?? 0, (sending) => {
          if (!socket.writable) return;
          socket.write(framed(sending.bytes));
          if (sending.thenClose === true) socket.end();
        });
      }
    });
  }

  #answer(
    bytes: Buffer,
    transport: 'udp' | 'tcp',
    sourcePort: number,
    send: (sending: Sending) => void,
  ): void {
    const packet = decode(bytes);
    const [asked] = packet.questions ?? [];
    const query: FakeQuery = {
      bytes,
      transport,
      sourcePort,
      id: packet.id ?? 0,
      name: asked?.name ?? '',
      type: asked?.type ?? 'A',
      hasOpt: (packet.additionals ?? []).some((record) => record.type === 'OPT'),
    };
    this.queries.push(query);
    for (const sending of this.#behaviour(query, this)) {
      if (sending.isHeld === true) this.#held.push(() => send(sending));
      else if (sending.delayMs === undefined) send(sending);
      else this.#later(sending.delayMs, () => send(sending));
    }
    this.emit('query', query);
  }

  #later(delayMs: number, action: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      action();
    }, delayMs);
    this.#timers.add(timer);
  }
}

/** A reply to a query: its ID and question, RA set, and what is given. */
export function replyTo(query: FakeQuery, changes: Partial<ReplyChanges> = {}): Buffer {
  const { rcode = 0, truncated = false, answers = [], name = query.name, id = query.id } = changes;
  return encode({
    type: 'response',
    id,
    flags: 0x0180 | (truncated ? 0x0200 : 0) | rcode,
    questions: [{ name, type: query.type, class: 'IN' }],
    answers,
  });
}

export interface ReplyChanges {
  readonly rcode: number;
  readonly truncated: boolean;
  readonly answers: Record_[];
  readonly name: string;
  readonly id: number;
}

/** Answers A (and AAAA, mapped) with one address. */
export function answerAddress(address: string, ttl = 300): Behaviour {
  return (query) => [addressReply(query, address, ttl)];
}

/** Answers A with an address made from the name, so that a foreign answer shows. */
export const answerByName: Behaviour = (query) => [
  addressReply(query, addressOfName(query.name), 300),
];

function addressReply(query: FakeQuery, address: string, ttl: number): Sending {
  const { name, type } = query;
  const data = type === 'AAAA' && !address.includes(':') ? `::ffff:${address}` : address;
  const answers: Record_[] = type === 'A' || type === 'AAAA' ? [{ name, type, ttl, data }] : [];
  return { bytes: replyTo(query, { answers }) };
}

/** The address that `answerByName` gives a name: of the range for benchmarks, RFC 2544. */
export function addressOfName(name: string): string {
  let hash = 7;
  for (const char of name.toLowerCase()) hash = (hash * 31 + char.charCodeAt(0)) & 0xff_ffff;
  return `198.${String(18 + ((hash >> 16) & 1))}.${String((hash >> 8) & 255)}.${String(hash & 255)}`;
}

/** Only a response code. */
export function answerCode(rcode: number): Behaviour {
  return (query) => [{ bytes: replyTo(query, { rcode }) }];
}

/** Never answers. */
export const silent: Behaviour = () => [];

/** The same, later. */
export function delayed(delayMs: number, inner: Behaviour): Behaviour {
  return (query, upstream) =>
    inner(query, upstream).map((sending) => ({
      ...sending,
      delayMs: delayMs + (sending.delayMs ?? 0),
    }));
}

/** The same, when the test calls `release`. */
export function held(inner: Behaviour): Behaviour {
  return (query, upstream) =>
    inner(query, upstream).map((sending) => ({ ...sending, isHeld: true }));
}

/** One behaviour over UDP, another over TCP. */
export function byTransport(udp: Behaviour, tcp: Behaviour): Behaviour {
  return (query, upstream) => (query.transport === 'udp' ? udp : tcp)(query, upstream);
}

/** TC set and nothing in it. */
export const truncatedAnswer: Behaviour = (query) => [
  { bytes: replyTo(query, { truncated: true }) },
];

/** Does each in turn; the last one for all questions that follow. */
export function inTurn(...behaviours: readonly Behaviour[]): Behaviour {
  let next = 0;
  return (query, upstream) => {
    const behaviour = behaviours[Math.min(next++, behaviours.length - 1)];
    return behaviour?.(query, upstream) ?? [];
  };
}

/** The decoded form of what a query asked, for assertions. */
export function decoded(query: FakeQuery): DecodedPacket {
  return decode(query.bytes) as DecodedPacket;
}
