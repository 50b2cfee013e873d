import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { LIMITS } from '../../../main/contract/limits.ts';
import { FLAG_BLOCK, TABLE_ENTRIES_MAX } from '../../../main/engine/filter/domain-table.ts';
import {
  RULE_ALLOW,
  RULE_BLOCK,
  RuleSet,
  type RuleBuffers,
} from '../../../main/engine/filter/rule-set.ts';
import { hashName, writeName } from '../../../main/dns/name.ts';
import {
  compileLists,
  tableKey,
  type CompileSource,
  type CopyFile,
} from '../../../main/lists/compile/compile.ts';
import { TableBuilder, TableFull } from '../../../main/lists/compile/table-builder.ts';
import type { ListText } from '../../../main/lists/compile/list-text.ts';
import { rankOf, textOf } from '../list-fixtures.ts';

const NO_KEY = new Uint8Array(32);
const nothing = (): void => undefined;

/** Files in memory, and copies that point at them. */
class Files {
  readonly #texts = new Map<string, Buffer>();

  read = (path: string): ListText => {
    const text = this.#texts.get(path);
    if (!text) throw Object.assign(new Error(`no ${path}`), { code: 'ENOENT' });
    return textOf(text);
  };

  copy(kind: CopyFile['kind'], path: string, text: string, namesBefore = 0): CopyFile {
    const bytes = Buffer.from(text);
    this.#texts.set(path, bytes);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    return { kind, paths: [path], sha256, bytes: bytes.length, namesBefore };
  }

  damage(path: string): void {
    this.#texts.set(path, Buffer.from('damaged.example\n'));
  }

  remove(path: string): void {
    this.#texts.delete(path);
  }
}

function source(listId: number, ...copies: CopyFile[]): CompileSource {
  return { listId, format: 'auto', copies };
}

function keyOf(...copies: [number, CopyFile][]): Uint8Array {
  return tableKey(copies.map(([listId, { sha256 }]) => ({ listId, format: 'auto', sha256 })));
}

function open(rules: RuleBuffers | null): RuleSet {
  assert.ok(rules);
  return RuleSet.open(rules);
}

