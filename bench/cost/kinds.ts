/**
 * One operation for each kind of answer, packet in to packet out, with the answers checked before
 * anything is timed. Used by `npm run bench:cost` and by the gate in test/bench/cost.test.ts.
 *
 * Forwarded goes through the real upstream pool to a stub server that answers in the same turn, so
 * that the kernel and the network stay out of it.
 */
import assert from 'node:assert/strict';
import { COUNTER_BLOCK_SLOTS } from '../../main/contract/counters.ts';
import { Engine } from '../../main/engine/engine.ts';
import type { Client, Clock, Exchange, ReplyTo } from '../../main/engine/query/ports.ts';
import { CryptoRandom } from '../../main/net/random.ts';
import type { UdpClient, UdpClientUser } from '../../main/net/transport/udp-client.ts';
import { parseUpstream } from '../../main/net/upstream-address.ts';
import { UpstreamPool } from '../../main/net/upstream/pool.ts';
import { a, header, question, records, replyTo, soa } from '../../test/support/dns-wire.ts';
import { FakeExchange, policy, table } from '../../test/support/engine-fakes.ts';
import { filtersOf } from '../../test/support/filters.ts';

export interface CostKind {
  readonly title: string;
  /** Answers the next one of many packets. */
  readonly operation: () => void;
}

/** Distinct packets of a kind, so that the caches of the processor do not flatter. */
const VARIETY = 512;
const EXPIRED_SECONDS = 200;
const CACHED_TTL = 60;

const edns = { size: 1_232, dnssecOk: false };

/** Reads the real clock each time, as the program does; may stand still, so that TTLs are known. */
class BenchClock implements Clock {
  offsetUs = 0;
  readonly #pace: number;

  /** @param pace  1 to run, 0 to stand still */
  constructor(pace: number) {
    this.#pace = pace;
    if (pace === 0) this.offsetUs = performance.now() * 1_000;
  }

  nowUs(): number {
    return this.offsetUs + performance.now() * 1_000 * this.#pace;
  }

  wallMs(): number {
    return Date.now();
  }
}

/** A client whose late answers can be read, and which keeps nothing. */
class CountingClient implements Client {
  readonly address = new Uint8Array(16).fill(0xff, 10, 12);
  readonly port = 4_000;
  readonly transport = 'udp';
  /** The last late answer; valid until the next one. */
  late = new Uint8Array(0);
  readonly #replyTo: ReplyTo = {
    send: (bytes, start, length) => {
      this.late = bytes.subarray(start, start + length) as Uint8Array<ArrayBuffer>;
    },
  };

  hold(): ReplyTo {
    return this.#replyTo;
  }
}

type PolicyParts = Parameters<typeof policy>[0];

/** An engine and how to ask it. */
class Bench {
  readonly client = new CountingClient();
  readonly out = new Uint8Array(4_096);
  readonly #engine: Engine;

  /** @param more  of the policy, beside the block list */
  constructor(exchange: Exchange, clock: Clock, listed: number, more: PolicyParts = {}) {
    const names = Array.from({ length: listed }, (_, index) => `ads${String(index)}.bad.example`);
    this.#engine = new Engine({
      clock,
      exchange,
      random: new CryptoRandom(),
      sink: { push: () => true },
      counters: { slots: new Float64Array(COUNTER_BLOCK_SLOTS) },
    });
    const lists = table(names, ['fine.example']);
    const cache = { entriesMax: 20_000, prefetch: false };
    this.#engine.setPolicy(policy({ lists, cache, ...more }));
  }

  /** @returns bytes of the answer in `out`; -1 when it comes later */
  handle(packet: Uint8Array): number {
    return this.#engine.handle(packet, 0, packet.length, this.client, this.out, 0);
  }

  answer(packet: Uint8Array): Uint8Array {
    const length = this.handle(packet);
    assert.ok(length > 0, 'answered at once');
    return this.out.slice(0, length);
  }

  /** A kind whose answers are given at once; every packet's is checked. */
  kind(title: string, packets: readonly Uint8Array[], expected: Expected): CostKind {
    for (const packet of packets) check(this.answer(packet), packet, expected, title);
    let next = 0;
    const operation = (): void => {
      this.handle(packets[next] as Uint8Array);
      next = (next + 1) % packets.length;
    };
    return { title, operation };
  }
}

/** What an answer must be: response code, and its answer records behind their name and type. */
interface Expected {
  readonly rcode: number;
  readonly answers: readonly string[];
}

function check(answer: Uint8Array, query: Uint8Array, expected: Expected, title: string): void {
  const { id, qr, rcode } = header(answer);
  assert.deepEqual([id, qr, rcode], [header(query).id, true, expected.rcode], title);
  const data = records(answer, 'answers').map((text) => text.split(' ').slice(1).join(' '));
  assert.deepEqual(data, expected.answers, title);
}

function packets(make: (index: number) => Uint8Array): Uint8Array[] {
  return Array.from({ length: VARIETY }, (_, index) => make(index));
}

/** Asks for each packet once, so that its answer is kept. */
function keep(
  bench: Bench,
  exchange: FakeExchange,
  all: Uint8Array[],
  reply: (query: Uint8Array) => Uint8Array,
): Uint8Array[] {
  for (const packet of all) {
    assert.equal(bench.handle(packet), -1, 'goes upstream first');
    exchange.answer(reply);
  }
  return all;
}

/** @param listed  names in the block list; at least VARIETY */
export async function makeKinds(listed: number): Promise<CostKind[]> {
  const regex = await policyRegexKind(listed);
  return [...localKinds(listed), regex, staleKind(listed), forwardedKind(listed)];
}

