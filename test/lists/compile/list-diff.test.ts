/** What came and went between two tables, counted in them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RuleBuffers } from '../../../main/engine/filter/rule-set.ts';
import { countChanges, listsToCount } from '../../../main/lists/compile/list-diff.ts';
import { parseList } from '../../../main/lists/compile/parse-list.ts';
import { RuleSetBuilder } from '../../../main/lists/compile/rule-set-builder.ts';
import type { CompileResult, CompileSource } from '../../../main/lists/compile/compile.ts';
import type { ListFormat } from '../../../main/lists/formats/detect.ts';

/** Lists 1, 2, ... of these texts. */
function tableOf(texts: readonly string[], format: ListFormat | 'auto' = 'adblock'): RuleBuffers {
  const builder = new RuleSetBuilder();
  for (const [index, text] of texts.entries()) {
    builder.beginList(index + 1);
    parseList(new Uint8Array(Buffer.from(text)), { format }, builder);
  }
  return builder.finish();
}

function changes(before: readonly string[], after: readonly string[], ...ids: number[]) {
  return countChanges(tableOf(before), tableOf(after), new Set(ids));
}

const lines = (...rules: string[]): string => `${rules.join('\n')}\n`;

test('names of each list by itself, also those that both have', () => {
  const before = [lines('||a.example^', '||b.example^'), lines('||b.example^', '||c.example^')];
  const after = [lines('||a.example^'), lines('||c.example^', '||a.example^', '||d.example^')];
  assert.deepEqual(changes(before, after, 1, 2), [
    { listId: 1, added: 0, removed: 1 },
    { listId: 2, added: 2, removed: 1 },
  ]);
  assert.deepEqual(changes(before, after, 2), [{ listId: 2, added: 2, removed: 1 }]);
});

test('repeated lines, other lines and other order are no change', () => {
  const before = [lines('||a.example^', '||b.example^', '||c.example^')];
  const after = [lines('! new', '||c.example^', '||b.example^', '||b.example^', '||a.example^')];
  assert.deepEqual(changes(before, after, 1), [{ listId: 1, added: 0, removed: 0 }]);
});

test('a rule that says something else is another rule', () => {
  const stays = ['||x.example^$dnstype=A', '||k*d.example^', '/^k[0-9]+\\./', '||z.example^'];
  const before = [
    lines('||a.example^', '||b.example^$dnstype=A', '||w*d.example^', '/^a[0-9]+\\./', ...stays),
  ];
  const after = [lines('@@||a.example^', '||b.example^$dnstype=AAAA', '||w*e.example^', ...stays)];
  assert.deepEqual(changes(before, after, 1), [{ listId: 1, added: 3, removed: 4 }]);
});

test('networks count, too', () => {
  const zone = (...networks: string[]) => lines(...networks.map((name) => `${name} CNAME .`));
  const before = tableOf([zone('24.0.2.0.192.rpz-ip', '24.0.3.0.192.rpz-ip')], 'rpz');
  const after = tableOf([zone('24.0.3.0.192.rpz-ip', '16.0.0.3.10.rpz-ip')], 'rpz');
  const [change] = countChanges(before, after, new Set([1]));
  assert.deepEqual(change, { listId: 1, added: 1, removed: 1 });
});

test('a list without anything in the table before has no changes to show', () => {
  assert.deepEqual(changes(['||a.example^\n'], ['||a.example^\n', '||b.example^\n'], 2), []);
});

test('many names: the counts are exact', () => {
  const names = (from: number, to: number): string =>
    Array.from({ length: to - from }, (_, index) => `||n${String(from + index)}.example^\n`).join(
      '',
    );
  assert.deepEqual(changes([names(0, 20_000)], [names(500, 21_000)], 1), [
    { listId: 1, added: 1_000, removed: 500 },
  ]);
});

test('counted are lists with a new copy in place of another', () => {
  const copy = { paths: [], sha256: '', bytes: 0, namesBefore: 0 };
  const current = { ...copy, kind: 'current' } as const;
  const candidate = { ...copy, kind: 'candidate' } as const;
  const accepted = { ...copy, kind: 'accepted' } as const;
  const sources: CompileSource[] = [
    { listId: 1, format: 'auto', copies: [candidate, current] },
    { listId: 2, format: 'auto', copies: [accepted, current] },
    { listId: 3, format: 'auto', copies: [candidate] },
    { listId: 4, format: 'auto', copies: [candidate, current] },
  ];
  const result = { path: '', report: null, names: 0, refused: [] };
  const results: CompileResult[] = [
    { ...result, listId: 1, used: 'candidate' },
    { ...result, listId: 2, used: 'accepted' },
    { ...result, listId: 3, used: 'candidate' },
    { ...result, listId: 4, used: 'current' },
  ];
  assert.deepEqual([...listsToCount(sources, results)], [1, 2]);
});
