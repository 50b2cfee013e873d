/**
 * Whom the pool asks: strategies, suffixes, refusing servers, being offline, and cookies. Time servers
 * while the clock is wrong are in test/scenario/clock-1970.rpl.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decode, encode } from 'dns-packet';
import { LIMITS } from '../../../main/contract/limits.ts';
import { systemClock } from '../../../main/net/clock.ts';
import { parseUpstream } from '../../../main/net/upstream-address.ts';
import { makePlan } from '../../../main/net/upstream/plan.ts';
import type { PlanSettings, Strategy } from '../../../main/net/upstream/plan.ts';
import { certificates } from '../../support/certificates.ts';
import { readAnswer } from '../../support/dns-client.ts';
import {
  addressOfName,
  answerAddress,
  answerByName,
  answerCode,
  byTransport,
  delayed,
  FakeUpstream,
  replyTo,
  silent,
} from '../../support/fake-upstream.ts';
import type { Behaviour, FakeQuery } from '../../support/fake-upstream.ts';
import { FakeSecureUpstream } from '../../support/fake-secure-upstream.ts';
import { ask, openPool } from '../../support/net-fakes.ts';
import type { Outcome } from '../../support/net-fakes.ts';

const SERVFAIL = 2;
const REFUSED = 5;

function addressIn({ reply, failure }: Outcome): string {
  assert.notEqual(reply, null, `a reply instead of ${String(failure)}`);
  const [answer] = readAnswer(reply as Buffer).answers ?? [];
  return answer?.type === 'A' ? answer.data : 'no address';
}

function openPlan(
  t: { after(action: () => void): void },
  settings: PlanSettings,
  options: Parameters<typeof openPool>[2] = {},
) {
  return openPool(t, [], { servers: makePlan(settings, []), ...options });
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function threeServers(t: Parameters<typeof FakeUpstream.open>[0], delaysMs: number[]) {
  return Promise.all(delaysMs.map((ms) => FakeUpstream.open(t, delayed(ms, answerByName))));
}

function using(strategy: Strategy, servers: readonly FakeUpstream[]): PlanSettings {
  return { strategy, upstreams: servers.map(({ endpoint }) => endpoint) };
}

test('fastest: after every server was measured the fastest one gets the questions', async (t) => {
  const servers = await threeServers(t, [60, 5, 40]);
  const { pool } = openPlan(t, using('fastest', servers));
  // One exploration a second: two are enough to have measured all three.
  for (let index = 0; index < 25; index++) {
    await ask(pool, `w${String(index)}.example`);
    await pause(70);
  }
  const before = servers.map(({ queries }) => queries.length);
  for (let index = 0; index < 20; index++) {
    assert.equal((await ask(pool, `n${String(index)}.example`)).upstream, 1);
  }
  assert.equal((servers[1]?.queries.length ?? 0) - (before[1] ?? 0), 20);
});

test('race: two are asked at once and the faster one answers', async (t) => {
  const servers = await threeServers(t, [80, 5, 80]);
  const { pool } = openPlan(t, using('race', servers));
  const outcome = await ask(pool, 'a.example');
  assert.equal(outcome.upstream, 1);
  // The best of some: others may use the machine. A fresh pool knows no better than the first.
  const tookMs = [outcome.tookMs];
  for (let round = 0; round < 4; round++) {
    const fresh = openPlan(t, using('race', await threeServers(t, [80, 5, 80]))).pool;
    tookMs.push((await ask(fresh, 'a.example')).tookMs);
  }
  assert.ok(Math.min(...tookMs) < 60, `took ${tookMs.join(', ')} ms`);
  await pause(150);
  for (let index = 0; index < 10; index++) await ask(pool, `n${String(index)}.example`);
  const total = servers.reduce((sum, { queries }) => sum + queries.length, 0);
  assert.ok(total >= 22 && total <= 25, `${String(total)} queries for 11 questions`);
});

test('spread: questions go to all servers, about evenly, never to one that is down', async (t) => {
  const servers = await threeServers(t, [0, 0, 0]);
  const { pool } = openPlan(t, using('spread', servers));
  for (let index = 0; index < 300; index++) await ask(pool, `n${String(index)}.example`);
  // A share of 300 * 1/3 is outside 60..140 once in two million runs.
  for (const { queries } of servers) {
    assert.ok(queries.length > 60 && queries.length < 140, String(queries.length));
  }
  servers[0]?.behave(silent);
  let slow = 0;
  for (let index = 0; index < 100; index++) {
    const { tookMs } = await ask(pool, `m${String(index)}.example`);
    if (tookMs > 100) slow++;
  }
  // A third of them would be, were it asked as before.
  assert.ok(slow <= 12, `${String(slow)} slow answers`);
});

test('in-order: a dead server costs one hedge delay once, whatever follows', async (t) => {
  const dead = await FakeUpstream.open(t, silent);
  const good = await FakeUpstream.open(t, answerByName);
  const { pool } = openPlan(t, using('in-order', [dead, good]));
  const first = await ask(pool, 'a.example');
  assert.ok(first.tookMs >= 130 && first.tookMs < 600, `took ${String(first.tookMs)} ms`);
  const tooks: number[] = [];
  for (let index = 0; index < 60; index++) {
    tooks.push((await ask(pool, `n${String(index)}.example`)).tookMs);
    await pause(25);
  }
  assert.ok(tooks.filter((ms) => ms > 120).length <= 6, tooks.join());
});

for (const [name, rcode] of Object.entries({ SERVFAIL, REFUSED })) {
  test(`a server that always answers ${name} is asked no more than now and then`, async (t) => {
    const bad = await FakeUpstream.open(t, answerCode(rcode));
    const good = await FakeUpstream.open(t, answerByName);
    const { pool } = openPlan(t, using('in-order', [bad, good]));
    for (let index = 0; index < 50; index++) {
      assert.equal((await ask(pool, `n${String(index)}.example`)).upstream, 1);
    }
    // Three times in three forms, and a probe or two.
    assert.ok(bad.queries.length <= 11, `${String(bad.queries.length)} queries`);
    assert.equal(pool.states[0]?.state, 'refusing');
    bad.behave(answerByName);
    const untilMs = performance.now() + 6_000;
    let upstream = 1;
    while (upstream !== 0 && performance.now() < untilMs) {
      upstream = (await ask(pool, 'again.example')).upstream;
      await pause(50);
    }
    assert.equal(upstream, 0);
  });
}

test('one name that fails everywhere demotes nobody', async (t) => {
  const bogus: Behaviour = (query, upstream) =>
    (query.name.toLowerCase().startsWith('bogus') ? answerCode(SERVFAIL) : answerByName)(
      query,
      upstream,
    );
  const servers = [await FakeUpstream.open(t, bogus), await FakeUpstream.open(t, bogus)];
  const { pool } = openPlan(t, using('in-order', servers));
  for (let index = 0; index < 10; index++) await ask(pool, 'bogus.example');
  assert.equal((await ask(pool, 'good.example')).upstream, 0);
});

test('suffixes: the longest wins, other servers never see these names, no way round them', async (t) => {
  const [plain, corp, lab, router] = await Promise.all([
    FakeUpstream.open(t, answerAddress('192.0.2.1')),
    FakeUpstream.open(t, answerAddress('192.0.2.2')),
    FakeUpstream.open(t, answerAddress('192.0.2.3')),
    FakeUpstream.open(t, answerCode(REFUSED)),
  ]);
  const { pool } = openPlan(t, {
    upstreams: [plain.endpoint],
    suffixes: {
      'Corp.example.': [corp.endpoint],
      'lab.corp.example': [lab.endpoint],
      '168.192.in-addr.arpa': [router.endpoint],
    },
  });
  const address = async (name: string): Promise<string> => addressIn(await ask(pool, name));
  assert.equal(await address('www.example'), '192.0.2.1');
  assert.equal(await address('notcorp.example'), '192.0.2.1');
  assert.equal(await address('corp.example'), '192.0.2.2');
  assert.equal(await address('WWW.Corp.Example'), '192.0.2.2');
  assert.equal(await address('a.b.lab.corp.example'), '192.0.2.3');
  const reverse = await ask(pool, '1.1.168.192.in-addr.arpa');
  assert.equal(readAnswer(reverse.reply as Buffer).rcode, 'REFUSED');
  assert.equal(reverse.upstream, 3);
  assert.deepEqual([plain.queries.length, lab.queries.length], [2, 1]);
});

test('one slow recursion on the only server is waited for, not taken for being offline', async (t) => {
  const server = await FakeUpstream.open(t, delayed(1_500, answerByName));
  const { pool } = openPlan(t, using('in-order', [server]));
  for (const name of ['a.example', 'b.example', 'c.example']) {
    assert.equal(addressIn(await ask(pool, name)), addressOfName(name));
  }
});

test('a plan asks bootstrap servers for nothing when a default upstream is plain', () => {
  const bootstrap = ['192.0.2.1'];
  assert.equal(makePlan({ upstreams: ['tls://9.9.9.9'], bootstrap }, []).bootstrap.length, 1);
  const mixed = makePlan({ upstreams: ['tls://9.9.9.9', '192.0.2.2'], bootstrap }, []);
  assert.deepEqual(mixed.bootstrap, []);
  assert.throws(() => makePlan({ upstreams: ['127.0.0.1'] }, ['127.0.0.1:53']), /Sluice itself/);
});

test('an upstream whose name has no known address is passed over, and used once it has', async (t) => {
  const all = await certificates();
  const secure = await FakeSecureUpstream.open(t, 'tls', all.good, answerByName);
  const plain = await FakeUpstream.open(t, answerByName);
  const text = `tls://dns.sluice.test:${String(secure.port)}`;
  const { pool } = openPool(t, [text, plain.endpoint], { authorities: [all.authority] });
  const first = await ask(pool, 'a.example');
  assert.equal(first.upstream, 1);
  assert.ok(first.tookMs < 140, `took ${String(first.tookMs)} ms`);
  assert.equal(pool.states[0]?.state, 'unresolved');
  pool.setAddresses({ 'dns.sluice.test': ['127.0.0.1'] });
  assert.equal((await ask(pool, 'b.example')).upstream, 0);
});

test('an address that fails is followed by the next, and all of them by a new look-up', async (t) => {
  const all = await certificates();
  const secure = await FakeSecureUpstream.open(t, 'tls', all.good, answerByName);
  const unreachable: string[] = [];
  const { pool } = openPool(t, [`tls://dns.sluice.test:${String(secure.port)}`], {
    authorities: [all.authority],
    onUnreachable: (host) => unreachable.push(host),
  });
  pool.setAddresses({ 'dns.sluice.test': ['127.0.0.2', '127.0.0.1'] });
  assert.equal(addressIn(await ask(pool, 'a.example')), addressOfName('a.example'));
  assert.deepEqual(unreachable, []);
  pool.setAddresses({ 'dns.sluice.test': ['127.0.0.3'] });
  pool.reset();
  assert.equal((await ask(pool, 'b.example')).reply, null);
  assert.equal(unreachable[0], 'dns.sluice.test');
});

test('after a reset two servers are asked at once for three seconds, then one again', async (t) => {
  const [second, third] = (await threeServers(t, [0, 0])) as [FakeUpstream, FakeUpstream];
  const first = await FakeUpstream.open(t, silent);
  let aheadUs = 0;
  const clock = { ...systemClock, nowUs: () => systemClock.nowUs() + aheadUs };
  const { pool } = openPlan(t, using('in-order', [first, second, third]), { clock });
  pool.reset();
  assert.equal((await ask(pool, 'a.example')).upstream, 1);
  assert.equal(first.queries.length, 1, 'both were asked');
  assert.equal(third.queries.length, 0, 'two, not all');
  aheadUs = LIMITS.upstreamRaceMs * 1_000 + 100_000;
  pool.setServers(makePlan(using('in-order', [second, third]), []));
  await ask(pool, 'b.example');
  assert.equal(third.queries.length, 0, 'the race is over');
});

// -- cookies -------------------------------------------------------------------------------------

/** The cookie option of a message, as hex; '' without one. */
function cookieOf(bytes: Buffer): string {
  const opt = (decode(bytes).additionals ?? []).find(({ type }) => type === 'OPT');
  if (opt?.type !== 'OPT') return '';
  const option = opt.options.find(({ code }) => (code as number) === 10);
  return (option as { data?: Buffer } | undefined)?.data?.toString('hex') ?? '';
}

