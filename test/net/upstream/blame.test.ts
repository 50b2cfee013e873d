/**
 * What a failure is laid to: the question, then its name, then the server, and last the network. A
 * resolver that still tries to reach a dead zone must not cost the other names anything.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../../main/contract/limits.ts';
import { systemClock } from '../../../main/net/clock.ts';
import { loadUdpAddon } from '../../../main/net/native/native-udp-addon.ts';
import { NativeUdpClient } from '../../../main/net/transport/native-udp-client.ts';
import { makePlan, STRATEGIES } from '../../../main/net/upstream/plan.ts';
import type { PlanSettings } from '../../../main/net/upstream/plan.ts';
import { dgramClient } from '../../../main/net/transport/udp-client.ts';
import type { UdpClient, UdpClientUser } from '../../../main/net/transport/udp-client.ts';
import { readAnswer } from '../../support/dns-client.ts';
import {
  addressOfName,
  answerByName,
  answerCode,
  byTransport,
  delayed,
  FakeUpstream,
  inTurn,
  silent,
} from '../../support/fake-upstream.ts';
import type { Behaviour } from '../../support/fake-upstream.ts';
import { ask, openPool, TestCounters } from '../../support/net-fakes.ts';
import type { Outcome } from '../../support/net-fakes.ts';

const SERVFAIL = 2;
type Context = Parameters<typeof FakeUpstream.open>[0];

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Silent for every name with a label "dead", or "lame0" and so on; else `inner`. */
function withDeadZones(inner: Behaviour): Behaviour {
  return (query, upstream) =>
    /(^|\.)(dead|lame\d+)\./i.test(query.name) ? [] : inner(query, upstream);
}

/** Loses a share of what comes and of what goes; the same ones in every run. */
function lossy(share: number, inner: Behaviour): Behaviour {
  let seed = 7;
  const isLost = (): boolean => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    return seed / 2 ** 32 < share;
  };
  return (query, upstream) => {
    const isUnheard = isLost();
    return isLost() || isUnheard ? [] : inner(query, upstream);
  };
}

function openPlan(t: Context, settings: PlanSettings, options = {}) {
  return openPool(t, [], { servers: makePlan(settings, []), ...options });
}

/** Names of a page, each in a zone of its own. */
const page = (letter: string, count = 30): string[] =>
  Array.from({ length: count }, (_, index) => `www.${letter}${String(index)}.example`);

function addressIn({ reply, failure }: Outcome): string {
  assert.notEqual(reply, null, `a reply instead of ${String(failure)}`);
  const [answer] = readAnswer(reply as Buffer).answers ?? [];
  return answer?.type === 'A' ? answer.data : 'no address';
}

/** Asks for all names at once; each gets its address. @returns how long the slowest took */
async function askAll(pool: Parameters<typeof ask>[0], names: readonly string[]): Promise<number> {
  const outcomes = await Promise.all(names.map((name) => ask(pool, name)));
  outcomes.forEach((outcome, index) => {
    const name = names[index] ?? '';
    assert.equal(addressIn(outcome), addressOfName(name), name);
  });
  return Math.max(...outcomes.map(({ tookMs }) => tookMs));
}

for (const roundTripMs of [30, 200]) {
  for (const [count, strategy] of [
    [1, 'in-order'],
    ...STRATEGIES.map((each) => [3, each] as const),
  ] as const) {
    test(`dead names, ${String(count)} servers at ${String(roundTripMs)} ms, ${strategy}: nothing for the others`, async (t) => {
      const servers = await Promise.all(
        Array.from({ length: count }, () =>
          FakeUpstream.open(t, withDeadZones(delayed(roundTripMs, answerByName))),
        ),
      );
      const upstreams = servers.map(({ endpoint }) => endpoint);
      const { pool } = openPlan(t, { upstreams, strategy, timeoutMs: 1_500 });
      await askAll(pool, page('a'));
      const dead = await Promise.all(
        [
          ...['www.dead.example', 'www.dead.example'],
          ...Array.from({ length: 5 }, (_, at) => `www.lame${String(at)}.example`),
        ].map((name) => ask(pool, name)),
      );
      for (const { failure } of dead) assert.equal(failure, 'timeout');
      await askAll(pool, page('b'));
      await pause(300);
      await askAll(pool, page('c'));
    });
  }
}

