/** The plain functions of the window: words, numbers, rules, addresses, the event stream. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  asSentence,
  CallError,
  describeError,
  isWireError,
} from '../../renderer/client/call-error.ts';
import { EventStreamParser } from '../../renderer/client/event-stream.ts';
import {
  formatBytes,
  formatDuration,
  formatNoun,
  formatShare,
} from '../../renderer/format/number.ts';
import { formatAge, formatLeft } from '../../renderer/format/time.ts';
import { digLine, parseEndpoint } from '../../renderer/health/point-text.ts';
import { describeWhy } from '../../renderer/queries/outcome-text.ts';
import { canDecide, ruleFor, splitRule, toRule } from '../../renderer/rules/rule-text.ts';
import { fakeQuery } from './fake-data.ts';

test('durations, shares and sizes are short and have a unit', () => {
  assert.deepEqual([0, 85, 999, 1_240, 9_960, 14_300, 1_900_000].map(formatDuration), [
    '< 1 µs',
    '85 µs',
    '999 µs',
    '1.2 ms',
    '10 ms',
    '14 ms',
    '1.9 s',
  ]);
  assert.deepEqual([formatShare(1, 8), formatShare(0, 0)], ['12.5%', '0%']);
  assert.deepEqual([512, 93 * 1024 ** 2, 3 * 1024 ** 3].map(formatBytes), [
    '0.5 KiB',
    '93 MiB',
    '3 GiB',
  ]);
  assert.deepEqual(
    [formatNoun(1, 'row', 'rows'), formatNoun(1_200, 'row', 'rows')],
    ['1 row', '1,200 rows'],
  );
});

test('what is left of a pause counts down to zero and no further', () => {
  assert.deepEqual([252_000, 251_001, 3_852_000, 900, 0, -5_000].map(formatLeft), [
    '4:12',
    '4:12',
    '1:04:12',
    '0:01',
    '0:00',
    '0:00',
  ]);
});

test('ages are told in the largest sensible unit', () => {
  assert.deepEqual([5_000, 60_000, 100 * 60_000, 3 * 3_600_000, 72 * 3_600_000].map(formatAge), [
    'less than a minute',
    '1 minute',
    '100 minutes',
    '3 hours',
    '3 days',
  ]);
});

test('errors become sentences', () => {
  assert.equal(asSentence(' the port is taken '), 'The port is taken.');
  assert.equal(asSentence('Really?'), 'Really?');
  assert.equal(asSentence('a.example is blocked'), 'a.example is blocked.');
  assert.equal(asSentence(''), '');
  assert.equal(describeError(new CallError('RULE_INVALID', 'write ||name^')), 'Write ||name^.');
  assert.equal(describeError(new Error('')), 'Something went wrong.');
  assert.ok(isWireError({ code: 'INTERNAL', message: 'x' }));
  for (const other of [null, 'x', {}, { code: 1, message: 'x' }]) assert.ok(!isWireError(other));
});

describe('rules', () => {
  test('a plain name becomes a rule, a rule stays as typed', () => {
    assert.equal(toRule(' Shop.Example. ', 'block'), '||shop.example^');
    assert.equal(toRule('shop.example', 'allow'), '@@||shop.example^');
    assert.equal(toRule('@@||shop.example^', 'block'), '@@||shop.example^');
  });

  test('a rule taken apart gives its name and action back', () => {
    const names = fc.domain();
    fc.assert(
      fc.property(names, fc.constantFrom('block' as const, 'allow' as const), (name, action) => {
        assert.deepEqual(splitRule(ruleFor(name, action)), { action, name });
        assert.ok(canDecide(name));
      }),
    );
    assert.equal(splitRule('ads.example'), null);
  });

  test('one click does not decide about the root, single labels and unreadable names', () => {
    for (const name of ['', '.', 'com', 'a..b', '.a.b', 'a b.example'])
      assert.ok(!canDecide(name), name);
  });
});

test('addresses give the line to try', () => {
  const line = (text: string) => {
    const endpoint = parseEndpoint(text);
    return endpoint && digLine(endpoint);
  };
  assert.equal(line('127.0.0.1:53'), 'dig @127.0.0.1 example.com');
  assert.equal(line('[::1]:5353'), 'dig @::1 -p 5353 example.com');
  assert.equal(line('udp 0.0.0.0:53'), 'dig @127.0.0.1 example.com');
  assert.equal(line('[::]:53'), 'dig @::1 example.com');
  assert.equal(line('somewhere'), null);
});

test('the reason of a query is told in words', () => {
  const base = fakeQuery(0, 0);
  const why = (facts: object) => describeWhy({ ...base, rcode: 0, ...facts });
  const name = 'a.example';
  assert.equal(
    why({ reason: 'list', list: 'Mine', name, matchedName: 'example' }),
    'Mine: example',
  );
  assert.equal(why({ reason: 'list', list: 'Mine', name, matchedName: name }), 'Mine');
  assert.equal(why({ reason: 'rule', list: 'rules', name, matchedName: name }), 'Your rule');
  assert.equal(
    why({ reason: 'allow-rule', list: 'rules', name, matchedName: name }),
    'Allowed by your rule',
  );
  assert.equal(
    why({ reason: 'allow-rule', list: 'Mine', name, matchedName: name }),
    'Allowed by Mine',
  );
  assert.equal(why({ reason: 'none', upstream: '9.9.9.9', rcode: 3 }), 'by 9.9.9.9, no such name');
  assert.equal(why({ reason: 'none', upstream: '', outcome: 'cached' }), '');
  assert.equal(
    why({ reason: 'upstream-timeout', outcome: 'failed', rcode: 2 }),
    'No answer in time',
  );
});

describe('event stream', () => {
  test('messages come out whole however the text is cut', () => {
    const text =
      ': hello\n\nretry: 2000\n\ndata: {"a":1}\r\n\r\nid: 7\ndata: x\ndata: y\n\ndata: rest';
    fc.assert(
      fc.property(fc.array(fc.nat(text.length), { maxLength: 8 }), (cuts) => {
        const at = [0, ...cuts.sort((one, other) => one - other), text.length];
        const parser = new EventStreamParser(1_000);
        const messages = at.flatMap((start, index) =>
          parser.push(text.slice(start, at[index + 1] ?? start)),
        );
        assert.deepEqual(messages, ['{"a":1}', 'x\ny']);
      }),
    );
  });

  test('a message without end does not fill the memory', () => {
    const parser = new EventStreamParser(100);
    assert.throws(() => {
      for (;;) parser.push('data: more and more ');
    }, /too long/);
  });
});
