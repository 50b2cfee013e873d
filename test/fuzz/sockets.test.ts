/**
 * Mutated packets over real sockets: 100,000 to the listeners (UDP in batches, UDP by node:dgram,
 * TCP with split and merged writes), and 100,000 as replies of a lying upstream. No answer larger
 * than the question allows, none twice, no thread that ends, no memory that climbs, and in the end
 * an ordinary question is answered.
 *
 * SLUICE_FUZZ_SEED repeats a run; SLUICE_FUZZ_PACKETS sets the number.
 */
import assert from 'node:assert/strict';
import { decode } from 'dns-packet';
import { createSocket } from 'node:dgram';
import type { Socket } from 'node:dgram';
import { once } from 'node:events';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { DataPlane } from '../../main/dataplane/data-plane.ts';
import { compileRules } from '../../main/lists/rules.ts';
import { LogRing } from '../../main/log/ring.ts';
import { missingForAddon, builtAddon } from '../native/built-addon.ts';
import { askUdp, framed, splitEndpoint, TcpClient } from '../support/dns-client.ts';
import { a, question, replyTo, soa, type RecordOptions } from '../support/dns-wire.ts';
import { policy } from '../support/engine-fakes.ts';
import { FakeUpstream, type Behaviour } from '../support/fake-upstream.ts';
import { batch, BATCH_PACKETS, mutate, mutations, type Mutation } from './mutations.ts';

const PACKETS = Number(process.env['SLUICE_FUZZ_PACKETS'] ?? 100_000);
const SEED = Number(process.env['SLUICE_FUZZ_SEED'] ?? Math.trunc(Math.random() * 2 ** 31));
/** For an answer that does not come. */
const HANG_MS = 10_000;
/**
 * The heaps of two threads have no reason to stay small (they level off at some 100 MiB after a
 * million packets); buffers, connections or questions that stay would be more than 1 KiB a packet.
 */
const GROWN_BYTES_MAX = Math.max(PACKETS * 1_024, 96 * 1024 * 1024);
const LIES = 20;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

interface Started {
  readonly plane: DataPlane;
  readonly endpoint: string;
  readonly upstream: FakeUpstream;
}

async function start(t: TestContext, behaviour: Behaviour, udp = 'auto'): Promise<Started> {
  t.diagnostic(`SLUICE_FUZZ_SEED=${String(SEED)}`);
  const upstream = await FakeUpstream.open(t, (query, itself) => {
    // Thousands of them are not to be kept.
    itself.queries.length = 0;
    return behaviour(query, itself);
  });
  process.env['SLUICE_UDP'] = udp;
  const plane = await DataPlane.start({
    listen: ['127.0.0.1:0'],
    upstreams: [upstream.endpoint],
    threads: 1,
    rings: [LogRing.createBuffer(1_024)],
    policy: {
      ...policy(),
      suffixes: [],
      rules: compileRules(['||blocked.example^']),
      lists: compileRules([]),
      access: { allow: [{ bytes: new Uint8Array(16), bits: 0 }], exempt: [], queriesPerSecond: 0 },
    },
    onFault: (reason) => {
      t.diagnostic(reason);
    },
  });
  delete process.env['SLUICE_UDP'];
  t.after(() => plane.close());
  return { plane, endpoint: plane.listening[0] ?? '', upstream };
}

/** Runs a property as often as it takes, and looks at memory from the first quarter on. */
async function sweep<Value>(
  t: TestContext,
  runs: number,
  arbitrary: fc.Arbitrary<Value>,
  one: (value: Value) => Promise<void>,
): Promise<void> {
  let done = 0;
  let before = 0;
  await fc.assert(
    fc.asyncProperty(arbitrary, async (value) => {
      await one(value);
      if (++done === Math.ceil(runs / 4)) {
        collect();
        before = process.memoryUsage().rss;
      }
    }),
    { numRuns: runs, seed: SEED, endOnFailure: true },
  );
  collect();
  const grown = process.memoryUsage().rss - before;
  t.diagnostic(`${String(done)} batches, ${String(Math.round(grown / 1_024))} KiB more memory`);
  assert.ok(grown < GROWN_BYTES_MAX, `${String(grown)} bytes more`);
}

/** What is due: packets by ID. */
class Due {
  readonly #packets = new Map<number, Uint8Array>();
  #next = 0;
  answers = 0;

  /** Gives the packet an ID of its own; those of the last 32,768 are known. */
  expect(packet: Buffer): void {
    const id = this.#next;
    this.#next = (this.#next + 1) & 0x7fff;
    if (packet.length >= 2) packet.writeUInt16BE(id);
    this.#packets.set(id, packet);
  }

