/**
 * What the fuzz tests over sockets share: a data plane with an upstream that behaves as told, a book of
 * the answers that are due, and the checks at the end. SLUICE_FUZZ_SEED repeats a run;
 * SLUICE_FUZZ_PACKETS sets the number.
 */
import assert from 'node:assert/strict';
import { decode } from 'dns-packet';
import { createSocket } from 'node:dgram';
import type { Socket } from 'node:dgram';
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { DataPlane } from '../../main/dataplane/data-plane.ts';
import { compileRules } from '../../main/lists/compile/rules.ts';
import { LogRing } from '../../main/log/ring.ts';
import { certificates } from '../support/certificates.ts';
import { askUdp } from '../support/dns-client.ts';
import { a, replyTo } from '../support/dns-wire.ts';
import { policy } from '../support/engine-fakes.ts';
import { FakeSecureUpstream } from '../support/fake-secure-upstream.ts';
import { FakeUpstream, silent, type Behaviour } from '../support/fake-upstream.ts';

export const PACKETS = Number(process.env['SLUICE_FUZZ_PACKETS'] ?? 100_000);
const SEED = Number(process.env['SLUICE_FUZZ_SEED'] ?? Math.trunc(Math.random() * 2 ** 31));
/** For an answer that does not come. */
export const HANG_MS = 10_000;
/**
 * The heaps of two threads have no reason to stay small (they level off at some 100 MiB after a
 * million packets); buffers, connections or questions that stay would be more than 1 KiB a packet.
 */
const GROWN_BYTES_MAX = Math.max(PACKETS * 1_024, 96 * 1024 * 1024);

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

export interface Started {
  readonly plane: DataPlane;
  readonly endpoint: string;
  /** Makes the upstream behave. */
  readonly behave: (behaviour: Behaviour) => void;
}

/** An upstream that keeps nothing of the thousands of questions. */
async function openUpstream(
  t: TestContext,
  isSecure: boolean,
): Promise<{ text: string; behave: Started['behave'] }> {
  let current: Behaviour = silent;
  const behave = (behaviour: Behaviour): void => {
    current = behaviour;
  };
  if (!isSecure) {
    const upstream = await FakeUpstream.open(t, (query, itself) => {
      itself.queries.length = 0;
      return current(query, itself);
    });
    return { text: upstream.endpoint, behave };
  }
  const { selfSigned } = await certificates();
  const upstream: FakeSecureUpstream = await FakeSecureUpstream.open(
    t,
    'tls',
    selfSigned,
    (query, itself) => {
      upstream.queries.length = 0;
      return current(query, itself);
    },
  );
  return { text: upstream.text(`pin=sha256/${selfSigned.pin}`), behave };
}

export async function start(
  t: TestContext,
  behaviour: Behaviour,
  { udp = 'auto', isSecure = false } = {},
): Promise<Started> {
  t.diagnostic(`SLUICE_FUZZ_SEED=${String(SEED)}`);
  const { text, behave } = await openUpstream(t, isSecure);
  behave(behaviour);
  process.env['SLUICE_UDP'] = udp;
  const plane = await DataPlane.start({
    listen: ['127.0.0.1:0'],
    upstreams: [text],
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
  return { plane, endpoint: plane.listening[0] ?? '', behave };
}

/** Runs a property as often as it takes, and looks at memory from the first quarter on. */
export async function sweep<Value>(
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
export class Due {
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
export class Milestone {
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

export const CANARY = 0x8000;
export const isCanary = (message: Buffer): boolean => message.readUInt16BE(0) === CANARY;

/** Answers every question, some at length. */
export const honest: Behaviour = (query) => {
  const isHuge = query.name.toLowerCase().startsWith('huge');
  const isBig = query.name.toLowerCase().startsWith('big');
  if (isHuge && query.transport === 'udp') {
    return [{ bytes: Buffer.from(replyTo(query.bytes, { tc: true })) }];
  }
  const count = isHuge ? 300 : isBig ? 60 : 1;
  const answers = Array.from({ length: count }, (_, index) => a(60, 192, 0, 2, index & 255));
  return [{ bytes: Buffer.from(replyTo(query.bytes, { answers })) }];
};

export async function isWell(
  { plane, endpoint, behave }: Started,
  received: number,
): Promise<void> {
  behave(honest);
  const answer = await askUdp(endpoint, 'well.example');
  assert.equal(answer.rcode, 'NOERROR');
  assert.equal(answer.answers?.length, 1);
  const untilMs = performance.now() + HANG_MS;
  let counters = plane.counters();
  // A question leaves the pending ones a moment before its answer is counted.
  while (counters.pending > 0 || counters.answered + counters.ignored < counters.received) {
    if (performance.now() > untilMs) break;
    await new Promise((resolve) => setTimeout(resolve, 20));
    counters = plane.counters();
  }
  assert.equal(counters.pending, 0, 'questions that never end');
  assert.equal(plane.restarts, 0);
  assert.equal(counters.received, received + 1);
  assert.equal(counters.answered + counters.ignored, counters.received, 'none is forgotten');
}

export async function openSocket(t: TestContext): Promise<Socket> {
  const socket = createSocket({ type: 'udp4', recvBufferSize: 4 * 1024 * 1024 });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  t.after(() => socket.close());
  return socket;
}