/** Blocked by an expression of a policy, of which there are some that do not match. */
async function policyRegexKind(listed: number): Promise<CostKind> {
  const regex = ['^shop[0-9]+\\.', '^ad-[a-z]+\\.', 'telemetry', '(^|\\.)pixel[0-9]*\\.'];
  const parts = await filtersOf({ policies: [{ name: 'shops', action: 'block', regex }] });
  const bench = new Bench(new FakeExchange(), new BenchClock(0), listed, parts);
  const all = packets((index) => question(`shop${String(index)}.example`, 'A'));
  return bench.kind('policy regex', all, { rcode: 0, answers: ['A 10 0.0.0.0'] });
}

function localKinds(listed: number): CostKind[] {
  const exchange = new FakeExchange();
  const clock = new BenchClock(0);
  const bench = new Bench(exchange, clock, listed);
  const ads = (type: string, options = {}): Uint8Array[] =>
    packets((index) =>
      question(`x.ads${String((index * 7_919) % listed)}.bad.example`, type, options),
    );
  const site = (prefix: string): Uint8Array[] =>
    packets((index) => question(`${prefix}.site${String(index)}.example`, 'A'));
  const address = (query: Uint8Array): Uint8Array => replyTo(query, { answers: [a(CACHED_TTL)] });
  const none = (rcode: number) => (query: Uint8Array) =>
    replyTo(query, { rcode, authorities: [soa(CACHED_TTL, CACHED_TTL)] });
  const fine = packets((index) => question(`h${String(index)}.fine.example`, 'A'));
  const oneA = { rcode: 0, answers: [`A ${String(CACHED_TTL)} 192.0.2.1`] };
  const nothing = { rcode: 0, answers: [] };
  return [
    bench.kind('blocked A', ads('A'), { rcode: 0, answers: ['A 10 0.0.0.0'] }),
    bench.kind('blocked AAAA', ads('AAAA', { edns }), { rcode: 0, answers: ['AAAA 10 ::'] }),
    bench.kind('blocked HTTPS', ads('HTTPS', { edns }), nothing),
    bench.kind('allow override, cached', keep(bench, exchange, fine, address), oneA),
    bench.kind('cache hit', keep(bench, exchange, site('www'), address), oneA),
    bench.kind('NXDOMAIN from cache', keep(bench, exchange, site('no'), none(3)), {
      ...{ rcode: 3, answers: [] },
    }),
    bench.kind('NODATA from cache', keep(bench, exchange, site('v4'), none(0)), nothing),
    bench.kind('local A', [question('localhost', 'A')], {
      ...{ rcode: 0, answers: ['A 10800 127.0.0.1'] },
    }),
  ];
}

/** Answers that are past their time while no upstream answers. RFC 8767. */
function staleKind(listed: number): CostKind {
  const exchange = new FakeExchange();
  const clock = new BenchClock(0);
  const bench = new Bench(exchange, clock, listed);
  const all = keep(
    ...([
      bench,
      exchange,
      packets((index) => question(`old${String(index)}.example`, 'A')),
    ] as const),
    (query) => replyTo(query, { answers: [a(CACHED_TTL)] }),
  );
  clock.offsetUs += EXPIRED_SECONDS * 1e6;
  for (const packet of all) if (bench.handle(packet) === -1) exchange.fail('timeout');
  return bench.kind('stale', all, { rcode: 0, answers: ['A 30 192.0.2.1'] });
}

/** A server that answers everything with one address, when it is told to. */
class StubServer implements UdpClient {
  #user: UdpClientUser | null = null;
  #query: Buffer = Buffer.alloc(0);
  readonly #reply = Buffer.alloc(512);

  open(_server: unknown, user: UdpClientUser): ReturnType<UdpClient['open']> {
    return {
      send: (bytes) => {
        this.#user = user;
        this.#query = bytes;
        return true;
      },
      close: () => undefined,
    };
  }

  close(): void {
    this.#user = null;
  }

  /** Answers the question that came last: its header and question, and one A record. */
  deliver(): void {
    const query = this.#query;
    const reply = this.#reply;
    let end = 12;
    while (query[end] !== 0) end += (query[end] as number) + 1;
    end += 5;
    query.copy(reply, 0, 0, end);
    reply.set([0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0], 2);
    reply.set([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 192, 0, 2, 1], end);
    this.#user?.received(reply.subarray(0, end + 16));
  }
}

function forwardedKind(listed: number): CostKind {
  const server = new StubServer();
  const clock = new BenchClock(1);
  const counters = { slots: new Float64Array(COUNTER_BLOCK_SLOTS) };
  const pool = new UpstreamPool({
    servers: [parseUpstream('192.0.2.53')],
    clock,
    random: new CryptoRandom(),
    udp: server,
    counters,
  });
  const bench = new Bench(pool, clock, listed);
  // A TTL of 0 is kept for nobody: each of them goes upstream every time.
  const all = packets((index) => question(`far${String(index)}.example`, 'A'));
  const ask = (packet: Uint8Array): void => {
    assert.equal(bench.handle(packet), -1);
    server.deliver();
  };
  for (const packet of all) {
    ask(packet);
    const expected = { rcode: 0, answers: ['A 0 192.0.2.1'] };
    check(bench.client.late, packet, expected, 'forwarded');
  }
  let next = 0;
  return {
    title: 'forwarded',
    operation: () => {
      ask(all[next] as Uint8Array);
      next = (next + 1) % all.length;
    },
  };
}
