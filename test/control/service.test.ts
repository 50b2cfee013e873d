/**
 * The service over stand-ins: every method, what it tells the parts, and its errors.
 */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { METHODS } from '../../main/contract/methods/methods.ts';
import type { LiveUpdate, MethodName } from '../../main/contract/methods/methods.ts';
import { RuleSet, type RuleBuffers } from '../../main/engine/filter/rule-set.ts';
import { compileRules } from '../../main/lists/compile/rules.ts';
import { FakeClock, fakeService } from './fakes.ts';

async function setUp(t: TestContext) {
  const clock = new FakeClock();
  const folder = await mkdtemp(join(tmpdir(), 'sluice-test-'));
  const made = await fakeService(folder, clock);
  t.after(async () => {
    await made.service.close();
    await made.protection.close();
    await rm(folder, { recursive: true });
  });
  return { ...made, clock };
}

test('every method answers as its schema says', async (t) => {
  const { service } = await setUp(t);
  const send = async (text: string) => (await service.uploads.append(null, Buffer.from(text))).id;
  const hosts = await send('0.0.0.0 bad.example\n');
  const settings = 'lists: [{ name: New, url: "https://n.example/" }]\n';
  const backup = await send(JSON.stringify({ kind: 'sluice-backup', version: 1, settings }));
  const inputs: Partial<Record<MethodName, unknown>> = {
    check: { name: 'listed.example' },
    'cache.inspect': { name: 'kept.example' },
    'rules.add': { rule: 'ads.example' },
    'rules.remove': { rule: 'ads.example' },
    'lists.add': { name: 'New', url: 'https://n.example/' },
    'lists.enable': { name: 'New', enabled: false },
    'lists.remove': { name: 'New' },
    'lists.change': { name: 'New', match: 'exact' },
    'lists.accept': { name: 'New' },
    'lists.rollback': { name: 'New' },
    'catalogue.add': { id: 'urlhaus' },
    'import.preview': { upload: hosts },
    'import.apply': { upload: hosts, only: ['rules'] },
    'settings.import': { upload: backup },
    pause: { minutes: 5 },
    portal: { open: true },
    right: { id: 'low-ports', change: 'install' },
    'policies.put': { policy: { name: 'p', action: 'block', domains: ['p.example'] } },
    'policies.remove': { name: 'p' },
    'clients.put': { client: { name: 'c', ids: ['10.0.0.1'] } },
    'clients.remove': { name: 'c' },
    'groups.put': { group: { name: 'g' } },
    'groups.remove': { name: 'g' },
    'services.set': { services: ['tiktok'] },
    'records.put': { record: { name: 'r.example', type: 'A', value: '10.0.0.1' } },
    'records.remove': { name: 'r.example' },
  };
  const order = Object.keys(METHODS).filter((name) => name !== 'lists.remove') as MethodName[];
  for (const name of [...order, 'lists.remove'] as MethodName[]) {
    const value = await service.call(name, (inputs[name] ?? {}) as never);
    assert.doesNotThrow(() => METHODS[name].output.parse(value), name);
  }
});

test('a rule takes effect in the next policy, in the file, and in check', async (t) => {
  const { service, plane, file } = await setUp(t);
  const { rules } = await service.call('rules.add', { rule: '@@listed.example' });
  assert.deepEqual(rules, ['@@||listed.example^']);
  const policy = plane.policies.at(-1);
  assert.equal(RuleSet.open(policy?.rules as RuleBuffers).nameCount, 1);
  assert.equal(policy?.version, 2);
  assert.match(await readFile(file, 'utf8'), /@@\|\|listed\.example\^/);
  const found = await service.call('check', { name: 'A.Listed.Example.' });
  assert.deepEqual([found.name, found.decision], ['a.listed.example', 'allowed']);
  const [won, lost] = found.matches;
  assert.deepEqual([won?.list, won?.rule, won?.won], ['rules', '@@||listed.example^', true]);
  assert.deepEqual([lost?.action, lost?.won], ['block', false]);
});

test('pause and resume reach the data plane at once', async (t) => {
  const { service, plane, clock } = await setUp(t);
  await service.call('pause', { minutes: 1 });
  assert.equal(plane.policies.at(-1)?.filtering, false);
  clock.advance(60_000);
  assert.equal(plane.policies.at(-1)?.filtering, true);
  assert.equal((await service.call('status', {})).protection.state, 'on');
});

