/** What `check NAME` is told by the engine (main/engine/explain/explain.ts). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { OUTCOME, REASON } from '../../../main/contract/outcome.ts';
import { explain, judge } from '../../../main/engine/explain/explain.ts';
import {
  readAnswerSection,
  writeCachedReply,
} from '../../../main/engine/explain/explain-message.ts';
import type { CachedItem, CachedRecord } from '../../../main/engine/cache/cache-view.ts';
import { policy, table, type PolicyOptions } from '../../support/engine-fakes.ts';

const lists = table(
  ['ads.example@7', 'x.ads.example@9', 'ads.example@8', 'shop.example@7'],
  ['good.shop.example@8'],
);
const nobody = new Uint8Array(16);

function ask(options: PolicyOptions, name: string, type = 'A') {
  return explain({ config: policy(options), name, type, address: nobody });
}

/** action, list, name, line, whether it won. */
function brief({ matches }: ReturnType<typeof ask>) {
  return matches.map((one) => [one.action, one.listId, one.matchedName, one.line, one.won]);
}

test('a blocked name: every entry that matches, and the one that won', () => {
  const found = ask({ lists }, 'A.X.ads.example.', 'a');
  assert.deepEqual([found.name, found.type, found.decision], ['a.x.ads.example', 1, 'blocked']);
  assert.deepEqual([found.now.outcome, found.now.reason], [OUTCOME.blocked, REASON.list]);
  assert.deepEqual(brief(found), [
    ['block', 9, 'x.ads.example', 2, true],
    ['block', 7, 'ads.example', 1, false],
    ['block', 8, 'ads.example', 3, false],
  ]);
});

test('an allow entry beats the blocks of lists', () => {
  const found = ask({ lists }, 'good.shop.example');
  assert.equal(found.decision, 'allowed');
  assert.deepEqual(brief(found), [
    ['allow', 8, 'good.shop.example', 5, true],
    ['block', 7, 'shop.example', 4, false],
  ]);
});

test("the user's own block beats an allow entry of a list, and a first rule beats that", () => {
  const rules = table(['shop.example@0']);
  const found = ask({ lists, rules }, 'good.shop.example');
  assert.equal(found.decision, 'blocked');
  assert.deepEqual(
    found.matches.map(({ layer, won }) => [layer, won]),
    [
      ['user', true],
      ['list', false],
      ['list', false],
    ],
  );
  const firstRules = table([], ['shop.example@0']);
  const allowed = ask({ lists, rules, priorityRules: firstRules }, 'good.shop.example');
  assert.equal(allowed.decision, 'allowed');
  assert.deepEqual(
    allowed.matches.filter(({ won }) => won).map(({ layer }) => layer),
    ['first'],
  );
});

test('a connectivity check that a list names is allowed, and no entry won', () => {
  const found = ask({ lists: table(['msftncsi.com']) }, 'www.msftncsi.com');
  assert.deepEqual([found.decision, found.now.reason], ['allowed', REASON.specialName]);
  assert.deepEqual(
    found.matches.map(({ won }) => won),
    [false],
  );
  const rules = table(['msftncsi.com@0']);
  assert.equal(ask({ rules }, 'www.msftncsi.com').decision, 'blocked');
});

describe('other decisions', () => {
  const cases: [string, string, PolicyOptions, string, RegExp][] = [
    ['other.example', 'A', { lists }, 'allowed', /^$/],
    ['ads.example', 'A', { lists, filtering: false }, 'allowed', /^$/],
    ['x.localhost', 'HTTPS', { lists }, 'local', /this machine/],
    ['printer.local', 'A', { lists, filtering: false }, 'local', /never asked upstream/],
    ['use-application-dns.net', 'A', {}, 'local', /browsers/],
    ['use-application-dns.net', 'A', { filtering: false }, 'allowed', /^$/],
    ['.', 'NS', { lists }, 'allowed', /^$/],
    ['a.example', 'ANY', {}, 'local', /^$/],
    ['a.example', 'AXFR', {}, 'rejected', /^$/],
  ];
  for (const [name, type, options, decision, special] of cases) {
    test(`${name} ${type}: ${decision}`, () => {
      const found = ask(options, name, type);
      assert.equal(found.decision, decision);
      assert.match(found.special, special);
    });
  }
});

