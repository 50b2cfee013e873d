import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  DomainTable,
  FLAG_ALLOW,
  FLAG_BLOCK,
  FLAG_EXACT,
  MATCH_ALLOW,
  MATCH_BLOCK,
} from '../../main/engine/domain-table.ts';
import { hashName, writeName } from '../../main/engine/name.ts';
import { TableBuilder } from '../../main/lists/table-builder.ts';
import { suffixesOf, viewOf } from '../lists/list-fixtures.ts';

interface Entry {
  readonly name: string;
  readonly listId: number;
  readonly flags: number;
}

function build(entries: readonly Entry[], key?: Uint8Array): DomainTable {
  const builder = new TableBuilder();
  const bytes = new Uint8Array(256);
  for (const [index, { name, listId, flags }] of entries.entries()) {
    const length = writeName(name, bytes, 0);
    builder.add(bytes, length, hashName(bytes, 0, length), listId, flags, index + 1);
  }
  return new DomainTable(builder.finish(key));
}

function block(name: string, listId = 1): Entry {
  return { name, listId, flags: FLAG_BLOCK };
}

describe('DomainTable', () => {
  test('a listed name stands for itself and everything below, nothing else', () => {
    const table = build([block('example.com')]);
    for (const name of ['example.com', 'EXAMPLE.com', 'ads.example.com', 'a.b.c.example.com']) {
      assert.equal(table.match(viewOf(name)), MATCH_BLOCK, name);
    }
    for (const name of ['notexample.com', 'example.com.evil.org', 'com', 'xample.com', '.']) {
      assert.equal(table.match(viewOf(name)), 0, name);
    }
  });

  test('a single label never matches, even if it were in the table', () => {
    const table = build([block('com')]);
    assert.equal(table.match(viewOf('com')), 0);
    assert.equal(table.match(viewOf('example.com')), 0);
  });

  test('reports the most specific block and allow entries with list and line', () => {
    const table = build([
      block('example.com', 7),
      { name: 'good.example.com', listId: 9, flags: FLAG_ALLOW },
      block('bad.good.example.com', 11),
    ]);
    assert.equal(table.match(viewOf('x.bad.good.example.com')), MATCH_BLOCK | MATCH_ALLOW);
    assert.deepEqual([table.blockListId, table.blockLabels], [11, 4]);
    assert.equal(table.entryLine(table.blockEntry), 3);
    assert.deepEqual([table.allowListId, table.allowLabels], [9, 3]);
    assert.equal(table.entryLine(table.allowEntry), 2);
    assert.equal(table.match(viewOf('other.example.org')), 0);
    assert.deepEqual([table.blockEntry, table.allowEntry], [-1, -1], 'a miss forgets the last hit');
  });

  test('a name in several lists keeps every attribution; the first list is named', () => {
    const table = build([
      block('example.com', 3),
      block('other.com', 3),
      block('example.com', 2),
      { name: 'example.com', listId: 2, flags: FLAG_ALLOW },
      block('example.com', 3),
      block('ads.example.com', 5),
    ]);
    assert.deepEqual([table.nameCount, table.entryCount], [3, 5], 'the repeated entry is dropped');
    assert.equal(table.match(viewOf('example.com')), MATCH_BLOCK | MATCH_ALLOW);
    assert.deepEqual([table.blockListId, table.allowListId], [3, 2]);
    const seen: unknown[] = [];
    table.forEachMatch(viewOf('ads.example.com'), (_, listId, action, labels, line) => {
      seen.push([listId, action, labels, line]);
    });
    assert.deepEqual(seen, [
      [5, 'block', 3, 6],
      [3, 'block', 2, 1],
      [2, 'block', 2, 3],
      [2, 'allow', 2, 4],
    ]);
  });

  test('an exact entry names only itself', () => {
    const table = build([{ name: 'example.com', listId: 1, flags: FLAG_BLOCK | FLAG_EXACT }]);
    assert.equal(table.match(viewOf('example.com')), MATCH_BLOCK);
    assert.equal(table.match(viewOf('www.example.com')), 0);
    let visits = 0;
    table.forEachMatch(viewOf('www.example.com'), () => visits++);
    assert.equal(visits, 0);
  });

  test('names of 255 bytes and 127 labels are found', () => {
    const deep = `${'a.'.repeat(126)}b`;
    const long = `${`${'x'.repeat(63)}.`.repeat(3)}${'y'.repeat(61)}`;
    const table = build([block(deep), block(long)]);
    assert.equal(table.match(viewOf(deep)), MATCH_BLOCK);
    assert.equal(table.blockLabels, 127);
    assert.equal(table.match(viewOf(long)), MATCH_BLOCK);
    assert.equal(table.match(viewOf(`${'b.'.repeat(126)}b`)), 0);
  });

  test('the empty table finds nothing', () => {
    const table = DomainTable.empty();
    assert.equal(table.match(viewOf('a.example.com')), 0);
    assert.deepEqual([table.nameCount, table.entryCount, table.verify()], [0, 0, true]);
    assert.equal(table.entryLine(0), 0);
  });

  test('agrees with a slow oracle on any names', () => {
    const label = fc.constantFrom('a', 'b', 'ads', 'x1', 'com', 'net', 'Example');
    const name = fc.array(label, { minLength: 1, maxLength: 6 }).map((labels) => labels.join('.'));
    const entry = fc.record({
      name,
      listId: fc.integer({ min: 1, max: 4 }),
      flags: fc.constantFrom(FLAG_BLOCK, FLAG_ALLOW),
    });
    const property = fc.property(
      fc.array(entry, { maxLength: 60 }),
      fc.array(name, { minLength: 1, maxLength: 20 }),
      (entries, names) => {
        const table = build(entries);
        for (const one of names) {
          const found = table.match(viewOf(one));
          for (const [flag, labels] of [
            [FLAG_BLOCK, table.blockLabels],
            [FLAG_ALLOW, table.allowLabels],
          ] as const) {
            const listed = suffixesOf(one).find((suffix) =>
              entries.some((e) => e.flags === flag && e.name.toLowerCase() === suffix),
            );
            assert.equal((found & flag) !== 0, listed !== undefined, one);
            assert.equal(labels, listed?.split('.').length ?? 0, one);
          }
        }
      },
    );
    fc.assert(property, { numRuns: 300 });
  });

  test('100,000 names: all found, near misses not, at most 24 bytes a name beside their own', () => {
    const names = Array.from(
      { length: 100_000 },
      (_, i) => `n${i.toString(36)}.d${i % 91}.example`,
    );
    const table = build(names.map((name) => block(name)));
    assert.equal(table.nameCount, names.length);
    const own = names.reduce((sum, name) => sum + name.length + 1, 0);
    assert.ok((table.buffer.byteLength - own) / names.length <= 24);
    for (let i = 0; i < names.length; i += 37) {
      const name = names[i] as string;
      assert.equal(table.match(viewOf(name)), MATCH_BLOCK, name);
      assert.equal(table.entryLine(table.blockEntry), i + 1);
      assert.equal(table.match(viewOf(`${name}x`)), 0);
      assert.equal(table.match(viewOf(name.replace('.', 'x.'))), 0, name);
    }
  });

  test('is a function of its input: same entries, same bytes; the key is kept', () => {
    const entries = ['b.example', 'a.example', 'b.example'].map((name, i) => block(name, i + 1));
    const key = Uint8Array.from({ length: 32 }, (_, i) => i);
    const [one, two] = [build(entries, key), build(entries, key)];
    assert.deepEqual(new Uint8Array(one.buffer), new Uint8Array(two.buffer));
    assert.deepEqual([...one.key], [...key]);
    assert.ok(one.buffer instanceof SharedArrayBuffer);
  });

  test('refuses foreign bytes, and the checksum finds any changed byte', () => {
    const table = build([block('example.com'), block('example.net', 2)], new Uint8Array(32));
    const good = new Uint8Array(table.buffer).slice();
    const copy = (change: (bytes: Uint8Array) => void): ArrayBuffer => {
      const bytes = good.slice();
      change(bytes);
      return bytes.buffer;
    };
    assert.ok(new DomainTable(copy(() => undefined)).verify());
    assert.throws(() => new DomainTable(new ArrayBuffer(10)), /cannot have 10 bytes/);
    assert.throws(() => new DomainTable(copy((b) => (b[0] = 1))), /not a domain table/);
    assert.throws(() => new DomainTable(copy((b) => (b[4] = 99))), /version 99/);
    assert.throws(() => new DomainTable(copy((b) => (b[8] = 3))), /damaged sizes/);
    assert.throws(() => new DomainTable(good.slice(0, -4).buffer), /damaged sizes/);
    for (let at = 0; at < good.length; at++) {
      let isGood: boolean;
      try {
        isGood = new DomainTable(copy((b) => (b[at] = (b[at] as number) ^ 0x10))).verify();
      } catch {
        continue;
      }
      assert.equal(isGood, false, `byte ${at}`);
    }
  });
});
