/**
 * One client's TCP connection: questions in, answers out, in whatever order they are ready
 * (RFC 7766 §6.2.1.1). Made by tcp-listener.ts; runs in a data-plane thread.
 *
 * Every way to make us hold memory is bounded: questions that wait for an answer (then reading
 * stops), answers the client does not read (then handling stops, then the connection is closed), and
 * time without a whole question or with unread answers.
 */
import type { Socket } from 'node:net';
import { LIMITS } from '../../contract/limits.ts';
import type { Client, Counters, ReplyTo } from '../../engine/query/ports.ts';
import { parseAddress } from './client-address.ts';
import { frameMessage, MessageReader } from '../message-reader.ts';
import type { PacketHandler } from './packet-handler.ts';
import { countFailedSend } from '../send-slots.ts';
import type { HeldConnection } from './tcp-clients.ts';

/** Unsent bytes above which no further question of the connection is handled. */
const UNSENT_PAUSE_BYTES = 64 * 1024;

/** What a connection needs from its listener. */
export interface ConnectionOwner {
  readonly engine: PacketHandler;
  readonly counters: Counters;
  /** Scratch of the listener: an answer of 65,535 bytes. */
  readonly out: Uint8Array;
  closed(connection: TcpConnection): void;
  /** It makes room for another one. */
  evicted(connection: TcpConnection): void;
}

/** A client's connection; the listener calls `checkIdle` and `stop`, the socket does the rest. */
export class TcpConnection implements Client, HeldConnection {
  readonly address = new Uint8Array(16);
  readonly addressText: string;
  readonly port: number;
  readonly transport = 'tcp';
  readonly #socket: Socket;
  readonly #owner: ConnectionOwner;
  readonly #reader = new MessageReader();
  /** Questions whose answer comes later. */
  #pending = 0;
  #isHandling = false;
  #isStopped = false;
  #hasEnded = false;
  #isClosed = false;
  /** Last whole question or answer. */
  #activeMs: number;
  /** When the socket last had nothing left to send. */
  #sentMs: number;

  constructor(socket: Socket, owner: ConnectionOwner, nowMs: number) {
    this.#socket = socket;
    this.#owner = owner;
    this.addressText = socket.remoteAddress ?? '::';
    this.port = socket.remotePort ?? 0;
    this.#activeMs = nowMs;
    this.#sentMs = nowMs;
    parseAddress(this.addressText, this.address);
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => {
      this.#reader.feed(chunk);
      this.#handleWaiting();
    });
    socket.on('drain', () => {
      this.#sentMs = performance.now();
      this.#handleWaiting();
    });
    socket.on('end', () => {
      this.#hasEnded = true;
      this.#closeWhenDone();
    });
    // A reset by the client needs no answer; `close` follows and answers still due are counted.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#isClosed = true;
      this.#owner.closed(this);
    });
  }

  get isIdle(): boolean {
    return this.#pending === 0 && this.#socket.writableLength === 0;
  }

  get activeMs(): number {
    return this.#activeMs;
  }

  hold(): ReplyTo {
    this.#pending++;
    return new TcpReply(this);
  }

  /** Sends an answer that was held back, and goes on with what waited for it. */
  sendLate(bytes: Uint8Array, start: number, length: number): void {
    this.#pending--;
    if (length > 0) this.#write(bytes, start, length);
    if (!this.#isHandling) this.#handleWaiting();
  }

  /** Closes a connection that has been useless for `idleMs`. RFC 7766 §6.2.3. */
  checkIdle(nowMs: number, idleMs: number): void {
    if (this.#socket.writableLength > 0) {
      if (nowMs - this.#sentMs > idleMs) this.destroy();
    } else if (this.#pending === 0 && nowMs - this.#activeMs > idleMs) {
      this.#socket.destroySoon();
    }
  }

  /** Handles no further question; closes when the answers due are sent. */
  stop(): void {
    this.#isStopped = true;
    this.#closeWhenDone();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  evict(): void {
    this.#owner.evicted(this);
    this.destroy();
  }

  #handleWaiting(): void {
    const { engine, out } = this.#owner;
    this.#isHandling = true;
    while (this.#mayHandle() && this.#reader.next()) {
      const { bytes, start, length } = this.#reader;
      this.#activeMs = performance.now();
      const written = engine.handle(bytes, start, length, this, out, 0);
      if (written > 0) this.#write(out, 0, written);
    }
    this.#isHandling = false;
    this.#reader.settle();
    if (this.#mayHandle()) this.#socket.resume();
    else this.#socket.pause();
    this.#closeWhenDone();
  }

  #mayHandle(): boolean {
    return (
      !this.#isClosed &&
      !this.#isStopped &&
      this.#pending < LIMITS.tcpPipelineMax &&
      this.#socket.writableLength <= UNSENT_PAUSE_BYTES
    );
  }

  #write(bytes: Uint8Array, start: number, length: number): void {
    if (this.#isClosed || !this.#socket.writable) {
      countFailedSend(this.#owner.counters);
      return;
    }
    if (this.#socket.writableLength + length > LIMITS.tcpUnsentBytesMax) {
      countFailedSend(this.#owner.counters);
      this.destroy();
      return;
    }
    this.#activeMs = performance.now();
    if (this.#socket.writableLength === 0) this.#sentMs = this.#activeMs;
    this.#socket.write(frameMessage(bytes, start, length));
  }

  /** After the client's FIN, or at our own stop, the last answer closes the connection. */
  #closeWhenDone(): void {
    if (!this.#hasEnded && !this.#isStopped) return;
    if (this.#pending > 0 || this.#isHandling || this.#isClosed) return;
    if (this.#hasEnded && !this.#isStopped && !this.#mayHandle()) return;
    this.#socket.destroySoon();
  }
}

/** The way back for an answer that comes later. */
class TcpReply implements ReplyTo {
  readonly #connection: TcpConnection;

  constructor(connection: TcpConnection) {
    this.#connection = connection;
  }

  send(bytes: Uint8Array, start: number, length: number): void {
    this.#connection.sendLate(bytes, start, length);
  }
}
