/**
 * Asks a program all the time, as its machine would, and keeps account: two questions a beat, one for
 * a blocked name and one for a name never asked before, which has to come from an upstream.
 */
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { question } from '../../test/support/dns-client.ts';
import type { Questions } from './case.ts';

const BEAT_MS = 20;
/** A stub resolver waits about as long. */
const LOST_MS = 5_000;

type Kind = 'blocked' | 'fresh';

export interface PulseOptions {
  readonly port: number;
  /** Blocked all the time. */
  readonly blocked: string;
  /** Any name below it is answered with `address` by the upstream. */
  readonly zone: string;
  readonly address: string;
}

export class Pulse {
  readonly #options: PulseOptions;
  readonly #socket: Socket;
  readonly #open = new Map<number, { readonly kind: Kind; readonly sentMs: number }>();
  readonly #lastMs: Record<Kind, number> = { blocked: 0, fresh: 0 };
  #timer: NodeJS.Timeout | undefined;
  #isUp = false;
  #id = 0;
  #sent = 0;
  #answered = 0;
  #wrong = 0;
  #lost = 0;
  #worstGapMs = 0;
  /** What was wrong first, for a failure's text. */
  firstWrong = '';

  private constructor(options: PulseOptions, socket: Socket) {
    this.#options = options;
    this.#socket = socket;
    socket.on('message', (bytes) => this.#receive(bytes));
    socket.on('error', () => undefined);
  }

  static async start(options: PulseOptions): Promise<Pulse> {
    const socket = createSocket('udp4');
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    const pulse = new Pulse(options, socket);
    pulse.#timer = setInterval(() => pulse.#beat(), BEAT_MS);
    return pulse;
  }

  /** The program runs: from here on answers are due. */
  up(): void {
    this.#isUp = true;
    this.#lastMs.blocked = this.#lastMs.fresh = performance.now();
  }

  /** The program is about to be stopped: what is open is nobody's fault. */
  down(): void {
    this.#noteGaps();
    this.#isUp = false;
    this.#sent -= this.#open.size;
    this.#open.clear();
  }

  get questions(): Questions & { readonly lost: number } {
    return {
      ...{ sent: this.#sent, answered: this.#answered, wrong: this.#wrong, lost: this.#lost },
      worstGapMs: Math.round(this.#worstGapMs),
    };
  }

  /** Waits for what is still open. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    const endsMs = performance.now() + LOST_MS;
    while (this.#isUp && this.#open.size > 0 && performance.now() < endsMs) await wait(20);
    this.#lost += this.#isUp ? this.#open.size : 0;
    this.#open.clear();
    this.#socket.close();
  }

  #beat(): void {
    if (!this.#isUp) return;
    const nowMs = performance.now();
    this.#noteGaps();
    for (const [id, { sentMs }] of this.#open) {
      if (nowMs - sentMs < LOST_MS) break;
      this.#open.delete(id);
      this.#lost++;
    }
    this.#ask('blocked', this.#options.blocked);
    this.#ask('fresh', `f${String(this.#id)}-${String(process.pid)}.${this.#options.zone}`);
  }

  #ask(kind: Kind, name: string): void {
    this.#id = (this.#id + 1) % 65_536;
    this.#open.set(this.#id, { kind, sentMs: performance.now() });
    this.#sent++;
    this.#socket.send(question(name, 'A', { id: this.#id }), this.#options.port, '127.0.0.1');
  }

  #receive(bytes: Buffer): void {
    if (bytes.length < 16) return;
    const id = bytes.readUInt16BE(0);
    const asked = this.#open.get(id);
    if (asked === undefined) return;
    this.#open.delete(id);
    this.#answered++;
    // Of an answer with one A record and no OPT, the address comes last.
    const address = [...bytes.subarray(bytes.length - 4)].join('.');
    const rcode = bytes.readUInt8(3) & 15;
    const due = asked.kind === 'blocked' ? '0.0.0.0' : this.#options.address;
    if (rcode === 0 && bytes.readUInt16BE(6) === 1 && address === due) {
      this.#noteGap(asked.kind);
      this.#lastMs[asked.kind] = performance.now();
      return;
    }
    this.#wrong++;
    this.firstWrong ||= `${asked.kind} name: RCODE ${String(rcode)}, ${address}`;
  }

  #noteGaps(): void {
    if (!this.#isUp) return;
    this.#noteGap('blocked');
    this.#noteGap('fresh');
  }

  #noteGap(kind: Kind): void {
    this.#worstGapMs = Math.max(this.#worstGapMs, performance.now() - this.#lastMs[kind]);
  }
}
