/**
 * A DNS client for tests: one question over UDP or TCP, or raw bytes over a connection held open.
 * Decodes with dns-packet, so that our own wire code is not tested by itself.
 */
import { decode, encode } from 'dns-packet';
import type { DecodedPacket, OptAnswer, Packet, RecordType } from 'dns-packet';
import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';

/** A decoded answer and the bytes it came in. */
export type Answer = DecodedPacket & { readonly bytes: Buffer; readonly rcode: string };

export interface AskOptions {
  readonly id?: number;
  /** Advertised UDP size; absent means no OPT record. */
  readonly ednsBytes?: number;
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 5_000;

/** "127.0.0.1:53" or "[::1]:53" taken apart. */
export function splitEndpoint(endpoint: string): { address: string; port: number } {
  const at = endpoint.lastIndexOf(':');
  const address = endpoint.slice(0, at).replace(/^\[|\]$/g, '');
  return { address, port: Number(endpoint.slice(at + 1)) };
}

/** The bytes of a question with RD set. */
export function question(name: string, type: RecordType = 'A', options: AskOptions = {}): Buffer {
  const packet: Packet = {
    type: 'query',
    id: options.id ?? randomInt(65_536),
    flags: 0x0100,
    questions: [{ name, type, class: 'IN' }],
  };
  if (options.ednsBytes !== undefined) {
    packet.additionals = [
      { type: 'OPT', name: '.', udpPayloadSize: options.ednsBytes } as OptAnswer,
    ];
  }
  return encode(packet);
}

/** Decodes a message; the RCODE by name. */
export function readAnswer(bytes: Buffer): Answer {
  const packet = decode(bytes) as DecodedPacket & { rcode: string };
  return Object.assign(packet, { bytes });
}

/** Asks over UDP from a fresh port. @throws when nothing comes in time */
export async function askUdp(
  endpoint: string,
  name: string,
  type: RecordType = 'A',
  options: AskOptions = {},
): Promise<Answer> {
  return readAnswer(await exchangeUdp(endpoint, question(name, type, options), options.timeoutMs));
}

/** Sends bytes over UDP and returns what comes back. @throws when nothing comes in time */
export async function exchangeUdp(
  endpoint: string,
  bytes: Uint8Array,
  timeoutMs = TIMEOUT_MS,
): Promise<Buffer> {
  const { address, port } = splitEndpoint(endpoint);
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
  try {
    const reply = once(socket, 'message', { signal: AbortSignal.timeout(timeoutMs) });
    socket.send(bytes, port, address);
    return ((await reply) as [Buffer])[0];
  } finally {
    socket.close();
  }
}

/** Asks over a TCP connection of its own. @throws when nothing comes in time */
export async function askTcp(
  endpoint: string,
  name: string,
  type: RecordType = 'A',
  options: AskOptions = {},
): Promise<Answer> {
  const client = await TcpClient.open(endpoint);
  try {
    client.send(question(name, type, options));
    return readAnswer(await client.next(options.timeoutMs));
  } finally {
    client.destroy();
  }
}

/** Puts the two length bytes in front of a message. RFC 1035 §4.2.2. */
export function framed(message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(2);
  prefix.writeUInt16BE(message.length);
  return Buffer.concat([prefix, message]);
}

/** A TCP connection to a server, for pipelining and odd writes. */
export class TcpClient {
  readonly socket: Socket;
  #bytes = Buffer.alloc(0);
  #hasEnded = false;
  #wake: () => void = () => undefined;

  /** @param localAddress  to come from, such as 127.0.0.7; the system's choice when not given */
  static async open(endpoint: string, localAddress?: string): Promise<TcpClient> {
    const { address, port } = splitEndpoint(endpoint);
    const from = localAddress === undefined ? {} : { localAddress };
    const socket = connect({ host: address, port, noDelay: true, ...from });
    const client = new TcpClient(socket);
    await once(socket, 'connect', { signal: AbortSignal.timeout(TIMEOUT_MS) });
    return client;
  }

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.#bytes = Buffer.concat([this.#bytes, chunk]);
      this.#wake();
    });
    socket.on('error', () => undefined);
    for (const name of ['end', 'close']) {
      socket.on(name, () => {
        this.#hasEnded = true;
        this.#wake();
      });
    }
  }

  /** Sends one message with its prefix. */
  send(message: Uint8Array): void {
    this.socket.write(framed(message));
  }

  /** The next whole message. @throws when the connection ends or nothing comes in time */
  async next(timeoutMs = TIMEOUT_MS): Promise<Buffer> {
    await this.#until(() => this.#hasEnded || this.#hasMessage(), timeoutMs);
    if (!this.#hasMessage()) throw new Error('the server closed the connection');
    const end = 2 + this.#bytes.readUInt16BE(0);
    const message = this.#bytes.subarray(2, end);
    this.#bytes = this.#bytes.subarray(end);
    return message;
  }

  /** Resolves when the server has closed. @throws when it does not in time */
  async closed(timeoutMs = TIMEOUT_MS): Promise<void> {
    await this.#until(() => this.#hasEnded, timeoutMs);
  }

  #hasMessage(): boolean {
    return this.#bytes.length >= 2 && this.#bytes.length >= 2 + this.#bytes.readUInt16BE(0);
  }

  async #until(isDone: () => boolean, timeoutMs: number): Promise<void> {
    const signal = AbortSignal.timeout(timeoutMs);
    signal.onabort = () => {
      this.#wake();
    };
    while (!isDone() && !signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    signal.onabort = null;
    if (!isDone()) throw new Error(`nothing within ${String(timeoutMs)} ms`);
  }

  destroy(): void {
    this.socket.destroy();
  }
}