  /** Takes an answer. @param most  over this transport; 0: by the question's EDNS */
  take(answer: Buffer, most: number): void {
    const id = answer.readUInt16BE(0);
    const packet = this.#packets.get(id);
    assert.ok(packet !== undefined, 'an answer that nobody asked for, or the second one');
    this.#packets.delete(id);
    this.answers++;
    assert.ok(((answer[2] as number) & 0x80) !== 0, 'no response');
    assert.ok(((packet[2] as number) & 0x80) === 0, 'an answer to a response');
    if (answer.length <= 512) return;
    assert.ok(answer.length <= (most === 0 ? udpSizeOf(packet) : most), 'larger than allowed');
  }
}

/** What a query over UDP allows; the most there is for one that another parser cannot read. */
function udpSizeOf(packet: Uint8Array): number {
  try {
    const opt = decode(Buffer.from(packet)).additionals?.find(({ type }) => type === 'OPT');
    const size = opt !== undefined && 'udpPayloadSize' in opt ? opt.udpPayloadSize : 512;
    return Math.min(Math.max(size, 512), 1_232);
  } catch {
    return 1_232;
  }
}

/** An event that has to come in time, and the first thing that went wrong before it. */
class Milestone {
  #reach: () => void = () => undefined;
  #failure: Error | null = null;

  reach(): void {
    this.#reach();
  }

  /** Runs a check inside a callback, whose error `next` throws. */
  check(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#failure ??= error as Error;
    }
  }

  async next(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new Error('nothing more comes: a hang'));
      }, HANG_MS);
      this.#reach = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    if (this.#failure !== null) throw this.#failure;
  }
}

const CANARY = 0x8000;
const isCanary = (message: Buffer): boolean => message.readUInt16BE(0) === CANARY;

/** Answers every question, some at length. */
const honest: Behaviour = (query) => {
  const isHuge = query.name.toLowerCase().startsWith('huge');
  const isBig = query.name.toLowerCase().startsWith('big');
  if (isHuge && query.transport === 'udp') {
    return [{ bytes: Buffer.from(replyTo(query.bytes, { tc: true })) }];
  }
  const count = isHuge ? 300 : isBig ? 60 : 1;
  const answers = Array.from({ length: count }, (_, index) => a(60, 192, 0, 2, index & 255));
  return [{ bytes: Buffer.from(replyTo(query.bytes, { answers })) }];
};

