/**
 * Stand-ins for what net/ code is given or gives to: counters, an engine that echoes or answers by
 * script, and an exchange as a promise.
 */
import { COUNTER, COUNTER_BLOCK_SLOTS } from '../../main/contract/counters.ts';
import type { CounterName } from '../../main/contract/counters.ts';
import { LIMITS } from '../../main/contract/limits.ts';
import type {
  Client,
  Counters,
  Exchange,
  ExchangeResult,
  ReplyTo,
} from '../../main/engine/query/ports.ts';
import type { PacketHandler } from '../../main/net/listen/packet-handler.ts';
import { systemClock } from '../../main/net/clock.ts';
import { CryptoRandom } from '../../main/net/random.ts';
import { dgramClient } from '../../main/net/transport/udp-client.ts';
import type { UdpClient } from '../../main/net/transport/udp-client.ts';
import { parseUpstream } from '../../main/net/upstream-address.ts';
import { planOf } from '../../main/net/upstream/plan.ts';
import { UpstreamPool } from '../../main/net/upstream/pool.ts';
import type { UpstreamPoolOptions } from '../../main/net/upstream/pool.ts';
import { question } from './dns-client.ts';
import type { FakeUpstream } from './fake-upstream.ts';

/** A counter block with readable counters. */
export class TestCounters implements Counters {
  readonly slots = new Float64Array(COUNTER_BLOCK_SLOTS);

  get(name: CounterName): number {
    return this.slots[COUNTER[name]] ?? NaN;
  }
}

/** What an EchoEngine was given. */
export interface Seen {
  readonly bytes: Buffer;
  readonly address: string;
  readonly port: number;
  readonly transport: string;
}

/**
 * An engine that sends each packet back with QR set. Names that begin with "late" are held until
 * `release`; those that begin with "big" are answered with `bigBytes` bytes; "none" gets nothing.
 */
export class EchoEngine implements PacketHandler {
  readonly seen: Seen[] = [];
  readonly held: { bytes: Buffer; to: ReplyTo }[] = [];
  bigBytes = 60_000;
  #woken: () => void = () => undefined;

  handle(
    packet: Uint8Array,
    start: number,
    length: number,
    client: Client,
    out: Uint8Array,
    outStart: number,
  ): number {
    const bytes = Buffer.from(packet.subarray(start, start + length));
    const address = Buffer.from(client.address).toString('hex');
    this.seen.push({ bytes, address, port: client.port, transport: client.transport });
    const label = length > 13 ? bytes.toString('latin1', 13, 13 + (bytes[12] ?? 0)) : '';
    if (label.startsWith('late')) this.held.push({ bytes, to: client.hold() });
    this.#woken();
    if (label.startsWith('late')) return -1;
    if (label.startsWith('none')) return 0;
    out.set(bytes, outStart);
    out[outStart + 2] = (bytes[2] ?? 0) | 0x80;
    return label.startsWith('big') ? this.bigBytes : length;
  }

  /** Waits until `count` packets have come in all. */
  async received(count: number): Promise<void> {
    while (this.seen.length < count) {
      await new Promise<void>((resolve) => {
        this.#woken = resolve;
      });
    }
  }

  /** Answers the held packet at `index`. */
  release(index: number): void {
    const { bytes, to } = this.held[index] as (typeof this.held)[number];
    const answer = Buffer.from(bytes);
    answer[2] = (answer[2] ?? 0) | 0x80;
    to.send(answer, 0, answer.length);
  }
}

/** What an exchange ended with, copied. */
export interface Outcome {
  readonly reply: Buffer | null;
  readonly failure: ExchangeResult['failure'];
  readonly upstream: number;
  readonly tookMs: number;
  /** An answer that comes after a failure; never settled when none does. */
  readonly late: Promise<Outcome>;
}

/** Asks an exchange one question, with OPT as the engine does. */
export function ask(exchange: Exchange, name: string, ednsBytes = 1_232): Promise<Outcome> {
  const bytes = question(name, 'A', ednsBytes > 0 ? { ednsBytes } : {});
  const startedMs = performance.now();
  const late = Promise.withResolvers<Outcome>();
  return new Promise((resolve, reject) => {
    let calls = 0;
    let hasFailed = false;
    let hasReturned = false;
    exchange.exchange(bytes, bytes.length, ({ reply, failure, upstream }) => {
      if (!hasReturned) reject(new Error('done was called before exchange returned'));
      if (++calls > (hasFailed ? 2 : 1)) throw new Error('done was called too often');
      const copy = reply === null ? null : Buffer.from(reply);
      const tookMs = performance.now() - startedMs;
      const outcome = { reply: copy, failure, upstream, tookMs, late: late.promise };
      // A SERVFAIL may be followed by an answer of another server.
      hasFailed = copy === null || ((copy[3] ?? 0) & 15) !== 0;
      if (calls === 1) resolve(outcome);
      else late.resolve(outcome);
    });
    hasReturned = true;
    // The engine uses its buffer again at once.
    bytes.fill(0xff);
  });
}

let makeUdpClient: (counters: Counters) => UdpClient = () => dgramClient;

/** Sets what kind of UDP sockets `openPool` gives to its pools from now on. */
export function useUdpClient(make: (counters: Counters) => UdpClient): void {
  makeUdpClient = make;
}

/** A pool over servers, closed when the test ends. @param options  in place of the usual ones */
export function openPool(
  t: { after(action: () => void): void },
  servers: readonly (FakeUpstream | string)[],
  { timeoutMs, ...options }: Partial<UpstreamPoolOptions> & { readonly timeoutMs?: number } = {},
): { pool: UpstreamPool; counters: TestCounters } {
  const counters = new TestCounters();
  const texts = servers.map((server) => (typeof server === 'string' ? server : server.endpoint));
  const udp = makeUdpClient(counters);
  const pool = new UpstreamPool({
    servers: {
      ...planOf(texts.map(parseUpstream)),
      timeoutMs: timeoutMs ?? LIMITS.upstreamBudgetMs,
    },
    clock: systemClock,
    random: new CryptoRandom(),
    udp,
    counters,
    ...options,
  });
  t.after(() => {
    pool.close();
    udp.close();
  });
  return { pool, counters };
}
