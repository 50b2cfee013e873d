/**
 * Every door serves the same table: the same calls give the same values and the same errors through
 * dispatch, IPC, HTTP and the command line.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { METHODS } from '../../main/contract/methods/methods.ts';
import { DOORS, openDoors, type Outcome } from './open-doors.ts';

/** A walk through the whole table, failures included. The state changes on the way. */
const CALLS: [name: string, input: unknown][] = [
  ['status', {}],
  ['pause', { minutes: 5 }],
  ['pause', {}],
  ['resume', {}],
  ['takeover', {}],
  ['takeover', { extra: 1 }],
  ['network', {}],
  ['right', { id: 'low-ports', change: 'install' }],
  ['right', { id: 'low-ports', change: 'maybe' }],
  ['portal', { open: false }],
  ['portal', { open: 'yes' }],
  ['restore', {}],
  ['queries.search', { text: 'x', limit: 7 }],
  ['queries.search', { limit: 0 }],
  ['queries.search', { text: 'slow' }],
  ['statistics', { stepMinutes: 10 }],
  ['check', { name: 'listed.example' }],
  ['check', { name: '' }],
  ['check', { name: 'a.example', type: 'X' }],
  ['rules.list', {}],
  ['rules.add', { rule: '||ads.example^' }],
  ['rules.add', { rule: 'bad rule' }],
  ['rules.add', {}],
  ['rules.remove', { rule: 'ads.example' }],
  ['rules.remove', { rule: 'ads.example' }],
  ['lists.list', {}],
  ['lists.add', { name: 'New', url: 'https://n.example/' }],
  ['lists.add', { name: 'New', url: 'https://n.example/' }],
  ['lists.enable', { name: 'New', enabled: false }],
  ['lists.change', { name: 'New', action: 'allow', match: 'exact' }],
  ['lists.change', { name: 'Other', match: 'exact' }],
  ['lists.refresh', { name: 'New' }],
  ['lists.remove', { name: 'New' }],
  ['lists.remove', { name: 'New' }],
  ['lists.accept', { name: 'Starter' }],
  ['lists.rollback', { name: 'Starter' }],
  ['catalogue.list', {}],
  ['catalogue.add', { id: 'urlhaus' }],
  ['catalogue.add', { id: 'none' }],
  ['import.preview', { upload: 'AAAAAAAAAAAAAAAAAAAAAA' }],
  ['import.preview', { path: '/etc/hosts' }],
  ['import.apply', { upload: '../../etc/hosts', only: ['lists'] }],
  ['import.apply', { upload: 'AAAAAAAAAAAAAAAAAAAAAA', only: ['all'] }],
  ['import.status', {}],
  ['import.cancel', {}],
  ['settings.export', {}],
  ['settings.export', { path: '/no/such/folder/file' }],
  ['settings.import', { upload: 'AAAAAAAAAAAAAAAAAAAAAA' }],
  ['settings.import', { path: '/no/such/file' }],
  ['policies.list', {}],
  ['policies.put', { policy: { name: 'p', action: 'block', domains: ['p.example'] } }],
  ['policies.put', { policy: { name: 'q', action: 'redirect', domains: ['p.example'] } }],
  ['policies.remove', { name: 'p' }],
  ['policies.remove', { name: 'p' }],
  ['groups.put', { group: { name: 'g', services: ['tiktok'] } }],
  ['clients.put', { client: { name: 'c', ids: ['10.0.0.1'], group: 'g' } }],
  ['clients.put', { client: { name: 'd', ids: ['10.0.0.1'] } }],
  ['clients.list', {}],
  ['groups.remove', { name: 'g' }],
  ['clients.remove', { name: 'c' }],
  ['services.list', {}],
  ['services.set', { services: ['tiktok'] }],
  ['services.set', { services: ['tiktik'] }],
  ['services.safe-search', { enabled: true }],
  ['services.bypass', { block: true }],
  ['records.put', { record: { name: 'r.example', type: 'A', value: '10.0.0.1' } }],
  ['records.put', { record: { name: 'r.example', type: 'A', value: 'x' } }],
  ['records.list', {}],
  ['records.remove', { name: 'r.example' }],
  ['upstreams.list', {}],
  ['cache.inspect', { name: 'kept.example' }],
  ['cache.inspect', { name: 'a..b' }],
  ['cache.flush', { name: 'Kept.Example.', below: true }],
  ['cache.flush', {}],
  ['settings.get', {}],
  ['settings.get', { extra: 1 }],
  ['no.such.method', {}],
  ['constructor', {}],
];

test('the walk covers every method that all doors have', () => {
  const called = new Set(['token.renew', ...CALLS.map(([name]) => name)]);
  assert.deepEqual(
    Object.keys(METHODS).filter((name) => !called.has(name)),
    [],
  );
});

test('all doors answer the same calls alike', async (t) => {
  const answers = new Map<string, Outcome[]>();
  for (const [door, call] of Object.entries(DOORS)) {
    await t.test(door, async (t) => {
      const doors = await openDoors(t);
      const outcomes: Outcome[] = [];
      for (const [name, input] of CALLS) {
        const outcome = await call(doors, name, input);
        outcomes.push('value' in outcome ? { value: steady(outcome.value) } : outcome);
      }
      answers.set(door, outcomes);
    });
  }
  const [expected, ...others] = [...answers.values()];
  assert.equal(others.length, 3);
  assert.ok(
    expected?.some((outcome) => 'error' in outcome && outcome.error.code === 'RULE_INVALID'),
  );
  for (const outcomes of others) assert.deepEqual(outcomes, expected);
});

/** Without what differs between two runs. */
function steady(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('memory' in value)) return value;
  return { ...value, memory: null, queues: null };
}

test('what names files of this machine, or lets in, works through the local socket only', async (t) => {
  const doors = await openDoors(t);
  const file = { name: 'File', url: `file://${doors.folder}/names.txt` };
  const calls: [string, unknown][] = [
    ['lists.add', file],
    ['token.renew', {}],
  ];
  for (const [name, input] of calls) {
    for (const door of ['http', 'ipc']) {
      const outcome = await DOORS[door]?.(doors, name, input);
      assert.equal((outcome as { error?: { code: string } }).error?.code, 'LOCAL_ONLY', name);
    }
    const outcome = await DOORS['cli']?.(doors, name, input);
    assert.ok(outcome && 'value' in outcome, JSON.stringify(outcome));
  }
  assert.equal(doors.renewed.count, 1);
  // One that is there may be used from everywhere.
  for (const door of ['http', 'ipc']) {
    for (const enabled of [false, true]) {
      const outcome = await DOORS[door]?.(doors, 'lists.enable', { name: 'File', enabled });
      assert.ok(outcome && 'value' in outcome, JSON.stringify(outcome));
    }
  }
});
