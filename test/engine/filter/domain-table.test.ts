import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  DomainTable,
  FLAG_ALLOW,
  FLAG_BLOCK,
  FLAG_BELOW,
  FLAG_EXACT,
  FLAG_IMPORTANT,
} from '../../../main/engine/filter/domain-table.ts';
import { hashName, writeName } from '../../../main/dns/name.ts';
import {
  RULE_ALLOW,
  RULE_BLOCK,
  RULE_IMPORTANT_ALLOW,
  RULE_IMPORTANT_BLOCK,
  RuleSet,
} from '../../../main/engine/filter/rule-set.ts';
import { createMatchContext } from '../../../main/engine/filter/match-context.ts';
import { TableBuilder } from '../../../main/lists/compile/table-builder.ts';
import { rankOf, suffixesOf, viewOf } from '../../lists/list-fixtures.ts';

interface Entry {
  readonly name: string;
  readonly listId: number;
  readonly flags: number;
}

function build(entries: readonly Entry[], key?: Uint8Array): RuleSet {
  const builder = new TableBuilder();
  const bytes = new Uint8Array(256);
  for (const [index, { name, listId, flags }] of entries.entries()) {
    const length = writeName(name, bytes, 0);
    builder.add(bytes, length, hashName(bytes, 0, length), listId, flags, index + 1);
  }
  return new RuleSet(builder.finish(key), null);
}

function block(name: string, listId = 1): Entry {
  return { name, listId, flags: FLAG_BLOCK };
}

const RANKS = [RULE_BLOCK, RULE_ALLOW, RULE_IMPORTANT_BLOCK, RULE_IMPORTANT_ALLOW];

/** Rank, list and labels of the winner, found by strings and loops. */
function slowly(entries: readonly Entry[], name: string, mask: Uint8Array | null): number[] {
  const whole = name.toLowerCase();
  let best = [0, 0, 0];
  for (const suffix of [...suffixesOf(name), whole.split('.').at(-1) as string]) {
    for (const { name: listed, listId, flags } of entries) {
      const isWrongExtent = suffix === whole ? (flags & FLAG_BELOW) > 0 : (flags & FLAG_EXACT) > 0;
      if (listed.toLowerCase() !== suffix || isWrongExtent || mask?.[listId] === 0) continue;
      const isImportant = (flags & FLAG_IMPORTANT) > 0;
      const rank = RANKS[(isImportant ? 2 : 0) + ((flags & FLAG_ALLOW) > 0 ? 1 : 0)] as number;
      if (rank > (best[0] as number)) best = [rank, listId, suffix.split('.').length];
    }
  }
  return best;
}

