import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  asksOnlyUs,
  holds,
  planUndo,
  type OwnerItem,
} from '../../../main/system-dns/owners/owner.ts';

const value = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.array(fc.constantFrom('a', 'b'), { maxLength: 2 }),
);
const properties = fc.record({ dns: value, domains: value, tls: value });

test('what stands as we wrote it goes back, what somebody changed stays', () => {
  fc.assert(
    fc.property(properties, properties, properties, (before, ours, now) => {
      const plan = planUndo(before, ours, now);
      const after = { ...now, ...plan.write };
      for (const name of ['dns', 'domains', 'tls'] as const) {
        const text = (one: unknown): string => JSON.stringify(one);
        if (plan.leftAlone.includes(name)) {
          assert.notEqual(text(now[name]), text(ours[name]));
          assert.equal(text(after[name]), text(now[name]));
        } else {
          assert.equal(text(after[name]), text(before[name]));
        }
      }
    }),
  );
});

test('undoing twice does nothing the second time', () => {
  fc.assert(
    fc.property(properties, properties, (before, ours) => {
      const after = { ...ours, ...planUndo(before, ours, ours).write };
      assert.deepEqual(planUndo(before, ours, after).write, {});
    }),
  );
});

test('an item asks only us when every server it names is ours', () => {
  const item = (...servers: string[]): OwnerItem => ({
    ...{ key: '', label: '', skip: '', properties: {}, servers, routingDomains: [] },
  });
  const ours = [
    { address: '127.0.0.1', port: 5399 },
    { address: '::1', port: 53 },
  ];
  assert.equal(asksOnlyUs(item('127.0.0.1:5399', '::1'), ours), true);
  assert.equal(asksOnlyUs(item('127.0.0.1:5399', '9.9.9.9'), ours), false);
  assert.equal(asksOnlyUs(item('127.0.0.1'), ours), false);
  assert.equal(asksOnlyUs(item(), ours), false);
});

test('properties hold when all wanted ones do', () => {
  assert.equal(holds({ dns: ['a'] }, { dns: ['a'], tls: 'no' }), true);
  assert.equal(holds({ dns: ['a'], tls: 'yes' }, { dns: ['a'], tls: 'no' }), false);
});
