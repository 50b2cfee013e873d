import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { OUTCOME, REASON } from '../../main/contract/outcome.ts';
import { readName } from '../../main/dns/name.ts';
import { addressText } from '../../main/dns/address-text.ts';
import {
  matchedNameText,
  RECORD_BYTES,
  RecordMemory,
  toQueryEvent,
} from '../../main/log/record.ts';
import { facts } from './fixtures.ts';

const NAMES = { lists: new Map([[7, 'Ads']]), upstreams: ['9.9.9.9', '1.1.1.1'] };

function memory(slots = 3): RecordMemory {
  return new RecordMemory(new SharedArrayBuffer(slots * RECORD_BYTES), 0, slots);
}

test('a record comes back as the event it was', () => {
  const records = memory();
  records.write(
    1,
    facts('Stats.G.DoubleClick.net', {
      timeMs: 1_750_000_000_123.75,
      type: 65,
      rcode: 3,
      outcome: OUTCOME.blocked,
      reason: REASON.list,
      listId: 7,
      matchedLabels: 2,
      upstream: 1,
      durationUs: 42.9,
      transport: 'tcp',
    }),
  );
  assert.deepEqual(toQueryEvent(records, 1, NAMES, 5), {
    id: 5,
    timeMs: 1_750_000_000_123,
    client: '192.168.1.7',
    clientName: '',
    name: 'stats.g.doubleclick.net',
    type: 65,
    typeName: 'HTTPS',
    outcome: 'blocked',
    reason: 'list',
    rcode: 3,
    list: 'Ads',
    matchedName: 'doubleclick.net',
    upstream: '1.1.1.1',
    durationUs: 42,
    transport: 'tcp',
  });
});

test('the root, a malformed query, the user rules and unknown numbers have a text each', () => {
  const records = memory();
  records.write(0, facts('.', { type: 4_242 }));
  records.write(1, facts('.', { reason: REASON.malformed, outcome: OUTCOME.rejected }));
  records.write(2, facts('a.b', { listId: 0, matchedLabels: 1, durationUs: 1e12, upstream: 9 }));
  const [root, malformed, ruled] = [0, 1, 2].map((slot) => toQueryEvent(records, slot, NAMES, 0));
  assert.deepEqual([root?.name, root?.typeName, root?.list], ['.', 'TYPE4242', '']);
  assert.equal(malformed?.name, '');
  assert.deepEqual(
    [ruled?.list, ruled?.matchedName, ruled?.durationUs, ruled?.upstream],
    ['rules', 'b', 0xffffffff, ''],
  );
});

test('every name of up to 254 wire bytes is kept whole, and neighbours are untouched', () => {
  const label = fc.uint8Array({ minLength: 1, maxLength: 63 });
  fc.assert(
    fc.property(fc.array(label, { maxLength: 10 }), (labels) => {
      const wire: number[] = [];
      for (const bytes of labels) {
        if (wire.length + bytes.length + 1 <= 254) wire.push(bytes.length, ...bytes);
      }
      const records = memory();
      records.write(0, facts('left.example'));
      records.write(2, facts('right.example'));
      // An array that is exactly as long as the name: the writer may not read past it.
      records.write(1, facts('x', { name: Uint8Array.from(wire), nameLength: wire.length }));
      assert.equal(records.nameText(1), readName(Uint8Array.from(wire), 0, wire.length));
      assert.equal(records.nameText(0), 'left.example');
      assert.equal(records.nameText(2), 'right.example');
      const other = memory(1);
      other.copy(0, records, 1);
      assert.deepEqual(toQueryEvent(other, 0, NAMES, 0), toQueryEvent(records, 1, NAMES, 0));
    }),
  );
});

test('the matched name is the last labels; an escaped dot does not end one', () => {
  assert.equal(matchedNameText('a.b.c.example', 2), 'c.example');
  assert.equal(matchedNameText('a.example', 2), 'a.example');
  assert.equal(matchedNameText('a.example', 0), '');
  assert.equal(matchedNameText('x.a\\.b.example', 2), 'a\\.b.example');
  assert.equal(matchedNameText('x.a\\\\.example', 2), 'a\\\\.example');
});

test('addresses have the text form of RFC 5952, without port', () => {
  const text = (...groups: number[]): string =>
    addressText(Uint8Array.from(groups.flatMap((group) => [group >> 8, group & 255])), 0);
  assert.equal(text(0, 0, 0, 0, 0, 0xffff, 0x7f00, 1), '127.0.0.1');
  assert.equal(text(0, 0, 0, 0, 0, 0, 0, 0), '::');
  assert.equal(text(0, 0, 0, 0, 0, 0, 0, 1), '::1');
  assert.equal(text(0x2001, 0xdb8, 0, 0, 1, 0, 0, 1), '2001:db8::1:0:0:1');
  assert.equal(text(0x2001, 0xdb8, 0, 1, 1, 1, 1, 1), '2001:db8:0:1:1:1:1:1');
  assert.equal(text(0xfe80, 0, 0, 0, 0, 0, 0, 0), 'fe80::');
});
