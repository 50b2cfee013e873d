/**
 * The whole path of a query in this process: real UDP and TCP listeners, the engine, real upstream
 * sockets, and one upstream that behaves as told. For the tests in test/rfc.
 */
import { COUNTER, COUNTER_BLOCK_SLOTS, type CounterName } from '../../main/contract/counters.ts';
import { Engine } from '../../main/engine/engine.ts';
import { systemClock } from '../../main/net/clock.ts';
import { CryptoRandom } from '../../main/net/random.ts';
import type { TcpBounds } from '../../main/net/listen/tcp-clients.ts';
import { openTcpListener } from '../../main/net/listen/tcp-listener.ts';
import { openUdpListener } from '../../main/net/listen/udp-listener.ts';
import { planOf } from '../../main/net/upstream/plan.ts';
import { UpstreamPool } from '../../main/net/upstream/pool.ts';
import { parseServer } from '../../main/net/server-address.ts';
import { exchangeUdp, TcpClient } from './dns-client.ts';
import { question, replyTo, type QuestionOptions, type ReplyOptions } from './dns-wire.ts';
import { FakeSink, policy, type PolicyOptions } from './engine-fakes.ts';
import { FakeUpstream, type Behaviour } from './fake-upstream.ts';

interface Cleanup {
  after(action: () => void | Promise<void>): void;
}

export interface GatewayOptions extends PolicyOptions {
  readonly tcpBounds?: Partial<TcpBounds>;
  /** 0, the default, lets the system choose one that is free for UDP and TCP. */
  readonly port?: number;
  /** False: questions go out in lower case, and so no negative answer is confirmed. */
  readonly mixedCase?: boolean;
}

/** A gateway on free ports of 127.0.0.1, closed when its test ends. */
export class Gateway {
  readonly engine: Engine;
  readonly pool: UpstreamPool;
  readonly upstream: FakeUpstream;
  readonly sink: FakeSink;
  readonly udp: string;
  readonly tcp: string;
  readonly #slots: Float64Array;

  static async open(
    t: Cleanup,
    behaviour: Behaviour,
    { tcpBounds, port = 0, mixedCase = true, ...options }: GatewayOptions = {},
  ): Promise<Gateway> {
    const upstream = await FakeUpstream.open(t, behaviour);
    const counters = { slots: new Float64Array(COUNTER_BLOCK_SLOTS) };
    const random = new CryptoRandom();
    const servers = { ...planOf([parseServer(upstream.endpoint)]), mixedCase };
    const pool = new UpstreamPool({ servers, clock: systemClock, random, counters });
    const sink = new FakeSink();
    const engine = new Engine({ clock: systemClock, random, exchange: pool, sink, counters });
    engine.setPolicy(policy(options));
    const common = { engine, counters, address: '127.0.0.1', reusePort: false };
    const [udp, tcp] = await openBoth(common, port, tcpBounds);
    t.after(async () => {
      pool.close();
      engine.close();
      await Promise.all([udp.close(), tcp.close()]);
    });
    return new Gateway(
      { engine, pool, upstream, sink },
      [udp.endpoint, tcp.endpoint],
      counters.slots,
    );
  }

  private constructor(
    { engine, pool, upstream, sink }: Pick<Gateway, 'engine' | 'pool' | 'upstream' | 'sink'>,
    [udp, tcp]: [string, string],
    slots: Float64Array,
  ) {
    this.engine = engine;
    this.pool = pool;
    this.upstream = upstream;
    this.sink = sink;
    this.udp = udp;
    this.tcp = tcp;
    this.#slots = slots;
  }

  counter(name: CounterName): number {
    return this.#slots[COUNTER[name]] as number;
  }

  /** Sends a message over UDP and returns what comes back. */
  send(message: Uint8Array): Promise<Buffer> {
    return exchangeUdp(this.udp, message);
  }

  /** Sends a message that gets no answer: another one sent behind it is answered first. */
  async expectSilence(message: Uint8Array): Promise<void> {
    const ignored = this.counter('ignored');
    await exchangeUdp(this.udp, message, 150).then(
      () => {
        throw new Error('there was an answer');
      },
      (error: unknown) => {
        if (!(error instanceof Error) || error.name !== 'AbortError') throw error;
      },
    );
    if (this.counter('ignored') !== ignored + 1) throw new Error('it did not arrive');
  }

  ask(name: string, type = 'A', options: QuestionOptions = {}): Promise<Buffer> {
    return this.send(question(name, type, options));
  }

  async askTcp(name: string, type = 'A', options: QuestionOptions = {}): Promise<Buffer> {
    const client = await TcpClient.open(this.tcp);
    try {
      client.send(question(name, type, options));
      return await client.next();
    } finally {
      client.destroy();
    }
  }
}

type Common = Omit<Parameters<typeof openUdpListener>[0], 'port'>;

async function openBoth(common: Common, port: number, bounds: Partial<TcpBounds> = {}) {
  for (let tries = 1; ; tries++) {
    const udp = await openUdpListener({ ...common, port });
    try {
      const tcp = await openTcpListener({ ...common, port: udp.port }, bounds);
      return [udp, tcp] as const;
    } catch (error) {
      await udp.close();
      if (tries === 10) throw error;
    }
  }
}

/** An upstream that answers every question so. */
export function replying(options: ReplyOptions | ((name: string) => ReplyOptions)): Behaviour {
  return (query) => {
    const made = typeof options === 'function' ? options(query.name.toLowerCase()) : options;
    return [{ bytes: Buffer.from(replyTo(query.bytes, made)) }];
  };
}
