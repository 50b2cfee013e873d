/**
 * What the Bloom filter in front of the policies saves: a query that no policy names, with it and
 * with the exact map alone, and the look-up of a client's profile.
 *
 *     node bench/micro/policies.bench.ts [NAMES]
 *
 * Names are parsed before the clock runs. Both ways give the same answers.
 */
import { NO_PROFILE, ProfileTable } from '../../main/engine/filter/client-profile.ts';
import { createMatchContext } from '../../main/engine/filter/match-context.ts';
import { hashName, writeName } from '../../main/dns/name.ts';
import { PolicyTable, SCOPE_NAME } from '../../main/engine/filter/policy-table.ts';
import { PolicyTableBuilder } from '../../main/engine/filter/policy-table-builder.ts';
import type { NameView } from '../../main/dns/name.ts';

const names = Number(process.argv[2] ?? 20_000);
const VIEWS = 8_192;
const ROUNDS = 60;
/** Of the header in policy-table.ts. */
const HASHES_WORD = 3;

function view(text: string): NameView {
  const name = new Uint8Array(255);
  const nameLength = writeName(text, name, 0);
  const starts: number[] = [];
  for (let at = 0; at < nameLength; at += 1 + (name[at] as number)) starts.push(at);
  const hashes = starts.map((start) => hashName(name, start, nameLength));
  return {
    ...{ name, nameLength, labelCount: starts.length },
    labelStarts: Uint8Array.from(starts),
    suffixHashes: Int32Array.from(hashes),
  };
}

const builder = new PolicyTableBuilder();
for (let index = 0; index < names; index++) {
  builder.add(0, `n${String(index)}.policy${String(index % 97)}.example`, SCOPE_NAME);
}
const entry = {
  action: 'block',
  rewrite: null,
  reason: 14,
  listId: 60_000,
  patterns: null,
} as const;
const memory = builder.finish();
const table = new PolicyTable({ memory, entries: [entry] });

// The same memory with a filter that sets no bits for a name, so that none is looked at.
const copy = new SharedArrayBuffer(memory.byteLength);
new Uint8Array(copy).set(new Uint8Array(memory));
new Int32Array(copy)[HASHES_WORD] = 0;
const exact = new PolicyTable({ memory: copy, entries: [entry] });

const mask = Uint8Array.of(1);
const matchContext = createMatchContext();
const misses = Array.from({ length: VIEWS }, (_, index) =>
  view(`a.b.c${String(index)}.other.test.example`),
);
const hits = Array.from({ length: VIEWS }, (_, index) => {
  const at = (index * 7) % names;
  return view(`www.n${String(at)}.policy${String(at % 97)}.example`);
});

function measure(title: string, work: (index: number) => unknown): void {
  let best = Infinity;
  for (let round = 0; round < ROUNDS; round++) {
    const start = process.hrtime.bigint();
    for (let index = 0; index < VIEWS; index++) work(index);
    best = Math.min(best, Number(process.hrtime.bigint() - start) / VIEWS);
  }
  console.log(`${title.padEnd(34)} ${best.toFixed(1)} ns`);
}

const matchOf = (which: PolicyTable, views: readonly NameView[]) => (index: number) =>
  which.match(views[index] as NameView, matchContext, mask);

console.log(`${String(names)} names of policies; best of ${String(ROUNDS)} rounds`);
measure('miss, 6 labels, Bloom filter', matchOf(table, misses));
measure('miss, 6 labels, exact map alone', matchOf(exact, misses));
measure('hit, Bloom filter', matchOf(table, hits));
measure('hit, exact map alone', matchOf(exact, hits));

const regions = Array.from({ length: 1_000 }, (_, index) => {
  const bytes = new Uint8Array(16);
  bytes.set([0xff, 0xff, 10, 0, index >> 8, index & 255], 10);
  return { bytes, bits: 128, profile: 0 };
});
const profiles = new ProfileTable([NO_PROFILE], regions);
const addresses = regions.slice(0, 100).map(({ bytes }) => bytes);
measure('profile of one of 100 clients', (index) =>
  profiles.find(addresses[index % 100] as Uint8Array),
);
