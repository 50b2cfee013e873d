import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../../main/contract/errors.ts';
import { LIMITS } from '../../main/contract/limits.ts';
import { DomainTable, MATCH_ALLOW, MATCH_BLOCK } from '../../main/engine/domain-table.ts';
import { compileRules, parseRule } from '../../main/lists/rules.ts';
import { viewOf } from './list-fixtures.ts';

test('accepts the two forms and the usual spellings of them', () => {
  const rules = {
    '||ads.example^': ['block', 'ads.example'],
    '@@||good.example^': ['allow', 'good.example'],
    'ads.example': ['block', 'ads.example'],
    '*.ads.example': ['block', 'ads.example'],
    '.ads.example': ['block', 'ads.example'],
    '@@good.example': ['allow', 'good.example'],
    '||*.ads.example^': ['block', 'ads.example'],
    '||ADS.Example.^': ['block', 'ads.example'],
    '  ||ads.example^ ': ['block', 'ads.example'],
    '||bücher.example^': ['block', 'xn--bcher-kva.example'],
    '||_dmarc.ads-1.example^': ['block', '_dmarc.ads-1.example'],
    'github.io': ['block', 'github.io'],
    'localhost.localdomain': ['block', 'localhost.localdomain'],
  };
  for (const [text, [action, name]] of Object.entries(rules)) {
    assert.deepEqual(parseRule(text), { action, name }, text);
  }
});

test('refuses everything else, saying why and what to write', () => {
  const rules = {
    '': /empty/,
    '||com^': /whole top-level domain/,
    com: /whole top-level domain/,
    '*.com': /whole top-level domain/,
    '||^': /no host name/,
    '*': /only stand at the front/,
    'ads.*': /only stand at the front/,
    '||ads.example^$third-party': /modifiers/,
    'ads.example##.banner': /cosmetic/,
    '/^ads/': /regular expression/,
    'https://ads.example/': /URL/,
    'ads.example/banner': /path/,
    'ads.example:80': /port/,
    '0.0.0.0 ads.example': /more than one word/,
    '10.0.0.1': /IP address/,
    'a..example': /label/,
    [`${'x'.repeat(64)}.example`]: /label/,
    [`${'abcdefg.'.repeat(32)}example`]: /253/,
    'a"b.example': /no host name/,
  };
  for (const [text, why] of Object.entries(rules)) {
    assert.throws(
      () => parseRule(text),
      (error: AppError) => {
        assert.equal(error.code, 'RULE_INVALID', text);
        assert.match(error.message, why, text);
        assert.match(error.message, /write \|\|name\^ .* @@\|\|name\^/, text);
        assert.ok(error.message.length < 400);
        return true;
      },
    );
  }
});

test('compiles into a table with list id 0 and the rule number as line', () => {
  const table = new DomainTable(compileRules(['||a.example^', '@@||good.a.example^', 'a.example']));
  assert.equal(table.nameCount, 2);
  assert.equal(table.match(viewOf('x.good.a.example')), MATCH_BLOCK | MATCH_ALLOW);
  assert.deepEqual([table.blockListId, table.entryLine(table.blockEntry)], [0, 1]);
  assert.deepEqual([table.allowListId, table.entryLine(table.allowEntry)], [0, 2]);
  assert.equal(new DomainTable(compileRules([])).nameCount, 0);
  assert.throws(() => compileRules(['||a.example^', 'com']), { code: 'RULE_INVALID' });
});

test('as many rules as the settings may have compile at once', () => {
  const rules = Array.from({ length: LIMITS.rulesMax }, (_, i) => `||r${i}.example^`);
  const table = new DomainTable(compileRules(rules));
  assert.equal(table.nameCount, LIMITS.rulesMax);
  assert.equal(table.match(viewOf('r9999.example')), MATCH_BLOCK);
});
