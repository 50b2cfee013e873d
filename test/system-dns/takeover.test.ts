import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { AppError } from '../../main/contract/errors.ts';
import type { GuardianEvents, StartGuardian } from '../../main/system-dns/guardian/guardian.ts';
import { JournalFile } from '../../main/system-dns/takeover/journal.ts';
import { markOf } from '../../main/system/process-mark.ts';
import { Takeover, type Probes } from '../../main/system-dns/takeover.ts';
import { tempDir } from '../support/temp-dir.ts';
import { FakeOwner } from './support/fake-owner.ts';

const OURS = ['127.0.0.1:5399', '::1:5399'];

async function setUp(t: TestContext, owner = new FakeOwner('wlan0', 'eth0')) {
  const directory = await tempDir(t);
  const journal = new JournalFile(directory);
  const guardians = { started: 0, dismissed: 0, fail: '' };
  let events: GuardianEvents | undefined;
  const startGuardian: StartGuardian = (_orders, given) => {
    if (guardians.fail !== '') return Promise.reject(new Error(guardians.fail));
    guardians.started++;
    events = given;
    const dismiss = (): Promise<void> => {
      guardians.dismissed++;
      return Promise.resolve();
    };
    return Promise.resolve({ pid: 1, dismiss });
  };
  const probes: Probes = { engine: () => Promise.resolve(true), stub: () => Promise.resolve(true) };
  const failAt = { step: '' };
  const takeover = new Takeover({
    ...{ journal, directory, owners: [owner], instance: 'aa', startGuardian },
    probes: { engine: (one) => probes.engine(one), stub: (one) => probes.stub(one) },
    servers: () => ['127.0.0.1', '::1'].map((address) => ({ address, port: 5399 })),
    onChange: () => undefined,
    onStep: (step) => {
      if (failAt.step !== '' && step.startsWith(failAt.step)) {
        failAt.step = '';
        throw new Error('no luck');
      }
    },
  });
  return { directory, owner, journal, guardians, probes, failAt, takeover, events: () => events };
}

test('on leads every link to us, off puts everything back', async (t) => {
  const { owner, takeover, journal, guardians } = await setUp(t);
  const state = await takeover.on();
  assert.equal(state.phase, 'on');
  assert.deepEqual(state.covered, ['wlan0', 'eth0']);
  assert.deepEqual(owner.dnsOf('eth0'), OURS);
  assert.equal(journal.read().kind, 'whole');
  assert.equal((await takeover.off()).outcome, 'restored');
  assert.deepEqual(owner.dnsOf('eth0'), ['10.0.0.1']);
  assert.equal(journal.read().kind, 'none');
  assert.deepEqual(guardians, { started: 1, dismissed: 1, fail: '' });
  assert.equal(takeover.state.phase, 'off');
});

test('both verbs are harmless when repeated', async (t) => {
  const { owner, takeover } = await setUp(t);
  await takeover.on();
  const { writes } = owner;
  await takeover.on();
  assert.equal(owner.writes, writes);
  await takeover.off();
  assert.equal((await takeover.off()).outcome, 'nothing');
});

for (const step of [
  'owner',
  'capture',
  'journal',
  'guardian',
  'apply',
  'apply eth0',
  'read back',
  'probe',
]) {
  test(`a failure at "${step}" puts everything back and names the step`, async (t) => {
    const { owner, takeover, journal, failAt, guardians } = await setUp(t);
    failAt.step = step;
    await assert.rejects(takeover.on(), (error: AppError) => {
      assert.equal(error.code, 'TAKEOVER_FAILED');
      assert.match(error.message, new RegExp(`^${step.split(' ', 1)[0] ?? ''}.*no luck`));
      return true;
    });
    assert.deepEqual(owner.dnsOf('wlan0'), ['10.0.0.1']);
    assert.deepEqual(owner.dnsOf('eth0'), ['10.0.0.1']);
    assert.equal(journal.read().kind, 'none');
    assert.equal(guardians.started, guardians.dismissed);
    assert.equal(takeover.state.phase, 'off');
    assert.equal((await takeover.on()).phase, 'on');
    await takeover.off();
  });
}