test('a dead zone that is asked about all the time demotes nobody and delays nobody', async (t) => {
  const servers = [
    await FakeUpstream.open(t, withDeadZones(delayed(10, answerByName))),
    await FakeUpstream.open(t, withDeadZones(delayed(10, answerByName))),
  ];
  const upstreams = servers.map(({ endpoint }) => endpoint);
  const { pool } = openPlan(t, { upstreams, timeoutMs: 500 });
  const dead: Promise<Outcome>[] = [];
  const tooks: number[] = [];
  for (let round = 0; round < 20; round++) {
    for (const host of ['a', 'b', 'c']) {
      dead.push(ask(pool, `${host}${String(round)}.telemetry.dead.example`));
    }
    const outcome = await ask(pool, `www.n${String(round)}.example`);
    assert.equal(addressIn(outcome), addressOfName(`www.n${String(round)}.example`));
    tooks.push(outcome.tookMs);
    await pause(100);
  }
  tooks.sort((left, right) => left - right);
  assert.ok((tooks[10] ?? NaN) < 120, tooks.join());
  for (const { failure } of await Promise.all(dead)) assert.equal(failure, 'timeout');
  assert.notEqual(pool.states[0]?.state, 'down');
});

test('a resolver that is silent for what fails stays first; the other one says SERVFAIL', async (t) => {
  const first = await FakeUpstream.open(t, withDeadZones(answerByName));
  const second = await FakeUpstream.open(t, answerCode(SERVFAIL));
  const { pool } = openPool(t, [first, second], { timeoutMs: 600 });
  for (const name of ['dead.example', 'lame1.example', 'lame2.example', 'lame3.example']) {
    const failed = await ask(pool, name);
    assert.equal(readAnswer(failed.reply as Buffer).rcode, 'SERVFAIL');
    assert.equal((await ask(pool, `www.${name.replace('.', 'x.')}`)).upstream, 0);
  }
});

for (const count of [1, 3]) {
  test(`a satellite (600 ms) and ${String(count)} servers: the first page at once comes whole`, async (t) => {
    const servers = await Promise.all(
      Array.from({ length: count }, () =>
        FakeUpstream.open(t, withDeadZones(delayed(600, answerByName))),
      ),
    );
    const { pool } = openPool(t, servers, { timeoutMs: 2_500 });
    const dead = ask(pool, 'www.dead.example');
    await askAll(pool, page('a'));
    await askAll(pool, page('b'));
    for (const { state } of pool.states) assert.notEqual(state, 'down');
    assert.equal((await dead).reply, null);
  });
}

test('three of ten packets are lost each way: all names come in the end', async (t) => {
  const server = await FakeUpstream.open(t, lossy(0.3, delayed(20, answerByName)));
  const { pool } = openPool(t, [server]);
  const outcomes = await Promise.all(page('a', 60).map((name) => ask(pool, name)));
  const answered = outcomes.filter(({ reply }) => reply !== null).length;
  // Half of the exchanges are lost; seven fail in a row once in 128.
  assert.ok(answered >= 54, `${String(answered)} of 60`);
  for (const { failure } of outcomes) assert.ok(failure === null || failure === 'timeout');
});

test('a suffix of its own: the server of many names below one suffix can go down', async (t) => {
  const dead = await FakeUpstream.open(t, silent);
  const good = await FakeUpstream.open(t, answerByName);
  const others = await FakeUpstream.open(t, answerByName);
  const { pool } = openPlan(t, {
    upstreams: [others.endpoint],
    suffixes: { 'corp.example': [dead.endpoint, good.endpoint] },
  });
  for (let index = 0; pool.states[1]?.state !== 'down' && index < 100; index++) {
    await ask(pool, `host${String(index)}.corp.example`);
    await pause(50);
  }
  assert.equal(pool.states[1]?.state, 'down');
  assert.equal((await ask(pool, 'www.corp.example')).upstream, 2);
});

test('a dead first server costs one hedge delay, also when one name is all that is asked', async (t) => {
  const dead = await FakeUpstream.open(t, silent);
  const good = await FakeUpstream.open(t, answerByName);
  const { pool } = openPool(t, [dead, good]);
  const tooks: number[] = [];
  for (let index = 0; index < 20; index++) tooks.push((await ask(pool, 'a.example')).tookMs);
  assert.ok(tooks.filter((ms) => ms > 120).length <= 3, tooks.join());
  dead.behave(answerByName);
  const outcome = await ask(pool, 'a.example');
  assert.equal(addressIn(outcome), addressOfName('a.example'));
});

test('a late reply is a sign of life: the server keeps its place', async (t) => {
  const slow = await FakeUpstream.open(t, inTurn(delayed(400, answerByName), answerByName));
  const other = await FakeUpstream.open(t, answerByName);
  const { pool } = openPool(t, [slow, other]);
  assert.equal((await ask(pool, 'first.example')).upstream, 1);
  while (pool.states[0]?.answered === 0) await pause(10);
  const { upstream } = await ask(pool, 'second.example');
  assert.ok(upstream === 0 || pool.states[0]?.state === 'slow', pool.states[0]?.state);
});

// -- offline -------------------------------------------------------------------------------------

