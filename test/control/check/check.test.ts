/** `check`, and the rules that follow from it, over a service of stand-ins. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { CachedItem, CachedRecord } from '../../../main/engine/cache/cache-view.ts';
import { OUTCOME, REASON } from '../../../main/contract/outcome.ts';
import { writeCachedReply } from '../../../main/engine/explain/explain-message.ts';
import { writeQuestion } from '../../../main/engine/explain/explain.ts';
import { FakeClock, fakeService } from '../fakes.ts';

async function setUp(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-test-'));
  const clock = new FakeClock();
  const made = await fakeService(folder, clock);
  t.after(async () => {
    await made.service.close();
    await made.protection.close();
    await made.temporary.close();
    await rm(folder, { recursive: true });
  });
  return { ...made, clock };
}

function item(leftSeconds: number, ...records: CachedRecord[]): CachedItem {
  return {
    ...{ type: 1, qclass: 1, dnssecOk: false, checkingDisabled: false, rcode: 0, failure: 0 },
    ...{ ageSeconds: 1, leftSeconds, hits: 0, bytes: 100, isStripped: false, records },
  };
}

const alias = { owner: 'kept.example', type: 5, ttl: 60, data: 'x.listed.example' };
const address = { owner: 'x.listed.example', type: 1, ttl: 60, data: '192.0.2.9' };

test('allow for ten minutes: at once, told with what is left, and over by itself', async (t) => {
  const { service, plane, clock, store } = await setUp(t);
  const before = plane.policies.length;
  const added = await service.call('rules.add', { rule: '@@||listed.example^', minutes: 10 });
  assert.equal(plane.policies.length, before + 1);
  assert.deepEqual(added.rules, []);
  assert.deepEqual(
    added.temporary.map(({ rule }) => rule),
    ['@@||listed.example^'],
  );
  assert.deepEqual(store.config.rules, []);
  const found = await service.call('check', { name: 'www.listed.example' });
  assert.equal(found.decision, 'allowed');
  assert.match(found.why, /a temporary rule of yours, 10 minutes left, allows listed\.example/);
  assert.equal(found.endsAtMs, added.temporary[0]?.endsAtMs);
  assert.deepEqual(
    found.matches.map(({ source, won }) => [source, won]),
    [
      ['temporary', true],
      ['list', false],
    ],
  );
  clock.advance(10 * 60_000);
  assert.equal((await service.call('check', { name: 'www.listed.example' })).decision, 'blocked');
  assert.deepEqual((await service.call('rules.list', {})).temporary, []);
});

test('a temporary rule is with the data plane within 50 ms', async (t) => {
  const { service, plane } = await setUp(t);
  const tookMs: number[] = [];
  // The best of some: others may use the machine.
  for (let round = 0; round < 5; round++) {
    const before = plane.policies.length;
    const startMs = performance.now();
    await service.call('rules.add', { rule: `@@||n${String(round)}.example^`, minutes: 10 });
    tookMs.push(performance.now() - startMs);
    assert.equal(plane.policies.length, before + 1);
  }
  assert.ok(Math.min(...tookMs) < 50, `${tookMs.map((ms) => ms.toFixed(1)).join(', ')} ms`);
});

test('a temporary block beats a lasting allow rule; a lasting one takes its place', async (t) => {
  const { service } = await setUp(t);
  await service.call('rules.add', { rule: '@@||a.example^' });
  await service.call('rules.add', { rule: '||a.example^', minutes: 5 });
  assert.equal((await service.call('check', { name: 'a.example' })).decision, 'blocked');
  const after = await service.call('rules.add', { rule: '@@||a.example^' });
  assert.deepEqual(after.temporary, []);
  assert.equal((await service.call('check', { name: 'a.example' })).decision, 'allowed');
});

test('a rule for one client holds for that client only, and is told to others', async (t) => {
  const { service } = await setUp(t);
  const { rules } = await service.call('rules.add', { rule: '||a.example^', client: '192.0.2.7' });
  assert.deepEqual(rules, ['||a.example^$client=192.0.2.7']);
  const mine = await service.call('check', { name: 'a.example', client: '192.0.2.7' });
  assert.deepEqual([mine.decision, mine.client?.address], ['blocked', '192.0.2.7']);
  const other = await service.call('check', { name: 'a.example', client: '192.0.2.8' });
  assert.equal(other.decision, 'allowed');
  assert.match(other.why, /no rule and no list that applies here names it/);
  const [match] = other.matches;
  assert.deepEqual(
    [match?.applies, match?.condition, match?.whyNot],
    [false, 'only client 192.0.2.7', 'its condition does not hold'],
  );
  await assert.rejects(service.call('rules.add', { rule: '||b.example^', client: 'nobody' }), {
    code: 'ARGUMENT_INVALID',
  });
  await assert.rejects(service.call('check', { name: 'b.example', client: 'nobody' }), {
    code: 'ARGUMENT_INVALID',
  });
});

test('a kept answer: its state, where it leads, and that this is blocked', async (t) => {
  const { service, plane } = await setUp(t);
  plane.items = [item(40, alias, address)];
  const found = await service.call('check', { name: 'kept.example' });
  assert.equal(found.decision, 'blocked');
  assert.match(found.why, /leads to x\.listed\.example, which (a|the) list/);
  assert.deepEqual([found.cache.state, found.cache.leftSeconds], ['fresh', 40]);
  assert.deepEqual(
    found.chain.map(({ owner, target, decision }) => [owner, target, decision]),
    [['kept.example', 'x.listed.example', 'blocked']],
  );
  assert.equal(found.steps.find(({ decides }) => decides)?.step, 'cache');
  assert.deepEqual(plane.resolved, []);
  await service.call('rules.add', { rule: '@@||kept.example^' });
  const allowed = await service.call('check', { name: 'kept.example' });
  assert.equal(allowed.decision, 'allowed');
  assert.match(allowed.chain[0]?.why ?? '', /but you allow the name that was asked for/);
});

test('an expired answer, a negative one, a failure', async (t) => {
  const { service, plane } = await setUp(t);
  const states = async (kept: CachedItem) => {
    plane.items = [kept];
    const { cache, answer } = await service.call('check', { name: 'kept.example' });
    return [cache.state, answer.text];
  };
  const own = { ...address, owner: 'kept.example' };
  assert.deepEqual(await states(item(-9, own)), [
    'stale',
    'asked upstream; an expired answer stands in if that fails',
  ]);
  assert.deepEqual(await states(item(9, own)), [
    'fresh',
    'the kept answer, 9 s left: 192.0.2.9 for 60 s',
  ]);
  assert.deepEqual(await states({ ...item(9), type: 0, rcode: 3 }), [
    'negative',
    'the kept answer, 9 s left: NXDOMAIN',
  ]);
  assert.deepEqual(await states({ ...item(3), rcode: 2, failure: REASON.upstreamTimeout }), [
    'failure',
    'SERVFAIL, a failure that is remembered, 3 s left',
  ]);
});

test('resolve asks once, as the client, and tells what came', async (t) => {
  const { service, plane } = await setUp(t);
  plane.upstreams = ['9.9.9.9'];
  const query = writeQuestion('new.example', 'A');
  plane.answer = {
    answer: writeCachedReply(query, item(1, { ...address, owner: 'new.example' })),
    ...{ outcome: OUTCOME.forwarded, reason: REASON.none, upstream: 0, durationUs: 1_500 },
  };
  const input = { name: 'new.example', client: '192.0.2.7', resolve: true };
  const { resolved } = await service.call('check', input);
  assert.deepEqual(resolved, {
    ...{ outcome: 'forwarded', reason: 'none', rcode: 'NOERROR', upstream: '9.9.9.9' },
    ...{ records: ['new.example 60 A 192.0.2.9'], durationUs: 1_500 },
  });
  const [asked] = plane.resolved;
  assert.ok(asked);
  assert.deepEqual(asked.packet, query);
  assert.deepEqual([...asked.address].slice(10), [255, 255, 192, 0, 2, 7]);
  assert.equal(plane.resolved.length, 1);
});
