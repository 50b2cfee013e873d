/** What `check NAME` is told (main/engine/explain.ts). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { explain } from '../../main/engine/explain.ts';
import { SuffixSet } from '../../main/engine/suffix-set.ts';
import { policy, table } from '../support/engine-fakes.ts';

const lists = table(
  ['ads.example@7', 'x.ads.example@9', 'ads.example@8', 'shop.example@7'],
  ['good.shop.example@8'],
);

test('a blocked name: every entry that matches, and the one that won', () => {
  const found = explain(policy({ lists }), 'A.X.ads.example.', 'a');
  assert.equal(found.decision, 'blocked');
  assert.equal(found.why, 'a.x.ads.example is blocked because a list blocks x.ads.example.');
  assert.deepEqual(found.matches, [
    { action: 'block', listId: 9, matchedName: 'x.ads.example', line: 2, won: true },
    { action: 'block', listId: 7, matchedName: 'ads.example', line: 1, won: false },
    { action: 'block', listId: 8, matchedName: 'ads.example', line: 3, won: false },
  ]);
  assert.deepEqual(found.steps, [
    { step: 'special names', result: 'not special' },
    { step: 'rules', result: 'nothing matches' },
    { step: 'lists', result: 'blocks' },
    { step: 'answer', result: '0.0.0.0' },
  ]);
});

test('an allow entry beats the blocks of lists', () => {
  const found = explain(policy({ lists }), 'good.shop.example', 'A');
  assert.equal(found.decision, 'allowed');
  assert.equal(
    found.why,
    'good.shop.example is allowed because a list allows good.shop.example, which beats the blocks of all lists.',
  );
  assert.deepEqual(
    found.matches.map(({ action, listId, won }) => [action, listId, won]),
    [
      ['allow', 8, true],
      ['block', 7, false],
    ],
  );
});

test("the user's own block beats an allow entry of a list", () => {
  const rules = table(['shop.example@0']);
  const found = explain(policy({ lists, rules }), 'good.shop.example', 'A');
  assert.equal(found.decision, 'blocked');
  assert.equal(
    found.why,
    'good.shop.example is blocked because one of your rules blocks shop.example.',
  );
  assert.deepEqual(
    found.matches.map(({ action, listId, won }) => [action, listId, won]),
    [
      ['block', 0, true],
      ['allow', 8, false],
      ['block', 7, false],
    ],
  );
});

test('a connectivity check that a list names is allowed, and no entry won', () => {
  const found = explain(policy({ lists: table(['msftncsi.com']) }), 'www.msftncsi.com', 'A');
  assert.equal(found.decision, 'allowed');
  assert.match(found.why, /check their connectivity/);
  assert.deepEqual(
    found.matches.map(({ won }) => won),
    [false],
  );
  const rules = table(['msftncsi.com@0']);
  assert.equal(explain(policy({ rules }), 'www.msftncsi.com', 'A').decision, 'blocked');
});

test('a rule is named before a list', () => {
  const found = explain(policy({ lists, rules: table(['ads.example@0']) }), 'ads.example', 'A');
  assert.equal(found.why, 'ads.example is blocked because one of your rules blocks ads.example.');
  assert.deepEqual(
    found.matches.map(({ listId, won }) => [listId, won]),
    [
      [0, true],
      [7, false],
      [8, false],
    ],
  );
});

describe('other decisions', () => {
  const cases: [string, Parameters<typeof policy>[0], string, RegExp][] = [
    ['other.example', { lists }, 'allowed', /no rule and no list names it/],
    ['ads.example', { lists, filtering: false }, 'allowed', /filtering is off or paused/],
    ['x.localhost', { lists }, 'local', /this machine/],
    ['printer.local', { lists, filtering: false }, 'local', /never asked upstream/],
    ['use-application-dns.net', {}, 'local', /browsers/],
    ['use-application-dns.net', { filtering: false }, 'allowed', /paused/],
    [
      'free.example',
      { rules: table([], ['free.example@0']) },
      'allowed',
      /rules allows free\.example\.$/,
    ],
    ['.', { lists }, 'allowed', /^\. is allowed/],
  ];
  for (const [name, options, decision, why] of cases) {
    test(`${name}: ${decision}`, () => {
      const found = explain(policy(options), name, 'HTTPS');
      assert.equal(found.decision, decision);
      assert.match(found.why, why);
    });
  }
});

describe('the answer that a block gets', () => {
  const cases: [string, Parameters<typeof policy>[0], string][] = [
    ['AAAA', {}, '::'],
    ['HTTPS', {}, 'no data'],
    ['type65', { blockingAnswer: 'nxdomain' }, 'NXDOMAIN'],
    ['28', { blockingAnswer: 'refused' }, 'REFUSED'],
    ['A', { blockingAnswer: 'nodata' }, 'no data'],
  ];
  for (const [type, options, result] of cases) {
    test(`${type}: ${result}`, () => {
      const found = explain(policy({ lists, ...options }), 'ads.example', type);
      assert.equal(found.steps.at(-1)?.result, result);
    });
  }
});

test('a special name with an upstream of its own is asked there', () => {
  const name = '7.1.168.192.in-addr.arpa';
  assert.equal(explain(policy(), name, 'PTR').decision, 'local');
  const suffixes = new SuffixSet(['1.168.192.in-addr.arpa']);
  assert.equal(explain(policy({ suffixes }), name, 'PTR').decision, 'allowed');
});

test('what is no name or no type is said so', () => {
  const call = (name: string, type: string) => () => explain(policy(), name, type);
  const message = { code: 'ARGUMENT_INVALID' };
  assert.throws(call('a..b', 'A'), { ...message, message: 'not a domain name: "a..b"' });
  assert.throws(call('x'.repeat(64), 'A'), message);
  assert.throws(call('a.example', 'NOPE'), { ...message, message: 'not a record type: "NOPE"' });
  assert.throws(call('a.example', 'TYPE65536'), message);
});
