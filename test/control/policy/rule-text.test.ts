/** The written form of rules, as far as edits and explanations read it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  clientValue,
  conditionText,
  hasModifier,
  readRuleText,
  withModifier,
} from '../../../main/control/policy/rule-text.ts';

test('action, pattern and modifiers', () => {
  assert.deepEqual(readRuleText(' @@||a.example^$client=192.0.2.7,important '), {
    action: 'allow',
    pattern: '||a.example^',
    modifiers: [
      { name: 'client', value: '192.0.2.7' },
      { name: 'important', value: '' },
    ],
  });
  assert.equal(readRuleText('/^a(b|c)$/').pattern, '/^a(b|c)$/');
  assert.deepEqual(readRuleText('/x$/$dnstype=A').modifiers, [{ name: 'dnstype', value: 'A' }]);
});

test('a client of any name is written so that it is read back', () => {
  for (const client of ['192.0.2.7', '2001:db8::1', "Anna's tablet", 'a,b|c', 'x\\y', '$5']) {
    const rule = withModifier('||a.example^', `client=${clientValue(client)}`);
    assert.equal(readRuleText(rule).modifiers.length, 1, rule);
    assert.equal(conditionText(rule), `only client ${client}`);
    assert.ok(hasModifier(withModifier(rule, 'important'), 'important'));
  }
});

test('conditions in words', () => {
  assert.equal(conditionText('||a.example^'), '');
  assert.equal(conditionText('||a.example^$important'), '');
  assert.equal(conditionText('||a.example^$dnstype=A|AAAA'), 'only type A, AAAA');
  assert.equal(
    conditionText('||a.example^$dnstype=~HTTPS,denyallow=b.example|c.example'),
    'not type HTTPS; not b.example, c.example and below',
  );
  assert.equal(conditionText('||a.example^$ctag=kid'), 'only clients with the tag kid');
});