/** Answers by name, with an OPT that holds the given cookie (hex), and perhaps BADCOOKIE. */
function withCookie(make: (query: FakeQuery) => string, isBad = false): Behaviour {
  return (query) => {
    const answers = isBad
      ? []
      : [{ name: query.name, type: 'A' as const, ttl: 300, data: addressOfName(query.name) }];
    const packet = decode(replyTo(query, { rcode: isBad ? 7 : 0, answers }));
    const data = Buffer.from(make(query), 'hex');
    const opt = {
      type: 'OPT' as const,
      name: '.',
      udpPayloadSize: 1232,
      extendedRcode: isBad ? 1 : 0,
      ednsVersion: 0,
      flags: 0,
      flag_do: false,
      options: [{ code: 10, data }],
    };
    const bytes = encode({ ...packet, additionals: [opt as never] });
    // The encoder rebuilds the header's second half without the code.
    if (isBad) bytes[3] = ((bytes[3] ?? 0) & 0xf0) | 7;
    return [{ bytes }];
  };
}
const SERVER_COOKIE = 'a1b2c3d4e5f60718';
const clientPart = (query: FakeQuery): string => cookieOf(query.bytes).slice(0, 16);

test('cookies: ours is sent, the server part is learned and sent back', async (t) => {
  const server = await FakeUpstream.open(
    t,
    withCookie((query) => clientPart(query) + SERVER_COOKIE),
  );
  const { pool } = openPool(t, [server]);
  assert.equal(addressIn(await ask(pool, 'a.example')), addressOfName('a.example'));
  await ask(pool, 'b.example');
  const [first = '', second = ''] = server.queries.map(({ bytes }) => cookieOf(bytes));
  assert.equal(first.length, 16);
  assert.equal(second, first + SERVER_COOKIE);
  pool.reset();
  await ask(pool, 'c.example');
  const third = cookieOf(server.queries[2]?.bytes ?? Buffer.alloc(0));
  assert.equal(third.length, 16);
  assert.notEqual(third, first, 'another network must not recognise us');
});