test('a probe that does not come through is a failure, for either family', async (t) => {
  for (const family of [4, 6]) {
    const { owner, takeover, probes } = await setUp(t);
    probes.stub = (asked) => Promise.resolve(asked !== family);
    await assert.rejects(takeover.on(), new RegExp(`probe: .*IPv${String(family)}`));
    assert.deepEqual(owner.dnsOf('wlan0'), ['10.0.0.1']);
  }
});

test('without a guardian nothing is changed', async (t) => {
  const { owner, takeover, guardians } = await setUp(t);
  guardians.fail = 'cannot start';
  await assert.rejects(takeover.on(), /guardian: cannot start/);
  assert.equal(owner.writes, 0);
});

test('what a dead instance left, of this boot or another, is given back first', async (t) => {
  for (const holder of [
    { ...markOf(process.pid), start: '1' },
    { ...markOf(process.pid), bootId: 'another' },
  ]) {
    const { owner, takeover, journal } = await setUp(t);
    const items = await owner.capture();
    const servers = [
      { address: '127.0.0.1', port: 5399 },
      { address: '::1', port: 5399 },
    ];
    assert.ok(journal.begin({ owner: owner.name, servers, items, holder }));
    for (const item of items) await owner.write(item, owner.target(item, servers) ?? {});
    await takeover.on();
    await takeover.off();
    assert.deepEqual(owner.dnsOf('wlan0'), ['10.0.0.1']);
  }
});

test('an instance that lives keeps the resolver', async (t) => {
  const first = await setUp(t);
  await first.takeover.on();
  const second = new Takeover({
    ...{ journal: first.journal, directory: first.directory, owners: [first.owner] },
    ...{ instance: 'bb', probes: first.probes, onChange: () => undefined },
    servers: () => [{ address: '127.0.0.2', port: 53 }],
    startGuardian: () => assert.fail('no guardian is to be started'),
  });
  await assert.rejects(second.on(), { code: 'TAKEOVER_HELD' });
  assert.deepEqual(first.owner.dnsOf('wlan0'), OURS);
  await first.takeover.off();
});

test('a state that leads to us without a journal is not taken for the user’s', async (t) => {
  const owner = new FakeOwner();
  owner.put('wlan0', ['127.0.0.1:5399']);
  const { takeover } = await setUp(t, owner);
  await takeover.on();
  assert.deepEqual(owner.released, ['wlan0']);
  await takeover.off();
  assert.deepEqual(owner.dnsOf('wlan0'), ['10.0.0.1']);
});

test('links that appear are covered, and given back as they came', async (t) => {
  const { owner, takeover } = await setUp(t);
  await takeover.on();
  owner.put('usb0', ['10.5.0.1']);
  await takeover.cover();
  assert.deepEqual(owner.dnsOf('usb0'), OURS);
  assert.deepEqual(takeover.state.covered, ['wlan0', 'eth0', 'usb0']);
  await takeover.off();
  assert.deepEqual(owner.dnsOf('usb0'), ['10.5.0.1']);
});

test('servers that somebody set meanwhile are covered, and are what comes back', async (t) => {
  const { owner, takeover } = await setUp(t);
  await takeover.on();
  owner.put('wlan0', ['10.7.0.1']);
  await takeover.cover();
  assert.deepEqual(owner.dnsOf('wlan0'), OURS);
  await takeover.off();
  assert.deepEqual(owner.dnsOf('wlan0'), ['10.7.0.1']);
});

test('while the engine is silent nothing is covered again', async (t) => {
  const { owner, takeover, probes } = await setUp(t);
  await takeover.on();
  probes.engine = () => Promise.resolve(false);
  owner.put('wlan0', ['10.0.0.1']); // the guardian gives back
  await takeover.cover();
  assert.deepEqual(owner.dnsOf('wlan0'), ['10.0.0.1']);
  assert.equal(takeover.state.phase, 'degraded');
  assert.match(takeover.state.reason, /engine does not answer/);
  probes.engine = () => Promise.resolve(true);
  await takeover.cover();
  assert.deepEqual([takeover.state.phase, owner.dnsOf('wlan0')], ['on', OURS]);
  await takeover.off();
});

