/**
 * Who gives back what (main/system-dns/takeover/restore.ts): a guardian that comes late leaves the takeover of
 * the next instance alone, and one whose journal has gone knows what to give back.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { journalOrders, ORDERS_VARIABLE } from '../../main/system-dns/guardian/guardian-orders.ts';
import { JournalFile, type Journal } from '../../main/system-dns/takeover/journal.ts';
import type { OwnerItem, ResolverOwner } from '../../main/system-dns/owners/owner.ts';
import { markOf } from '../../main/system/process-mark.ts';
import { restore } from '../../main/system-dns/takeover/restore.ts';
import { tempDir } from '../support/temp-dir.ts';

const SERVERS = [{ address: '127.0.0.1', port: 5399 }];

function itemWith(dns: readonly string[]): OwnerItem {
  return {
    ...{ key: '2', label: 'wlan0', skip: '', servers: [...dns], routingDomains: [] },
    properties: { dns: [...dns] },
  };
}

function nothing(): void {
  // Nothing happens while it is looked at.
}

/** An owner with one link whose servers are a variable. */
function fakeOwner() {
  const state = { dns: ['10.0.0.1'], writes: 0, onCapture: nothing };
  const owner = {
    name: 'systemd-resolved',
    detect: () =>
      Promise.resolve({ isPresent: true, isInCharge: true, takesPort: true, detail: '' }),
    capture: () => {
      const items = [itemWith(state.dns)];
      state.onCapture();
      return Promise.resolve(items);
    },
    target: () => ({ dns: ['127.0.0.1:5399'] }),
    write: (_item: OwnerItem, properties: { dns: string[] }) => {
      state.dns = properties.dns;
      state.writes++;
      return Promise.resolve();
    },
    release: () => Promise.resolve(),
    settle: () => Promise.resolve(),
  } as unknown as ResolverOwner;
  return { state, owner };
}

async function takenOver(t: TestContext) {
  const directory = await tempDir(t);
  const journal = new JournalFile(directory);
  const { state, owner } = fakeOwner();
  const begin = (): Journal => {
    const begun = journal.begin({
      ...{ owner: 'systemd-resolved', servers: SERVERS, items: [itemWith(state.dns)] },
      holder: markOf(process.pid),
    });
    assert.ok(begun);
    state.dns = ['127.0.0.1:5399'];
    return begun;
  };
  return { directory, journal, state, owner, begin };
}

test('a journal of the next instance is left alone, by content and by id', async (t) => {
  const { journal, state, owner, begin } = await takenOver(t);
  const old = begin();
  state.dns = ['10.0.0.1'];
  journal.remove(old.id);
  const next = begin();
  for (const own of [{ known: old }, { id: old.id }]) {
    const report = await restore({ journal, owners: [owner], ...own });
    assert.deepEqual([report.outcome, state.writes], ['nothing', 0]);
    assert.deepEqual(journal.read(), { kind: 'whole', journal: next });
    assert.deepEqual(state.dns, ['127.0.0.1:5399']);
  }
});

test('one that stood still between looking and writing does not write', async (t) => {
  const { journal, state, owner, begin } = await takenOver(t);
  const old = begin();
  state.onCapture = () => {
    state.onCapture = nothing;
    state.dns = ['10.0.0.1'];
    journal.remove(old.id);
    begin();
  };
  await restore({ journal, owners: [owner], known: old });
  assert.deepEqual([state.dns, state.writes], [['127.0.0.1:5399'], 0]);
  assert.equal(journal.read().kind, 'whole', 'the journal of the next one stays');
});

test('with the folder gone, the takeover that is in memory is given back', async (t) => {
  const { directory, journal, state, owner, begin } = await takenOver(t);
  const old = begin();
  rmSync(directory, { recursive: true });
  const report = await restore({ journal, owners: [owner], known: old });
  assert.deepEqual([report.outcome, state.dns], ['restored', ['10.0.0.1']]);
  assert.deepEqual(
    await restore({ journal, owners: [owner], known: old }).then(() => state.writes),
    1,
  );
});

test('both copies damaged: the takeover that is in memory decides', async (t) => {
  const { directory, journal, state, owner, begin } = await takenOver(t);
  const old = begin();
  for (const name of ['takeover.journal', 'takeover.copy'])
    writeFileSync(join(directory, name), 'x');
  const report = await restore({ journal, owners: [owner], known: old });
  assert.deepEqual([report.outcome, state.dns], ['restored', ['10.0.0.1']]);
  assert.deepEqual(journal.read(), { kind: 'none' });
});

test('the guardian process acts on its own takeover only', async (t) => {
  const { directory, journal, begin } = await takenOver(t);
  const old = begin();
  journal.remove(old.id);
  const next = begin();
  const orders = { appPid: 1, directory, servers: SERVERS, instance: 'x', ...journalOrders(old) };
  const entry = new URL('../../main/system-dns/guardian/guardian-process.ts', import.meta.url)
    .pathname;
  const child = spawn(process.execPath, [entry], {
    env: {
      PATH: process.env['PATH'],
      [ORDERS_VARIABLE]: JSON.stringify(orders),
      SLUICE_GUARDIAN_VERDICT: 'app-ended',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  await once(child, 'close');
  assert.match(text, /^restored .*another instance has taken the resolver over/);
  assert.deepEqual(new JournalFile(directory).read(), { kind: 'whole', journal: next });
  assert.equal(existsSync(join(directory, 'last-restore.json')), false, 'nothing to tell');
});

test('the orders hold the journal, unless it is very long', () => {
  const journal = {
    ...{ id: 'a', writtenAtMs: 1, owner: 'systemd-resolved', servers: SERVERS },
    ...{ items: [itemWith(['10.0.0.1'])], holder: markOf(process.pid) },
  } as Journal;
  assert.deepEqual(journalOrders(journal), { journalId: 'a', journal });
  const items = Array.from({ length: 1_000 }, () => itemWith(['10.0.0.1']));
  assert.deepEqual(journalOrders({ ...journal, items }), { journalId: 'a', journal: null });
});