test('offline by silence: questions still go out, are answered soon, and the first reply ends it', async (t) => {
  const servers = [await FakeUpstream.open(t, silent), await FakeUpstream.open(t, silent)];
  let aheadUs = 0;
  const clock = { ...systemClock, nowUs: () => systemClock.nowUs() + aheadUs };
  const { pool } = openPool(t, servers, { clock, timeoutMs: 600 });
  const first = await Promise.all(page('a', 8).map((name) => ask(pool, name)));
  for (const { failure } of first) assert.equal(failure, 'timeout', 'too early to know');
  aheadUs = 3_000_000;
  assert.equal((await ask(pool, 'www.more.example')).failure, 'offline');
  const asked = servers[0]?.queries.length ?? 0;
  // More at once than are sent: the others are refused, and none of them is remembered.
  const many = await Promise.all(
    page('b', LIMITS.upstreamOfflineMax + 10).map((name) => ask(pool, name)),
  );
  for (const { failure } of many) assert.equal(failure, 'offline');
  assert.equal((servers[0]?.queries.length ?? 0) - asked, LIMITS.upstreamOfflineMax);
  for (const server of servers) server.behave(answerByName);
  assert.equal(addressIn(await ask(pool, 'www.back.example')), addressOfName('www.back.example'));
  await askAll(pool, page('c'));
});

test('offline by silence at 600 ms: the answer that comes late ends it', async (t) => {
  const server = await FakeUpstream.open(t, silent);
  let aheadUs = 0;
  const clock = { ...systemClock, nowUs: () => systemClock.nowUs() + aheadUs };
  const { pool } = openPool(t, [server], { clock, timeoutMs: 600 });
  await Promise.all(page('a', 8).map((name) => ask(pool, name)));
  aheadUs = 3_000_000;
  server.behave(delayed(800, answerByName));
  const early = await ask(pool, 'www.more.example');
  assert.equal(early.failure, 'offline');
  assert.equal(addressIn(await early.late), addressOfName('www.more.example'));
  server.behave(answerByName);
  await askAll(pool, page('b'));
});

/** UDP sockets of a machine that cannot send: each breaks with this error, until it is mended. */
function cutOff(failure: 'network' | 'server', mended: UdpClient) {
  const state = { isCut: true, opened: 0 };
  const client: UdpClient = {
    open: (server, user: UdpClientUser) => {
      state.opened++;
      if (!state.isCut) return mended.open(server, user);
      setImmediate(() => user.broken(failure));
      return { send: () => true, close: () => undefined };
    },
    close: () => undefined,
  };
  return { state, client };
}

test('no route: offline at once and never remembered as that of a question; a route ends it', async (t) => {
  const { state, client } = cutOff('network', dgramClient);
  const servers = [
    await FakeUpstream.open(t, answerByName),
    await FakeUpstream.open(t, answerByName),
  ];
  const { pool } = openPool(t, servers, { udp: client });
  for (const name of page('a', 10)) {
    const opened = state.opened;
    assert.equal((await ask(pool, name)).failure, 'offline');
    assert.ok(state.opened > opened, 'it was tried');
  }
  state.isCut = false;
  await askAll(pool, page('b'));
});

test('a closed port is no sign of being offline', async (t) => {
  const closed = await FakeUpstream.open(t, silent, { udp: false });
  const { pool } = openPool(t, [closed]);
  for (const name of page('a', 8)) assert.equal((await ask(pool, name)).failure, 'refused');
});

for (const kind of ['dgram', 'native'] as const) {
  test(`a real ${kind} socket tells what the system cannot send`, async (t) => {
    const { addon } = loadUdpAddon();
    if (kind === 'native' && addon === null) {
      t.skip('the add-on is not built');
      return;
    }
    const counters = new TestCounters();
    const udp =
      addon !== null && kind === 'native' ? new NativeUdpClient(addon, counters) : dgramClient;
    t.after(() => udp.close());
    // To everybody, which needs a right that is not asked for: EACCES.
    const { pool } = openPool(t, ['255.255.255.255:53'], { udp });
    assert.equal((await ask(pool, 'a.example')).failure, 'offline');
    const good = await FakeUpstream.open(t, answerByName);
    const { pool: both } = openPool(t, ['255.255.255.255:53', good.endpoint], { udp });
    assert.equal((await ask(both, 'a.example')).upstream, 1);
  });
}

test('TCP that is silent says nothing about a server that answers over UDP', async (t) => {
  const server = await FakeUpstream.open(t, (query, upstream) =>
    /^big/i.test(query.name)
      ? byTransport(truncated, silent)(query, upstream)
      : answerByName(query, upstream),
  );
  const { pool } = openPool(t, [server], { timeoutMs: 1_000 });
  const big = page('x', 6).map((name) => ask(pool, `big.${name}`));
  for (const { failure } of await Promise.all(big)) assert.equal(failure, 'timeout');
  await askAll(pool, page('a'));
  assert.notEqual(pool.states[0]?.state, 'down');
});

const truncated: Behaviour = (query) => {
  const bytes = Buffer.from(query.bytes);
  bytes[2] = 0x83;
  bytes[3] = 0x80;
  return [{ bytes }];
};