test('who sets servers again and again wins, and the state says so', async (t) => {
  const { owner, takeover } = await setUp(t);
  await takeover.on();
  for (let time = 0; time < 8; time++) {
    owner.put('wlan0', ['10.7.0.1']);
    await takeover.cover();
  }
  assert.deepEqual(owner.dnsOf('wlan0'), ['10.7.0.1']);
  assert.equal(takeover.state.phase, 'degraded');
  assert.deepEqual(takeover.state.uncovered, [
    { label: 'wlan0', reason: 'others set its servers' },
  ]);
  await takeover.off();
});

test('tunnels are left alone and do not make it less than on', async (t) => {
  const { owner, takeover } = await setUp(t);
  owner.put('tun0', ['10.8.0.1'], { skip: 'a tunnel', routingDomains: ['corp.example'] });
  assert.equal((await takeover.on()).phase, 'on');
  assert.deepEqual(owner.dnsOf('tun0'), ['10.8.0.1']);
  assert.deepEqual(takeover.state.uncovered, [{ label: 'tun0', reason: 'a tunnel' }]);
  await takeover.off();
});

test('offline it is asked for but not in force, until a link appears', async (t) => {
  const { owner, takeover, probes } = await setUp(t, new FakeOwner());
  probes.stub = () => Promise.resolve(false);
  assert.equal((await takeover.on()).phase, 'degraded');
  owner.put('wlan0', ['10.0.0.1']);
  await takeover.cover();
  assert.equal(takeover.state.phase, 'on');
  await takeover.off();
});

test('an owner that asks port 53 only cannot be led to another port', async (t) => {
  const { owner, takeover } = await setUp(t);
  owner.takesPort = false;
  await assert.rejects(takeover.on(), /port 53/);
  assert.equal(owner.writes, 0);
});

test('a guardian that dies is replaced; when it cannot be, the resolver is given back', async (t) => {
  const { owner, takeover, guardians, events } = await setUp(t);
  await takeover.on();
  events()?.onDied('SIGKILL');
  await takeover.cover();
  assert.equal(guardians.started, 2);
  guardians.fail = 'out of memory';
  events()?.onDied('SIGKILL');
  await takeover.cover();
  assert.deepEqual(owner.dnsOf('wlan0'), ['10.0.0.1']);
  assert.match(takeover.state.reason, /guardian ended \(SIGKILL\) and cannot start: out of memory/);
});

test('after the guardian gave back, what was written meanwhile is undone from memory', async (t) => {
  const { owner, takeover, journal, events } = await setUp(t);
  await takeover.on();
  journal.remove();
  const report = { outcome: 'restored', detail: '', items: [], atMs: 0 } as const;
  events()?.onRestored({ ...report, verdict: 'engine-silent' });
  await takeover.cover();
  assert.deepEqual(owner.dnsOf('wlan0'), ['10.0.0.1']);
  assert.equal(takeover.state.phase, 'degraded');
  assert.match(takeover.state.reason, /engine did not answer/);
});

test('an owner that fails while giving back keeps the journal, and the next try succeeds', async (t) => {
  const { owner, takeover, directory } = await setUp(t);
  await takeover.on();
  owner.onCall = (operation) => {
    if (operation === 'write') throw new Error('busy');
  };
  const report = await takeover.off();
  assert.equal(report.outcome, 'partly');
  assert.match(report.detail, /wlan0: busy/);
  assert.equal(existsSync(join(directory, 'takeover.journal')), true);
  owner.onCall = () => undefined;
  assert.equal((await takeover.off()).outcome, 'restored');
  assert.deepEqual(owner.dnsOf('wlan0'), ['10.0.0.1']);
});