describe('plain names', () => {
  test('a listed name stands for itself and everything below, nothing else', () => {
    const rules = build([block('example.com')]);
    for (const name of ['example.com', 'EXAMPLE.com', 'ads.example.com', 'a.b.c.example.com']) {
      assert.equal(rankOf(rules, name), RULE_BLOCK, name);
    }
    for (const name of ['notexample.com', 'example.com.evil.org', 'com', 'xample.com', '.']) {
      assert.equal(rankOf(rules, name), 0, name);
    }
  });

  test('a single label is looked for when there is one in the table', () => {
    const rules = build([block('com'), block('example.org')]);
    assert.equal(rankOf(rules, 'com'), RULE_BLOCK);
    assert.equal(rankOf(rules, 'example.com'), RULE_BLOCK);
    assert.equal(rules.labels, 1);
    assert.equal(rankOf(rules, 'org'), 0);
    assert.equal(rankOf(rules, '.'), 0);
  });

  test('reports the most specific block and allow entries with list and line', () => {
    const rules = build([
      block('example.com', 7),
      { name: 'good.example.com', listId: 9, flags: FLAG_ALLOW },
      block('bad.good.example.com', 11),
    ]);
    assert.equal(rankOf(rules, 'x.bad.good.example.com'), RULE_ALLOW);
    assert.deepEqual([rules.listId, rules.line, rules.labels, rules.hasBlock], [9, 2, 3, true]);
    assert.equal(rankOf(rules, 'x.example.com'), RULE_BLOCK);
    assert.deepEqual([rules.listId, rules.line, rules.labels], [7, 1, 2]);
    assert.equal(rankOf(rules, 'other.example.org'), 0);
    assert.deepEqual(
      [rules.listId, rules.line, rules.labels],
      [0, 0, 0],
      'a miss forgets the last hit',
    );
  });

  test('a name in several lists keeps every attribution; the first list is named', () => {
    const rules = build([
      block('example.com', 3),
      block('other.com', 3),
      block('example.com', 2),
      { name: 'example.com', listId: 2, flags: FLAG_ALLOW },
      block('example.com', 3),
      block('ads.example.com', 5),
    ]);
    assert.deepEqual([rules.nameCount, rules.ruleCount], [3, 5], 'the repeated entry is dropped');
    assert.equal(rankOf(rules, 'example.com'), RULE_ALLOW);
    assert.deepEqual([rules.listId, rules.line], [2, 4]);
    const seen: unknown[] = [];
    rules.forEachMatch(viewOf('ads.example.com'), createMatchContext(), (match) => {
      seen.push([match.listId, match.rank, match.labels, match.line, match.won]);
    });
    assert.deepEqual(seen, [
      [5, RULE_BLOCK, 3, 6, false],
      [3, RULE_BLOCK, 2, 1, false],
      [2, RULE_BLOCK, 2, 3, false],
      [2, RULE_ALLOW, 2, 4, true],
    ]);
  });

  test('an exact entry names only itself', () => {
    const rules = build([{ name: 'example.com', listId: 1, flags: FLAG_BLOCK | FLAG_EXACT }]);
    assert.equal(rankOf(rules, 'example.com'), RULE_BLOCK);
    assert.equal(rankOf(rules, 'www.example.com'), 0);
    let visits = 0;
    rules.forEachMatch(viewOf('www.example.com'), createMatchContext(), () => visits++);
    assert.equal(visits, 0);
  });

  test('names of 255 bytes and 127 labels are found', () => {
    const deep = `${'a.'.repeat(126)}b`;
    const long = `${`${'x'.repeat(63)}.`.repeat(3)}${'y'.repeat(61)}`;
    const rules = build([block(deep), block(long)]);
    assert.equal(rankOf(rules, deep), RULE_BLOCK);
    assert.equal(rules.labels, 127);
    assert.equal(rankOf(rules, long), RULE_BLOCK);
    assert.equal(rankOf(rules, `${'b.'.repeat(126)}b`), 0);
  });

  test('the empty table finds nothing', () => {
    const rules = RuleSet.empty();
    assert.equal(rankOf(rules, 'a.example.com'), 0);
    assert.deepEqual([rules.nameCount, rules.ruleCount, rules.verify()], [0, 0, true]);
  });

  test('agrees with a slow oracle on any names', () => {
    const label = fc.constantFrom('a', 'b', 'ads', 'x1', 'com', 'net', 'Example');
    const name = fc.array(label, { minLength: 1, maxLength: 6 }).map((labels) => labels.join('.'));
    const entry = fc.record({
      name,
      listId: fc.integer({ min: 1, max: 4 }),
      flags: fc
        .tuple(
          fc.constantFrom(FLAG_BLOCK, FLAG_ALLOW),
          fc.constantFrom(0, FLAG_EXACT, FLAG_BELOW),
          fc.constantFrom(0, FLAG_IMPORTANT),
        )
        .map(([action, extent, important]) => action | extent | important),
    });
    const matchContext = createMatchContext();
    const property = fc.property(
      fc.array(entry, { maxLength: 60 }),
      fc.array(name, { minLength: 1, maxLength: 20 }),
      fc.option(fc.uint8Array({ minLength: 5, maxLength: 5, max: 1 })),
      (entries, names, listMask) => {
        const rules = build(entries);
        matchContext.listMask = listMask;
        for (const one of names) {
          const best = slowly(entries, one, listMask);
          const found = rules.match(viewOf(one), matchContext);
          assert.deepEqual([found, rules.listId, rules.labels], best, one);
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
    const rules = build(names.map((name) => block(name)));
    assert.equal(rules.nameCount, names.length);
    const own = names.reduce((sum, name) => sum + name.length + 1, 0);
    assert.ok((rules.buffers.table.byteLength - own) / names.length <= 24);
    for (let i = 0; i < names.length; i += 37) {
      const name = names[i] as string;
      assert.equal(rankOf(rules, name), RULE_BLOCK, name);
      assert.equal(rules.line, i + 1);
      assert.equal(rankOf(rules, `${name}x`), 0);
      assert.equal(rankOf(rules, name.replace('.', 'x.')), 0, name);
    }
  });

  test('is a function of its input: same entries, same bytes; the key is kept', () => {
    const entries = ['b.example', 'a.example', 'b.example'].map((name, i) => block(name, i + 1));
    const key = Uint8Array.from({ length: 32 }, (_, i) => i);
    const [one, two] = [build(entries, key), build(entries, key)];
    assert.deepEqual(new Uint8Array(one.buffers.table), new Uint8Array(two.buffers.table));
    assert.deepEqual([...one.key], [...key]);
  });

  test('refuses foreign bytes, and the checksum finds any changed byte', () => {
    const rules = build([block('example.com'), block('example.net', 2)], new Uint8Array(32));
    const good = new Uint8Array(rules.buffers.table).slice();
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
