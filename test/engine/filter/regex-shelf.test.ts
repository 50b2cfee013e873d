/** Compiled expressions are bounded, whatever lists hold and whatever names are asked for. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../../main/contract/limits.ts';
import { compileRegex } from '../../../main/engine/filter/regex-engine.ts';
import {
  REGEX_SHELF,
  RegexShelf,
  type RegexSlots,
} from '../../../main/engine/filter/regex-shelf.ts';
import { RULE_BLOCK } from '../../../main/engine/filter/rule-set.ts';
import { parse, rankOf } from '../../lists/list-fixtures.ts';

test('more than fit: those not used since the last look go first', () => {
  const shelf = new RegexShelf(100_000);
  const slots: RegexSlots = [];
  for (let index = 0; index < 20; index++) {
    shelf.put(slots, index, compileRegex(`^a${String(index)}x`));
    slots[0]?.test(Buffer.from('a0x'));
  }
  assert.ok(shelf.count >= 2 && shelf.count < 5, String(shelf.count));
  assert.equal(slots.filter((one) => one !== undefined).length, shelf.count);
  assert.notEqual(slots[0], undefined, 'the one in use stays');
  assert.notEqual(slots[19], undefined);
});

test('one that is larger than the shelf is kept alone', () => {
  const shelf = new RegexShelf(1);
  const slots: RegexSlots = [];
  shelf.put(slots, 0, compileRegex('^a'));
  shelf.put(slots, 1, compileRegex('^b'));
  assert.deepEqual([shelf.count, slots[0]], [1, undefined]);
});

test('thousands of expressions of a list, all of them met', () => {
  const each = Array.from({ length: 1_500 }, (_, index) => `n${String(index)}x`);
  const { rules } = parse(each.map((one) => `^${one}[0-9]+\\.(foo|bar)\\.`).join('\n'), 'regex');
  for (const one of [...each, ...each]) {
    assert.equal(rankOf(rules, `${one}7.foo.example`), RULE_BLOCK, one);
  }
  assert.ok(REGEX_SHELF.count * 24_000 < LIMITS.regexHeapBytesMax, String(REGEX_SHELF.count));
  assert.ok(REGEX_SHELF.count > 300, String(REGEX_SHELF.count));
});
