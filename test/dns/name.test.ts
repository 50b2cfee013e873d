/** Names between text and wire form, and the suffix hashes (main/dns/name.ts). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  HASH_SEED,
  hashByte,
  hashMix,
  hashName,
  lowerCase,
  readName,
  writeName,
} from '../../main/dns/name.ts';

function wire(text: string): number[] | null {
  const out = new Uint8Array(300);
  const length = writeName(text, out, 7);
  return length < 0 ? null : [...out.subarray(7, 7 + length)];
}

const GOOD: readonly (readonly [string, string])[] = [
  ['ads.example', '03616473076578616d706c65'],
  ['ADS.Example.', '03616473076578616d706c65'],
  ['.', ''],
  ['', ''],
  ['a\\.b.c', '03612e620163'],
  ['a\\\\.c', '02615c0163'],
  ['\\000\\255.x', '0200ff0178'],
  ['bücher.de', '0762c3bc63686572026465'],
];
for (const [text, hex] of GOOD) {
  test(`"${text}" is written as ${hex === '' ? 'the root' : hex}`, () => {
    assert.equal(Buffer.from(wire(text) ?? []).toString('hex'), hex);
  });
}

for (const text of [
  'a..b',
  '..',
  '.a',
  'x'.repeat(64),
  '\\256.x',
  'a\\',
  `${'a'.repeat(63)}.`.repeat(4),
]) {
  test(`"${text.slice(0, 20)}" is refused`, () => assert.equal(wire(text), null));
}

test('the longest name fits: 255 bytes with the root label', () => {
  const text = ['a'.repeat(63), 'b'.repeat(63), 'c'.repeat(63), 'd'.repeat(61)].join('.');
  assert.equal(wire(text)?.length, 254);
  assert.equal(wire(`e${text}`), null);
});

const label = fc.uint8Array({ minLength: 1, maxLength: 20 });
const name = fc.array(label, { minLength: 1, maxLength: 10 });

test('reading undoes writing, up to case', () => {
  fc.assert(
    fc.property(name, (labels) => {
      const bytes = Uint8Array.from(labels.flatMap((part) => [part.length, ...part]));
      const text = readName(bytes, 0, bytes.length);
      const again = wire(text);
      assert.deepEqual(
        again,
        labels.flatMap((part) => [part.length, ...[...part].map(lowerCase)]),
      );
    }),
  );
});

test('one pass from the end gives the hash of every suffix', () => {
  fc.assert(
    fc.property(name, (labels) => {
      const bytes = Uint8Array.from(labels.flatMap((part) => [part.length, ...part]));
      let running = HASH_SEED;
      const starts = labels.map((_, index) =>
        labels.slice(0, index).reduce((sum, part) => sum + part.length + 1, 0),
      );
      for (let at = bytes.length - 1; at >= 0; at--) {
        running = hashByte(running, bytes[at] as number);
        if (starts.includes(at)) assert.equal(hashMix(running), hashName(bytes, at, bytes.length));
      }
    }),
  );
});
