/**
 * Mutated packets over real sockets: 100,000 to the listeners (UDP in batches, UDP by node:dgram,
 * TCP with split and merged writes), and 100,000 as replies of a lying upstream. No answer larger
 * than the question allows, none twice, no thread that ends, no memory that climbs, and in the end
 * an ordinary question is answered. Seed and number: socket-rig.ts.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { missingForAddon, builtAddon } from '../native/built-addon.ts';
import { framed, splitEndpoint, TcpClient } from '../support/dns-client.ts';
import { a, question, replyTo, soa, type RecordOptions } from '../support/dns-wire.ts';
import type { Behaviour } from '../support/fake-upstream.ts';
import { missingTools } from '../support/tools.ts';
import { batch, BATCH_PACKETS, mutate, mutations, type Mutation } from './mutations.ts';
import {
  CANARY,
  Due,
  HANG_MS,
  honest,
  isCanary,
  isWell,
  Milestone,
  openSocket,
  PACKETS,
  start,
  sweep,
} from './socket-rig.ts';

/** Mutated replies before the good one. */
const LIES = 20;

for (const path of ['native', 'dgram'] as const) {
  test(
    `mutated packets over UDP, ${path}`,
    { skip: path === 'native' && missingForAddon },
    async (t) => {
      if (path === 'native') await builtAddon();
      const started = await start(t, honest, { udp: path });
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
  ['udp', 0.8],
  ['tcp', 0.1],
  ['tls', 0.1],
] as const) {
  const skip = transport === 'tls' && missingTools('openssl');
  test(`mutated replies of an upstream over ${transport.toUpperCase()}`, { skip }, async (t) => {
    let current: Lies = [];
    const liar: Behaviour = (query, itself) => {
      if (transport === 'tcp' && query.transport === 'udp') {
        return [{ bytes: Buffer.from(replyTo(query.bytes, { tc: true })) }];
      }
      const lied = current.map((each) => ({ bytes: lie(query.bytes, each) }));
      return [...lied, ...honest(query, itself)];
    };
    const started = await start(t, liar, { isSecure: transport === 'tls' });
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