test('while filtering is off, it is told what would be otherwise', () => {
  const found = ask({ lists, filtering: false }, 'ads.example');
  assert.equal(found.isOn, false);
  assert.deepEqual(
    [found.now.outcome, found.filtered.outcome],
    [OUTCOME.forwarded, OUTCOME.blocked],
  );
  assert.equal(found.matches.filter(({ won }) => won).length, 1);
});

describe('the answer that a block gets', () => {
  const cases: [string, PolicyOptions, number, string[]][] = [
    ['A', {}, 0, ['0.0.0.0']],
    ['AAAA', {}, 0, ['::']],
    ['HTTPS', {}, 0, []],
    ['type65', { blockingAnswer: 'nxdomain' }, 3, []],
    ['28', { blockingAnswer: 'refused' }, 5, []],
    ['A', { blockingAnswer: 'nodata' }, 0, []],
  ];
  for (const [type, options, rcode, data] of cases) {
    test(`${type} ${options.blockingAnswer ?? ''}: ${data.join() || String(rcode)}`, () => {
      const { now } = ask({ lists, ...options }, 'ads.example', type);
      assert.equal(now.rcode, rcode);
      const records = readAnswerSection(now.answer ?? new Uint8Array(0));
      assert.deepEqual(
        records.map((record) => record.data),
        data,
      );
    });
  }
});

describe('a kept answer', () => {
  const item = (...records: CachedRecord[]): CachedItem => ({
    ...{ type: 1, qclass: 1, dnssecOk: false, checkingDisabled: false, rcode: 0, failure: 0 },
    ...{ ageSeconds: 1, leftSeconds: 50, hits: 0, bytes: 100, isStripped: false, records },
  });
  const cname = { owner: 'www.site.example', type: 5, ttl: 60, data: 'x.ads.example' };
  const address = { owner: 'x.ads.example', type: 1, ttl: 60, data: '192.0.2.9' };

  test('is shown to the filter: a name it leads to is blocked', () => {
    const kept = item(cname, address);
    const found = explain({
      ...{ config: policy({ lists }), name: 'www.site.example', type: 'A', address: nobody },
      kept: (query) => writeCachedReply(query, kept),
    });
    assert.deepEqual([found.decision, found.now.reason], ['blocked', REASON.cname]);
    assert.equal(found.now.matched, 'x.ads.example');
    const verdict = judge(policy({ lists }), found, 'x.ads.example');
    assert.deepEqual([verdict.isBlocked, verdict.spared], [true, '']);
  });

  test('of a name that the user allows is not', () => {
    const rules = table([], ['site.example@0']);
    const both = policy({ lists, rules });
    const found = explain({
      ...{ config: both, name: 'www.site.example', type: 'A', address: nobody },
      kept: (query) => writeCachedReply(query, item(cname, address)),
    });
    assert.equal(found.decision, 'allowed');
    const verdict = judge(both, found, 'x.ads.example');
    assert.deepEqual([verdict.isBlocked, verdict.spared], [false, 'user']);
  });

  test('comes back as it was', () => {
    const records: CachedRecord[] = [
      cname,
      address,
      { owner: 'x.ads.example', type: 28, ttl: 5, data: '2001:db8::1:0:0:7' },
      { owner: 'x.ads.example', type: 28, ttl: 5, data: '::' },
      { owner: 'x.ads.example', type: 65, ttl: 5, data: '1 y.example' },
      { owner: 'a\\.b.example', type: 16, ttl: 5, data: '\\# 3 026869' },
      { owner: 'a.example', type: 16, ttl: 5, data: '\\# 0' },
    ];
    const query = ask({}, 'www.site.example').now.answer as Uint8Array;
    assert.deepEqual(readAnswerSection(writeCachedReply(query, item(...records))), records);
  });
});

test('nothing is asked for a local answer; else the question is told', () => {
  assert.equal(ask({ lists }, 'ads.example').now.asked, null);
  assert.deepEqual(ask({ lists }, 'b.example', 'MX').now.asked, { name: 'b.example', type: 15 });
});

test('what is no name or no type is said so', () => {
  const call = (name: string, type: string) => () => ask({}, name, type);
  const message = { code: 'ARGUMENT_INVALID' };
  assert.throws(call('a..b', 'A'), { ...message, message: 'not a domain name: "a..b"' });
  assert.throws(call('x'.repeat(64), 'A'), message);
  assert.throws(call('a.example', 'NOPE'), { ...message, message: 'not a record type: "NOPE"' });
  assert.throws(call('a.example', 'TYPE65536'), message);
});
