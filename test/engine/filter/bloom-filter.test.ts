/** The Bloom filter in front of policies: nothing is missed, and few absent names get through. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  BLOOM_FALSE_MAX,
  BloomFilter,
  bloomShape,
} from '../../../main/engine/filter/bloom-filter.ts';
import { hashName, writeName } from '../../../main/dns/name.ts';

const scratch = new Uint8Array(255);

function hashOf(name: string): number {
  return hashName(scratch, 0, writeName(name, scratch, 0));
}

for (const count of [1, 100, 850, 5_000, 20_000]) {
  test(`${String(count)} names: none is missed, at most 1 in 10,000 others gets through`, () => {
    const shape = bloomShape(count);
    const filter = new BloomFilter(new Int32Array(BloomFilter.wordsFor(shape)), shape);
    const names = Array.from({ length: count }, (_, index) => `n${String(index)}.policy.example`);
    for (const name of names) filter.add(hashOf(name));
    assert.ok(names.every((name) => filter.mayHave(hashOf(name))));
    const tries = 200_000;
    let passed = 0;
    for (let index = 0; index < tries; index++) {
      if (filter.mayHave(hashOf(`m${String(index)}.other.example`))) passed++;
    }
    assert.ok(passed / tries <= BLOOM_FALSE_MAX, `${String(passed)} of ${String(tries)}`);
  });
}

test('a filter of nothing lets nothing through', () => {
  const shape = bloomShape(0);
  const filter = new BloomFilter(new Int32Array(BloomFilter.wordsFor(shape)), shape);
  assert.equal(filter.mayHave(hashOf('a.example')), false);
});