describe('compileLists', () => {
  test('puts all lists into one table, attributed in their order', () => {
    const files = new Files();
    const one = files.copy('current', '1', 'a.example\nshared.example\na.example\n');
    const two = files.copy('current', '2', '||shared.example^\n@@||a.example^\n||b.example^\n');
    const { rules, results } = compileLists(
      [source(1, one), source(2, two)],
      NO_KEY,
      files.read,
      nothing,
    );
    assert.ok(rules);
    const lists = RuleSet.open(rules);
    assert.deepEqual(
      results.map(({ names, used }) => [names, used]),
      [
        [2, 'current'],
        [3, 'current'],
      ],
    );
    assert.equal(lists.nameCount, 3);
    assert.equal(rankOf(lists, 'shared.example'), RULE_BLOCK);
    assert.deepEqual([lists.listId, lists.line], [1, 2]);
    assert.equal(rankOf(lists, 'a.example'), RULE_ALLOW);
    assert.deepEqual([...lists.key], [...keyOf([1, one], [2, two])]);
    assert.ok(lists.verify());
  });

  test('is deterministic', () => {
    const files = new Files();
    const sources = [source(1, files.copy('current', '1', 'a.example\nb.example\n'))];
    const make = (): Uint8Array => {
      const { rules } = compileLists(sources, NO_KEY, files.read, nothing);
      return new Uint8Array(rules?.table as SharedArrayBuffer);
    };
    assert.deepEqual(make(), make());
  });

  test('a refused candidate leaves the current copy, and the same table is not made again', () => {
    const files = new Files();
    const current = files.copy('current', 'c', 'a.example\n');
    const candidate = files.copy('candidate', 'n', '<html>login</html>');
    const other = files.copy('current', 'o', 'b.example\n');
    const sources = [source(1, candidate, current), source(2, other)];
    const made = compileLists(sources, NO_KEY, files.read, nothing);
    assert.equal(open(made.rules).nameCount, 2);
    assert.equal(made.results[0]?.used, 'current');
    assert.match(made.results[0].refused[0]?.reason ?? '', /HTML/);
    const kept = compileLists(sources, keyOf([1, current], [2, other]), files.read, nothing);
    assert.equal(kept.rules, null);
    assert.equal(kept.results[0]?.used, 'current');
    assert.match(kept.results[0].refused[0]?.reason ?? '', /HTML/);
  });

  test('an accepted candidate is used instead of the current copy', () => {
    const files = new Files();
    const current = files.copy('current', 'c', 'a.example\n');
    const candidate = files.copy('candidate', 'n', 'b.example\n', 1);
    const { rules, results } = compileLists(
      [source(1, candidate, current)],
      keyOf([1, current]),
      files.read,
      nothing,
    );
    assert.equal(results[0]?.used, 'candidate');
    assert.equal(rankOf(open(rules), 'a.example'), 0);
  });

  test('what is refused by its rules leaves nothing behind, and the other new copies count', () => {
    const files = new Files();
    const many = Array.from({ length: 20 }, (_, i) => `n${i}.example\n`).join('');
    const current = files.copy('current', 'c', 'a.example\n');
    const collapsed = files.copy('candidate', 'n', 'gone.example\n', 20);
    const second = files.copy('candidate', 's', 'this is\nno list\n');
    const good = files.copy('candidate', 'g', many, 20);
    const sources = [source(1, collapsed, current), source(2, second), source(3, good)];
    const { rules, results } = compileLists(sources, NO_KEY, files.read, nothing);
    assert.deepEqual(
      results.map(({ used, names }) => [used, names]),
      [
        ['current', 1],
        [null, 0],
        ['candidate', 20],
      ],
    );
    assert.match(results[0]?.refused[0]?.reason ?? '', /it fell from 20 to 1 names/);
    assert.match(results[1]?.refused[0]?.reason ?? '', /only 0 of 2 lines are rules/);
    const lists = open(rules);
    assert.equal(rankOf(lists, 'gone.example'), 0);
    assert.equal(rankOf(lists, 'n19.example'), RULE_BLOCK);
    const only = [source(1, collapsed, current)];
    const kept = compileLists(only, keyOf([1, current]), files.read, nothing);
    assert.equal(kept.rules, null);
    assert.equal(kept.results[0]?.used, 'current');
  });

  test('parses each copy once, and hands the table out in the parts that make it', () => {
    const files = new Files();
    const copies = ['a.example\n', '||b.example^\n||c*d.example^\n'].map((text, index) =>
      files.copy('candidate', String(index), text),
    );
    const sources = copies.map((copy, index) => source(index + 1, copy));
    let runs = 0;
    const parts = Buffer.alloc(4_096);
    let end = 0;
    const { rules } = compileLists(sources, NO_KEY, files.read, nothing, (builder, key) => {
      runs++;
      builder.write((bytes, at) => {
        parts.set(bytes, at);
        end = Math.max(end, at + bytes.length);
      }, key);
      return builder.finish(key);
    });
    assert.equal(runs, 1);
    assert.ok(rules?.program);
    const whole = Buffer.concat([new Uint8Array(rules.table), new Uint8Array(rules.program)]);
    assert.ok(parts.subarray(0, end).equals(whole));
  });

  test('a damaged or missing copy falls back to the previous one, or to none', () => {
    const files = new Files();
    const current = files.copy('current', 'c', 'a.example\n');
    const previous = files.copy('previous', 'p', 'b.example\n');
    files.damage('c');
    const sources = [source(1, current, previous)];
    const [result] = compileLists(sources, NO_KEY, files.read, nothing).results;
    assert.equal(result?.used, 'previous');
    assert.deepEqual(result.refused, [{ kind: 'current', reason: 'its file is damaged' }]);
    files.remove('p');
    const none = compileLists(sources, NO_KEY, files.read, nothing);
    assert.equal(none.results[0]?.used, null);
    assert.equal(none.results[0].refused[1]?.reason, 'its file is missing');
    assert.equal(open(none.rules).nameCount, 0);
  });

  test('a copy is found under any of its paths', () => {
    const files = new Files();
    const { sha256, bytes } = files.copy('current', 'second', 'a.example\n');
    files.damage('first');
    const copy: CopyFile = {
      kind: 'current',
      paths: ['missing', 'first', 'second'],
      sha256,
      bytes,
      namesBefore: 0,
    };
    const [result] = compileLists([source(1, copy)], NO_KEY, files.read, nothing).results;
    assert.deepEqual([result?.used, result?.path], ['current', 'second']);
  });
});

describe('TableBuilder', () => {
  test('stops at names made to collide instead of becoming slow', () => {
    const builder = new TableBuilder();
    const bytes = new Uint8Array(256);
    let added = 0;
    assert.throws(
      () => {
        for (; added < 10_000; added++) {
          bytes.set([4, added & 0x7f, added >> 7, 0x78, 0x78, 3, 0x63, 0x6f, 0x6d]);
          builder.add(bytes, 9, 12345, 1, FLAG_BLOCK, added);
        }
      },
      (error: unknown) => error instanceof TableFull && /same hash/.test(error.message),
    );
    assert.ok(added > 1_000 && added < 5_000, String(added));
  });

  test('entry indexes fit the 24 bits of a slot', () => {
    const limits: Record<string, number> = LIMITS;
    assert.ok((limits['tableEntriesMax'] ?? Infinity) <= TABLE_ENTRIES_MAX);
  });
});

test('a list that the table cannot hold is left out with the reason, the others stay', () => {
  // The bound that a small list can reach: names that all hash into one stretch of the slots.
  const bytes = new Uint8Array(256);
  const names: string[] = [];
  for (let i = 0; names.length < 5_500; i++) {
    const name = `n${i.toString(36)}.example`;
    const length = writeName(name, bytes, 0);
    if ((hashName(bytes, 0, length) & 8_191) < 512) names.push(name);
  }
  const files = new Files();
  const sources = [
    source(1, files.copy('current', '1', 'a.example\n')),
    source(2, files.copy('current', '2', `${names.join('\n')}\n`)),
    source(3, files.copy('current', '3', 'b.example\n')),
  ];
  const { rules, results } = compileLists(sources, NO_KEY, files.read, nothing);
  assert.deepEqual(
    results.map(({ used }) => used),
    ['current', null, 'current'],
  );
  assert.match(results[1]?.refused[0]?.reason ?? '', /same hash/);
  assert.equal(open(rules).nameCount, 2);
});