test('a new table becomes a new policy, and its list names reach the log', async (t) => {
  const { service, plane, lists, log } = await setUp(t);
  lists.table = compileRules(['||other.example^']);
  service.tableChanged();
  assert.equal(plane.policies.at(-1)?.lists, lists.table);
  assert.deepEqual(log.names.at(-1)?.lists, lists.listNames);
});

test('settings read again go to the parts that they concern, and only there', async (t) => {
  const { service, plane, lists, log, file, bootstraps } = await setUp(t);
  await service.reload();
  assert.deepEqual([plane.upstreams, lists.sources, log.settings, bootstraps], [[], [], [], []]);
  await writeFile(
    file,
    'dns: { upstreams: ["9.9.9.10"], bootstrap: ["9.9.9.11"], threads: 2 }\n' +
      'lists: []\nlog: { mode: off }\nblocking: { ttlSeconds: 77 }\n',
  );
  await service.reload();
  assert.deepEqual(plane.upstreams, ['9.9.9.10']);
  assert.deepEqual(bootstraps, [['9.9.9.11']]);
  assert.deepEqual(lists.sources, []);
  assert.equal(log.settings.length, 1);
  const policy = plane.policies.at(-1);
  assert.deepEqual([policy?.blockingTtlSeconds, policy?.logMode], [77, 'off']);
  const { notices } = await service.call('status', {});
  assert.deepEqual(notices, ['Changed and in use after a restart: dns.threads.']);
});

test('a mistake in the file is a problem until it is corrected', async (t) => {
  const { service, file, plane } = await setUp(t);
  const policies = plane.policies.length;
  await writeFile(file, 'dns: { threads: 99 }\n');
  await assert.rejects(service.reload(), { code: 'CONFIG_INVALID' });
  const { health, degradedReasons } = service.health();
  assert.equal(health, 'degraded');
  assert.match(degradedReasons[0] ?? '', /former settings stay in use: .*dns\.threads: 99/);
  assert.equal(plane.policies.length, policies);
  await writeFile(file, 'dns: { threads: 1 }\n');
  await service.reload();
  assert.equal(service.health().health, 'ok');
});

const FAILURES: [MethodName, unknown, string, RegExp][] = [
  ['pause', { minutes: -1 }, 'ARGUMENT_INVALID', /^minutes: -1 is not allowed, write a number/],
  ['pause', { minutes: 9e9 }, 'ARGUMENT_INVALID', /above 0 to 1440/],
  ['pause', { minute: 5 }, 'ARGUMENT_INVALID', /^minute: unknown key, .*"minutes"/],
  ['check', {}, 'ARGUMENT_INVALID', /^name: missing/],
  ['check', { name: 'a..b' }, 'ARGUMENT_INVALID', /a\.\.b/],
  ['check', { name: 'a.example', type: 'NOPE' }, 'ARGUMENT_INVALID', /NOPE/],
  ['check', [], 'ARGUMENT_INVALID', /^arguments: \[\] is not allowed/],
  ['rules.add', { rule: 'a b' }, 'RULE_INVALID', /a b/],
  ['rules.add', { rule: 5 }, 'ARGUMENT_INVALID', /^rule: 5 is not allowed, write a text/],
  ['rules.remove', { rule: 'no.example' }, 'RULE_UNKNOWN', /no\.example/],
  ['lists.add', { name: 'Starter', url: 'https://a.example/' }, 'LIST_EXISTS', /Starter/],
  ['lists.add', { name: 'x', url: 'gopher://a' }, 'ARGUMENT_INVALID', /^url: .*https:/],
  ['lists.add', { name: 'rules', url: 'https://a.example/' }, 'ARGUMENT_INVALID', /^name: /],
  ['lists.remove', { name: 'x' }, 'LIST_UNKNOWN', /"x"/],
  ['lists.enable', { name: 'x', enabled: true }, 'LIST_UNKNOWN', /"x"/],
  ['lists.refresh', { name: 'x' }, 'LIST_UNKNOWN', /"x"/],
  ['queries.search', { limit: 501 }, 'ARGUMENT_INVALID', /^limit: 501 .* 1 to 500/],
  ['queries.search', { text: 'slow' }, 'SEARCH_TIMEOUT', /slow/],
  ['statistics', { stepMinutes: 'x' }, 'ARGUMENT_INVALID', /^stepMinutes: /],
  ['nope' as MethodName, {}, 'METHOD_UNKNOWN', /"nope"/],
  ['toString' as MethodName, {}, 'METHOD_UNKNOWN', /"toString"/],
];

