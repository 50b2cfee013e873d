/**
 * Time and garbage of one packet through the engine, for each kind of answer that is made at once.
 * Run: node --expose-gc bench/micro/engine.bench.ts
 */
import assert from 'node:assert/strict';
import { bench, run, summary } from 'mitata';
import { COUNTER_BLOCK_SLOTS } from '../../main/contract/counters.ts';
import { Engine } from '../../main/engine/engine.ts';
import { a, header, question, replyTo, soa } from '../../test/support/dns-wire.ts';
import {
  FakeClient,
  FakeExchange,
  FakeRandom,
  policy,
  table,
} from '../../test/support/engine-fakes.ts';

const LISTED = 140_000;
const exchange = new FakeExchange();
let pushed = 0;
const engine = new Engine({
  clock: { nowUs: () => performance.now() * 1_000, wallMs: () => Date.now() },
  random: new FakeRandom(),
  exchange,
  sink: {
    push: (facts) => {
      pushed += facts.durationUs;
      return true;
    },
  },
  counters: { slots: new Float64Array(COUNTER_BLOCK_SLOTS) },
});
const listed = Array.from({ length: LISTED }, (_, index) => `ads${String(index)}.tracker.example`);
const lists = table(listed, ['ok.ads7.tracker.example']);
engine.setPolicy(policy({ lists, cache: { entriesMax: 20_000 } }));
const client = new FakeClient();
const out = new Uint8Array(4_096);

function handle(packet: Uint8Array): number {
  return engine.handle(packet, 0, packet.length, client, out, 0);
}

/** Many packets in turn, so that caches of the processor do not flatter. */
function packets(make: (index: number) => Uint8Array): Uint8Array[] {
  return Array.from({ length: 4_096 }, (_, index) => make((index * 7_919) % LISTED));
}

function cached(
  make: (index: number) => Uint8Array,
  reply: (query: Uint8Array) => Uint8Array,
): Uint8Array[] {
  const all = packets(make);
  for (const packet of all) if (handle(packet) === -1) exchange.answer(reply);
  return all;
}

const edns = { size: 1_232, dnssecOk: false };
const site = (index: number) => `www.site${String(index)}.example`;
const KINDS: readonly (readonly [string, Uint8Array[], rcode: number, answers: number])[] = [
  ['blocked A', packets((index) => question(`x.ads${String(index)}.tracker.example`, 'A')), 0, 1],
  [
    'blocked AAAA, EDNS',
    packets((index) => question(`ads${String(index)}.tracker.example`, 'AAAA', { edns })),
    0,
    1,
  ],
  [
    'blocked HTTPS, EDNS',
    packets((index) => question(`ads${String(index)}.tracker.example`, 'HTTPS', { edns })),
    0,
    0,
  ],
  [
    'cached A, one record',
    cached(
      (index) => question(site(index), 'A'),
      (query) => replyTo(query, { answers: [a(60_000)] }),
    ),
    0,
    1,
  ],
  [
    'cached A, four records, EDNS',
    cached(
      (index) => question(`four.${site(index)}`, 'A', { edns }),
      (query) => replyTo(query, { answers: [a(60_000), a(60_000), a(60_000), a(60_000)], edns }),
    ),
    0,
    4,
  ],
  [
    'cached NXDOMAIN',
    cached(
      (index) => question(`no.${site(index)}`, 'A'),
      (query) => replyTo(query, { rcode: 3, authorities: [soa(9_000, 9_000)] }),
    ),
    3,
    0,
  ],
  ['localhost', [question('localhost', 'A')], 0, 1],
  [
    'private reverse zone',
    packets((index) => question(`${String(index & 255)}.1.168.192.in-addr.arpa`, 'PTR')),
    3,
    0,
  ],
  ['malformed', [question('www.site.example', 'A').slice(0, 20)], 1, 0],
];

summary(() => {
  for (const [title, all, rcode, answers] of KINDS) {
    for (const packet of all) {
      assert.ok(handle(packet) > 0);
      assert.deepEqual([header(out).rcode, header(out).counts[1]], [rcode, answers], title);
    }
    let next = 0;
    bench(title, () => {
      const packet = all[next++ % all.length];
      return packet === undefined ? 0 : handle(packet);
    });
  }
  bench('forwarded, joined to nothing', function* () {
    let index = 0;
    const reply = question('n0000000.example', 'A');
    yield {
      [0]: () => question(`n${String(index++ % 5_000)}.fwd.example`, 'A'),
      bench: (packet: Uint8Array) => {
        if (handle(packet) === -1) exchange.answer((query) => replyTo(query, { answers: [a(0)] }));
        return reply.length;
      },
    };
  });
});

await run();
assert.ok(pushed >= 0);
