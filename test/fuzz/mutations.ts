/** Packets for the fuzz tests over sockets: well-formed ones, and what fast-check makes of them. */
import fc from 'fast-check';
import { FLAWED_PACKETS, ODD_BUT_GOOD } from '../packets/flawed.ts';
import { question } from '../support/dns-wire.ts';

/** Bytes set, put in, taken out, cut off, or copied behind themselves. */
export type Mutation = readonly [
  kind: 'set' | 'insert' | 'remove' | 'cut' | 'copy',
  at: number,
  value: number,
];

const TELLING = [0, 1, 12, 28, 41, 63, 64, 65, 0x80, 0xc0, 0xff];

export const mutations: fc.Arbitrary<readonly Mutation[]> = fc.array(
  fc.tuple(
    fc.constantFrom('set', 'set', 'set', 'insert', 'remove', 'cut', 'copy'),
    fc.nat({ max: 1_000 }),
    fc.oneof(fc.constantFrom(...TELLING), fc.nat({ max: 255 })),
  ) as fc.Arbitrary<Mutation>,
  { maxLength: 5 },
);

/** Mutates bytes from `from` on. */
export function mutate(packet: Uint8Array, steps: readonly Mutation[], from = 0): Buffer {
  let bytes = Buffer.from(packet);
  for (const [kind, place, value] of steps) {
    const at = from + (place % (bytes.length - from + 1));
    const [before, behind] = [bytes.subarray(0, at), bytes.subarray(at)];
    if (kind === 'cut') bytes = before;
    else if (kind === 'insert') bytes = Buffer.concat([before, Buffer.of(value), behind]);
    else if (kind === 'remove') bytes = Buffer.concat([before, behind.subarray(1)]);
    else if (kind === 'copy') bytes = Buffer.concat([before, behind.subarray(0, value), behind]);
    else if (at < bytes.length) bytes[at] = value;
    if (bytes.length <= from) return bytes;
  }
  return bytes;
}

const names = [
  'www.site.example',
  'big.site.example',
  'huge.site.example',
  'blocked.example',
  'a.b.c.blocked.example',
  'localhost',
  '7.1.168.192.in-addr.arpa',
  '.',
];
const types = ['A', 'AAAA', 'HTTPS', 'TXT', 'ANY', 'AXFR', 'DS', 'TYPE0', 'TYPE65280'];

/** Questions of all kinds, the named flaws of test/packets among them. */
export const queries: fc.Arbitrary<Uint8Array> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .record({
        name: fc.constantFrom(...names),
        type: fc.constantFrom(...types),
        size: fc.constantFrom(-1, 0, 512, 700, 1_232, 4_096),
        dnssecOk: fc.boolean(),
      })
      .map(({ name, type, size, dnssecOk }) =>
        question(name, type, size < 0 ? {} : { edns: { size, dnssecOk } }),
      ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(...[...FLAWED_PACKETS, ...ODD_BUT_GOOD].map(({ bytes }) => bytes)),
  },
);

/** Every query with every list of mutations. */
export const batch: fc.Arbitrary<Buffer[]> = fc
  .tuple(
    fc.array(queries, { minLength: 16, maxLength: 16 }),
    fc.array(mutations, { minLength: 16, maxLength: 16 }),
  )
  .map(([packets, lists]) =>
    packets.flatMap((packet) => lists.map((steps) => mutate(packet, steps))),
  );
export const BATCH_PACKETS = 16 * 16;