test('cookies: a reply with another client cookie is a forgery', async (t) => {
  const right = withCookie((query) => clientPart(query) + SERVER_COOKIE);
  const forged = withCookie(() => `0000000000000000${SERVER_COOKIE}`);
  const server = await FakeUpstream.open(t, (query, upstream) => [
    ...forged(query, upstream),
    ...delayed(30, right)(query, upstream),
  ]);
  const { pool, counters } = openPool(t, [server]);
  assert.equal(addressIn(await ask(pool, 'a.example')), addressOfName('a.example'));
  assert.equal(counters.get('upstreamMismatched'), 1);
});

test('cookies: a reply without one, from a server that sends them, is checked over TCP', async (t) => {
  const right = withCookie((query) => clientPart(query) + SERVER_COOKIE);
  const server = await FakeUpstream.open(t, right);
  const { pool } = openPool(t, [server]);
  await ask(pool, 'a.example');
  server.behave(byTransport(answerAddress('203.0.113.66'), right));
  assert.equal(addressIn(await ask(pool, 'b.example')), addressOfName('b.example'));
  assert.deepEqual(
    server.queries.map(({ transport }) => transport),
    ['udp', 'udp', 'tcp'],
  );
});

test('cookies: a server that stops sending them is believed again', async (t) => {
  const server = await FakeUpstream.open(
    t,
    withCookie((query) => clientPart(query) + SERVER_COOKIE),
  );
  const { pool } = openPool(t, [server]);
  await ask(pool, 'a.example');
  server.behave(answerByName);
  for (let index = 0; index < 5; index++) {
    const name = `n${String(index)}.example`;
    assert.equal(addressIn(await ask(pool, name)), addressOfName(name));
  }
  assert.equal(server.queries.at(-1)?.transport, 'udp');
});