for (const [name, input, code, message] of FAILURES) {
  test(`${name} ${JSON.stringify(input)} fails with ${code}`, async (t) => {
    const { service } = await setUp(t);
    await assert.rejects(service.call(name, input as never), { code, message });
  });
}

test('live updates carry rows of the log and what changed', async (t) => {
  const { service, log, clock } = await setUp(t);
  const updates: LiveUpdate[] = [];
  const end = service.subscribe((update) => updates.push(update));
  clock.advance(0);
  await service.call('pause', {});
  service.rowsLogged([{ id: 1 } as never], 2);
  clock.advance(250);
  assert.deepEqual(
    updates.map(({ protection, rows, rowsLeftOut }) => [
      protection.state,
      rows.length,
      rowsLeftOut,
    ]),
    [
      ['on', 0, 0],
      ['off', 1, 2],
    ],
  );
  end();
  assert.deepEqual(log.live, [true, false]);
});

test('status shows every bounded queue, the doors included', async (t) => {
  const { service } = await setUp(t);
  service.addQueue(() => ({ name: 'door', capacity: 1, depth: 0, dropped: 0 }));
  const { queues } = await service.call('status', {});
  assert.deepEqual(
    queues.map(({ name, capacity }) => [name, capacity]),
    [
      ['log', 4_096],
      ['questions in flight', 8_192],
      ['TCP clients', 512],
      ['live subscribers', 32],
      ['door', 1],
    ],
  );
});

test('kept answers are told in words, and flushed by name or altogether', async (t) => {
  const { service, plane } = await setUp(t);
  plane.items = [
    {
      ...{ type: 1, qclass: 1, dnssecOk: false, checkingDisabled: false, rcode: 0, failure: 0 },
      ...{ ageSeconds: 10, leftSeconds: 50, hits: 3, bytes: 96, isStripped: false },
      records: [{ owner: 'kept.example', type: 1, ttl: 60, data: '192.0.2.1' }],
    },
    {
      ...{ type: 0, qclass: 1, dnssecOk: true, checkingDisabled: false, rcode: 3, failure: 0 },
      ...{ ageSeconds: 1, leftSeconds: -5, hits: 0, bytes: 80, isStripped: false, records: [] },
    },
  ];
  const { name, entries } = await service.call('cache.inspect', { name: 'Kept.Example.' });
  assert.equal(name, 'kept.example');
  assert.deepEqual(
    entries.map(({ typeName, kind, leftSeconds, thread, records }) => [
      ...[typeName, kind, leftSeconds, thread, records],
    ]),
    [
      ['A', 'answer', 50, 1, ['kept.example 60 A 192.0.2.1']],
      ['any', 'no-name', -5, 1, []],
    ],
  );
  await assert.rejects(service.call('cache.inspect', { name: 'a..b' }), {
    code: 'ARGUMENT_INVALID',
    message: 'not a domain name: "a..b"',
  });
  assert.deepEqual(await service.call('cache.flush', { name: 'A.example' }), { flushed: 2 });
  await service.call('cache.flush', { name: 'b.example', below: true });
  plane.counts = { ...plane.counts, cacheEntries: 9 };
  assert.deepEqual(await service.call('cache.flush', {}), { flushed: 9 });
  assert.deepEqual(plane.flushed, ['a.example', '*.b.example', undefined]);
  service.networkChanged();
  assert.equal(plane.resets, 1);
  assert.equal(plane.flushed.length, 3, 'the same network: answers stay');
});

test('check while paused: the matches, and what would happen otherwise', async (t) => {
  const { service } = await setUp(t);
  await service.call('pause', { minutes: 5 });
  const blocked = await service.call('check', { name: 'https://www.LISTED.example/path' });
  assert.deepEqual([blocked.name, blocked.decision], ['www.listed.example', 'allowed']);
  assert.match(blocked.why, /off or paused\. Otherwise: www\.listed\.example is blocked because/);
  assert.equal(blocked.matches.length, 1);
  const { why } = await service.call('check', { name: 'free.example' });
  assert.match(why, /would be allowed otherwise, too: .* no rule and no list names it/);
});

test('other upstreams: what the former ones answered is forgotten', async (t) => {
  const { service, plane, file } = await setUp(t);
  const text = await readFile(file, 'utf8');
  await service.reload();
  const before = plane.flushed.length;
  await writeFile(file, text.replace(/^( {2}upstreams: ).*/m, '$1["192.0.2.9"]'));
  assert.notEqual(await readFile(file, 'utf8'), text);
  await service.reload();
  assert.equal(plane.flushed.length, before + 1);
});