async function isWell({ plane, endpoint, upstream }: Started, received: number): Promise<void> {
  upstream.behave(honest);
  const answer = await askUdp(endpoint, 'well.example');
  assert.equal(answer.rcode, 'NOERROR');
  assert.equal(answer.answers?.length, 1);
  const untilMs = performance.now() + HANG_MS;
  while (plane.counters().pending > 0) {
    assert.ok(performance.now() < untilMs, 'questions that never end');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.equal(plane.restarts, 0);
  const counters = plane.counters();
  assert.equal(counters.received, received + 1);
  assert.equal(counters.answered + counters.ignored, counters.received, 'none is forgotten');
}

async function openSocket(t: TestContext): Promise<Socket> {
  const socket = createSocket({ type: 'udp4', recvBufferSize: 4 * 1024 * 1024 });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  t.after(() => socket.close());
  return socket;
}

for (const path of ['native', 'dgram'] as const) {
  test(
    `mutated packets over UDP, ${path}`,
    { skip: path === 'native' && missingForAddon },
    async (t) => {
      if (path === 'native') await builtAddon();
      const started = await start(t, honest, path);
      const { port } = splitEndpoint(started.endpoint);
      const socket = await openSocket(t);
      const due = new Due();
      const milestone = new Milestone();
      socket.on('message', (answer) => {
        if (isCanary(answer)) milestone.reach();
        else {
          milestone.check(() => {
            due.take(answer, 0);
          });
        }
      });
      let sent = 0;
      await sweep(t, Math.ceil((PACKETS * 0.4) / BATCH_PACKETS), batch, async (packets) => {
        const canary = milestone.next();
        for (const packet of packets) {
          due.expect(packet);
          socket.send(packet, port, '127.0.0.1');
        }
        socket.send(question('localhost', 'A', { id: CANARY }), port, '127.0.0.1');
        sent += packets.length + 1;
        await canary;
      });
      assert.ok(
        due.answers > sent / 4,
        `${String(due.answers)} answers to ${String(sent)} packets`,
      );
      await isWell(started, sent);
    },
  );
}

const tcpBatch = fc.record({
  packets: batch,
  /** Where the stream is cut into writes. */
  cuts: fc.array(fc.nat({ max: 20_000 }), { maxLength: 12 }),
  /** Lies about lengths: then no more can be said of the connection than that it does no harm. */
  lies: fc.oneof({ weight: 3, arbitrary: fc.constant<readonly Mutation[]>([]) }, mutations),
});

test('mutated packets over TCP, in split and merged writes', async (t) => {
  const started = await start(t, honest);
  let sent = 0;
  let answers = 0;
  let lied = 0;
  await sweep(t, Math.ceil((PACKETS * 0.2) / BATCH_PACKETS), tcpBatch, async (value) => {
    const { packets, cuts, lies } = value;
    const due = new Due();
    for (const packet of packets) due.expect(packet);
    const canary = question('localhost', 'A', { id: CANARY });
    const whole = Buffer.concat([...packets, canary].map(framed));
    const stream = mutate(whole, lies);
    const client = await TcpClient.open(started.endpoint);
    let from = 0;
    for (const cut of [...cuts.sort((one, other) => one - other), stream.length]) {
      if (cut > from && from < stream.length) client.socket.write(stream.subarray(from, cut));
      from = Math.max(from, cut);
      await new Promise((resolve) => setImmediate(resolve));
    }
    if (lies.length > 0) {
      lied++;
      client.socket.end();
      await client.closed(HANG_MS);
    } else {
      for (;;) {
        const answer = await client.next(HANG_MS);
        if (isCanary(answer)) break;
        due.take(answer, 65_535);
      }
      sent += packets.length + 1;
    }
    answers += due.answers;
    client.destroy();
  });
  assert.ok(answers > sent / 4, `${String(answers)} answers to ${String(sent)} messages`);
  // What was read out of a stream with false lengths, nobody knows beforehand.
  if (lied > 0) sent = started.plane.counters().received;
  await isWell(started, sent);
});

const records: readonly RecordOptions[] = [
  a(60),
  { type: 'AAAA', ttl: 60, data: Array<number>(16).fill(0x20) },
  { type: 'CNAME', ttl: 60, data: [1, 0x63, 0xc0, 12] },
  { type: 'MX', ttl: 60, data: [0, 5, 2, 0x6d, 0x78, 0xc0, 12] },
  { type: 'HTTPS', ttl: 60, data: [0, 1, 0, 0, 4, 0, 4, 10, 0, 0, 1] },
  { type: 'TXT', ttl: 60, data: [3, 0x61, 0x62, 0x63] },
];
const lies = fc.array(
  fc.record({
    picks: fc.array(fc.nat({ max: records.length - 1 }), { maxLength: 4 }),
    steps: mutations,
  }),
  { minLength: LIES, maxLength: LIES },
);
type Lies = readonly { readonly picks: readonly number[]; readonly steps: readonly Mutation[] }[];

/** A reply as a liar gives it; the ID stays, or it would be nobody's. */
function lie(query: Uint8Array, { picks, steps }: Lies[number]): Buffer {
  const answers = picks.map((index) => records[index] as RecordOptions);
  const authorities = picks.length === 0 ? [soa(30, 30)] : [];
  return mutate(replyTo(query, { answers, authorities, edns: {} }), steps, 2);
}

/** Questions that are asked with the same lies. */
const ASKED = 25;

for (const [transport, part] of [
  ['udp', 0.9],
  ['tcp', 0.1],
] as const) {
  test(`mutated replies of an upstream over ${transport.toUpperCase()}`, async (t) => {
    let current: Lies = [];
    const started = await start(t, (query, itself) => {
      if (transport === 'tcp' && query.transport === 'udp') {
        return [{ bytes: Buffer.from(replyTo(query.bytes, { tc: true })) }];
      }
      const lied = current.map((each) => ({ bytes: lie(query.bytes, each) }));
      return [...lied, ...honest(query, itself)];
    });
    const { port } = splitEndpoint(started.endpoint);
    const socket = await openSocket(t);
    const due = new Due();
    let left = 0;
    const milestone = new Milestone();
    socket.on('message', (answer) => {
      milestone.check(() => {
        due.take(answer, 1_232);
      });
      if (--left === 0) milestone.reach();
    });
    let asked = 0;
    const runs = Math.ceil((PACKETS * part) / (LIES * ASKED));
    await sweep(t, runs, lies, async (value) => {
      current = value;
      left = ASKED;
      const all = milestone.next();
      for (let count = 0; count < ASKED; count++) {
        const query = Buffer.from(question(`n${String(asked++)}.site.example`, 'A', { edns: {} }));
        due.expect(query);
        socket.send(query, port, '127.0.0.1');
      }
      await all;
    });
    assert.equal(due.answers, asked);
    const counters = started.plane.counters();
    const refused = counters.upstreamMismatched + counters.upstreamMalformed;
    t.diagnostic(`${String(refused)} replies refused, ${String(counters.failed)} answers failed`);
    assert.ok(refused > asked, 'most lies are seen');
    await isWell(started, asked);
  });
}