test('cookies: BADCOOKIE is asked again with the fresh cookie, then over TCP', async (t) => {
  const make = (query: FakeQuery): string => clientPart(query) + SERVER_COOKIE;
  const server = await FakeUpstream.open(t, (query, upstream) =>
    withCookie(make, !cookieOf(query.bytes).endsWith(SERVER_COOKIE))(query, upstream),
  );
  const { pool } = openPool(t, [server]);
  assert.equal(addressIn(await ask(pool, 'a.example')), addressOfName('a.example'));
  assert.equal(server.queries.length, 2);
  server.behave(byTransport(withCookie(make, true), answerByName));
  assert.equal(addressIn(await ask(pool, 'b.example')), addressOfName('b.example'));
  assert.equal(server.queries.at(-1)?.transport, 'tcp');
});

test('encrypted queries carry no cookie and no random letter case', async (t) => {
  const all = await certificates();
  const secure = await FakeSecureUpstream.open(t, 'tls', all.good, answerByName);
  const { pool } = openPool(t, [secure.text()], { authorities: [all.authority] });
  await ask(pool, 'abcdefghijklmnopqrstuvwxyz.example');
  const [query] = secure.queries;
  assert.equal(query?.name, 'abcdefghijklmnopqrstuvwxyz.example');
  assert.equal(cookieOf(query.bytes), '');
  assert.equal(parseUpstream(secure.text()).transport, 'tls');
});
