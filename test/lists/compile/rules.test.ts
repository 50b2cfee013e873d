import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../../../main/contract/errors.ts';
import { LIMITS } from '../../../main/contract/limits.ts';
import { RULE_ALLOW, RULE_BLOCK, RuleSet } from '../../../main/engine/filter/rule-set.ts';
import { compileRules, parseRule } from '../../../main/lists/compile/rules.ts';
import { rankOf } from '../list-fixtures.ts';

test('accepts the two forms and the usual spellings of them', () => {
  const rules = {
    '||ads.example^': ['block', 'ads.example'],
    '@@||good.example^': ['allow', 'good.example'],
    'ads.example': ['block', 'ads.example'],
    '*.ads.example': ['block', 'ads.example'],
    '.ads.example': ['block', 'ads.example'],
    '@@good.example': ['allow', 'good.example'],
    '||ADS.Example.^': ['block', 'ads.example'],
    '  ||ads.example^ ': ['block', 'ads.example'],
    '||bücher.example^': ['block', 'xn--bcher-kva.example'],
    '||_dmarc.ads-1.example^': ['block', '_dmarc.ads-1.example'],
    'github.io': ['block', 'github.io'],
    'localhost.localdomain': ['block', 'localhost.localdomain'],
  };
  for (const [text, [action, name]] of Object.entries(rules)) {
    const entry = `${action === 'allow' ? '@@' : ''}||${name}^`;
    assert.deepEqual(parseRule(text), { action, name, text: entry }, text);
  }
});

test('refuses everything else, saying why and what to write', () => {
  const rules = {
    '': /empty/,
    '||com^': /whole top-level domain/,
    com: /whole top-level domain/,
    '*.com': /whole top-level domain/,
    '||^': /label/,
    '*': /most names.*\$wide/,
    '/.*/': /most names/,
    '/a(?=b)/': /linear time/,
    '/[/': /linear time|path/,
    '||ads.example^$third-party': /modifiers/,
    'ads.example##.banner': /cosmetic/,
    'https://ads.example/': /URL/,
    'ads.example/banner': /path/,
    'ads.example:80': /port/,
    '0.0.0.0 ads.example': /more than one word/,
    '||ads.example^$dnsrewrite=?': /value/,
    '0.0.0.0': /most names/,
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

test('takes the rest of the syntax as it was written', () => {
  for (const text of [
    '||ads.example^$important',
    '@@||ads.example^$client=192.0.2.0/24',
    '/^ads[0-9]+\\./$dnstype=~A',
    '||ads*.example^',
    '||ads.exam',
    '||*.ads.example^',
    '-adserver.',
    '|ads.example^',
    '||ads.example^$dnsrewrite=NOERROR;MX;10 mail.example',
    '*$client=tv,wide',
    '||zip^$wide',
    '198.51.100.7',
    '||2001:db8::1^',
  ]) {
    const action = text.startsWith('@@') ? 'allow' : 'block';
    const entry = text.replaceAll('\\\\', '\\');
    assert.deepEqual(parseRule(` ${entry} `), { action, name: '', text: entry }, entry);
    compileRules([entry]);
  }
});

test('compiles into a table with list id 0 and the rule number as line', () => {
  const set = RuleSet.open(compileRules(['||a.example^', '@@||good.a.example^', 'a.example']));
  assert.equal(set.nameCount, 2);
  assert.equal(rankOf(set, 'x.good.a.example'), RULE_ALLOW);
  assert.deepEqual([set.listId, set.line, set.hasBlock], [0, 2, true]);
  assert.equal(rankOf(set, 'x.a.example'), RULE_BLOCK);
  assert.deepEqual([set.listId, set.line, set.labels], [0, 1, 2]);
  assert.equal(RuleSet.open(compileRules([])).nameCount, 0);
  assert.throws(() => compileRules(['||a.example^', 'com']), { code: 'RULE_INVALID' });
});

test('as many rules as the settings may have compile at once', () => {
  const rules = Array.from({ length: LIMITS.rulesMax }, (_, i) => `||r${i}.example^`);
  const set = RuleSet.open(compileRules(rules));
  assert.equal(set.nameCount, LIMITS.rulesMax);
  assert.equal(rankOf(set, 'r9999.example'), RULE_BLOCK);
});
