/**
 * The upstream pool against fake servers over real sockets: what a good reply is, what each kind of
 * bad one leads to, and how long it takes.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encode } from 'dns-packet';
import { readAnswer } from '../../support/dns-client.ts';
import {
  addressOfName,
  answerAddress,
  answerByName,
  answerCode,
  byTransport,
  delayed,
  FakeUpstream,
  inTurn,
  replyTo,
  silent,
  truncatedAnswer,
} from '../../support/fake-upstream.ts';
import type { Behaviour } from '../../support/fake-upstream.ts';
import { ask, openPool } from '../../support/net-fakes.ts';
import type { Outcome } from '../../support/net-fakes.ts';

const FORMERR = 1;
const SERVFAIL = 2;
const NOTIMP = 4;
const REFUSED = 5;

function addressIn({ reply }: Outcome): string {
  assert.notEqual(reply, null, 'a reply');
  const [answer] = readAnswer(reply as Buffer).answers ?? [];
  return answer?.type === 'A' ? answer.data : 'no address';
}

/** Swaps the letter case of the name in a reply. */
function lowerCased(inner: Behaviour): Behaviour {
  return (query, upstream) => inner({ ...query, name: query.name.toLowerCase() }, upstream);
}

for (const address of ['127.0.0.1', '::1']) {
  test(`a question is answered by a server on ${address}, in the engine's own letters`, async (t) => {
    const server = await FakeUpstream.open(t, answerByName, { address });
    const { pool, counters } = openPool(t, [server]);
    const outcome = await ask(pool, 'www.Example.com');
    assert.equal(addressIn(outcome), addressOfName('www.example.com'));
    assert.equal(outcome.upstream, 0);
    assert.equal(readAnswer(outcome.reply as Buffer).questions?.[0]?.name, 'www.Example.com');
    assert.equal(counters.get('upstreamSent'), 1);
    assert.equal(counters.get('upstreamAnswered'), 1);
    assert.equal(counters.get('upstreamMismatched'), 0);
  });
}

test('IDs, ports and letter case differ from query to query', async (t) => {
  const server = await FakeUpstream.open(t, answerByName);
  const { pool } = openPool(t, [server]);
  const name = 'abcdefghijklmnopqrstuvwxyz.example';
  const COUNT = 200;
  for (let index = 0; index < COUNT; index++) await ask(pool, name);
  const distinct = (pick: 'id' | 'sourcePort' | 'name'): number =>
    new Set(server.queries.map((query) => query[pick])).size;
  // 200 of 65,536 collide 0.3 times on average; 4 or more collisions come once in 3,000 runs.
  assert.ok(distinct('id') >= COUNT - 4, `${String(distinct('id'))} IDs`);
  assert.ok(distinct('sourcePort') >= COUNT - 8, `${String(distinct('sourcePort'))} ports`);
  assert.equal(distinct('name'), COUNT);
  // Each bit of the ID and each letter is sometimes set: 200 equal throws come once in 10^60.
  for (let bit = 0; bit < 16; bit++) {
    const set = server.queries.filter(({ id }) => ((id >> bit) & 1) === 1).length;
    assert.ok(set > 50 && set < 150, `bit ${String(bit)} of the ID was set ${String(set)} times`);
  }
});

test('a burst beyond the bound of sockets spreads over many ports', async (t) => {
  const server = await FakeUpstream.open(t, delayed(50, answerByName));
  const { pool } = openPool(t, [server]);
  const names = Array.from({ length: 2_000 }, (_, index) => `n${String(index)}.example`);
  await Promise.all(names.map((name) => ask(pool, name)));
  const ports = new Set(server.queries.map(({ sourcePort }) => sourcePort));
  // On a busy machine the server counts as silent for a moment, and gets fresh sockets.
  assert.ok(ports.size >= 256, `${String(ports.size)} ports`);
});

test('W3: 1,000 names at 20 ms take less than a second together', async (t) => {
  const server = await FakeUpstream.open(t, delayed(20, answerByName));
  const { pool, counters } = openPool(t, [server]);
  const startedMs = performance.now();
  const names = Array.from({ length: 1_000 }, (_, index) => `n${String(index)}.example`);
  const outcomes = await Promise.all(names.map((name) => ask(pool, name)));
  const tookMs = performance.now() - startedMs;
  outcomes.forEach((outcome, index) => {
    assert.equal(addressIn(outcome), addressOfName(names[index] ?? ''));
  });
  assert.ok(tookMs < 1_000, `took ${String(tookMs)} ms`);
  assert.equal(counters.get('upstreamMismatched'), 0);
});

const BAD_REPLIES: Record<string, Behaviour> = {
  'a wrong ID': (query) => [{ bytes: replyTo(query, { id: query.id ^ 1 }) }],
  'another question': (query) => [{ bytes: replyTo(query, { name: 'evil.example' }) }],
  'a query instead of a reply': (query) => [{ bytes: query.bytes }],
  'one byte': () => [{ bytes: Buffer.of(0) }],
};

for (const [what, bad] of Object.entries(BAD_REPLIES)) {
  test(`${what} is counted and waited past`, async (t) => {
    const server = await FakeUpstream.open(t, (query, upstream) => [
      ...bad(query, upstream),
      ...delayed(30, answerByName)(query, upstream),
    ]);
    const { pool, counters } = openPool(t, [server]);
    assert.equal(addressIn(await ask(pool, 'good.example')), addressOfName('good.example'));
    assert.equal(counters.get('upstreamMismatched'), 1);
    assert.equal(counters.get('upstreamAnswered'), 1);
    assert.equal(counters.get('upstreamSent'), 1);
  });
}

test('a reply from another address never arrives', async (t) => {
  const server = await FakeUpstream.open(t, (query, upstream) => [
    ...answerAddress('203.0.113.66')(query, upstream).map((one) => ({
      ...one,
      fromElsewhere: true,
    })),
    ...delayed(30, answerByName)(query, upstream),
  ]);
  const { pool } = openPool(t, [server]);
  assert.equal(addressIn(await ask(pool, 'good.example')), addressOfName('good.example'));
});

test("W1: a late reply is never taken for another question's", async (t) => {
  const server = await FakeUpstream.open(t, (query, upstream) =>
    delayed(query.name.toLowerCase().startsWith('slow') ? 900 : 5, answerByName)(query, upstream),
  );
  const { pool, counters } = openPool(t, [server], { timeoutMs: 500 });
  const slow = await ask(pool, 'slow.example');
  assert.equal(slow.reply, null);
  assert.equal(slow.failure, 'timeout');
  assert.ok(slow.tookMs > 400, `took ${String(slow.tookMs)} ms`);
  const next = await Promise.all(
    Array.from({ length: 60 }, async (_, index) => {
      await new Promise((resolve) => setTimeout(resolve, index * 10));
      const name = `n${String(index)}.example`;
      return addressIn(await ask(pool, name)) === addressOfName(name);
    }),
  );
  assert.ok(next.every(Boolean));
  assert.equal(addressIn(await slow.late), addressOfName('slow.example'));
  assert.ok(counters.get('upstreamAnswered') >= 61);
});

test('a lost datagram is sent again to the only server there is', async (t) => {
  const server = await FakeUpstream.open(t, inTurn(silent, answerByName));
  const { pool, counters } = openPool(t, [server]);
  const outcome = await ask(pool, 'lost.example');
  assert.equal(addressIn(outcome), addressOfName('lost.example'));
  assert.ok(outcome.tookMs < 700, `took ${String(outcome.tookMs)} ms`);
  assert.equal(counters.get('upstreamSent'), 2);
  const [first, second] = server.queries;
  assert.notEqual(first?.sourcePort, second?.sourcePort);
});

test('W5: 50 truncated answers in a row, few connections, all answered', async (t) => {
  const server = await FakeUpstream.open(t, byTransport(truncatedAnswer, answerByName));
  const { pool, counters } = openPool(t, [server]);
  for (let index = 0; index < 50; index++) {
    const name = `t${String(index)}.example`;
    assert.equal(addressIn(await ask(pool, name)), addressOfName(name));
  }
  assert.equal(server.connections, 1);
  assert.equal(counters.get('upstreamTcp'), 50);
});

test('500 truncated answers at once share a bounded number of connections', async (t) => {
  const server = await FakeUpstream.open(t, byTransport(truncatedAnswer, delayed(5, answerByName)));
  const { pool } = openPool(t, [server]);
  const names = Array.from({ length: 500 }, (_, index) => `t${String(index)}.example`);
  const outcomes = await Promise.all(names.map((name) => ask(pool, name)));
  outcomes.forEach((outcome, index) => {
    assert.equal(addressIn(outcome), addressOfName(names[index] ?? ''));
  });
  assert.ok(server.connections <= 4, `${String(server.connections)} connections`);
});

test('a server that closes each TCP connection after one answer is still used', async (t) => {
  const closing: Behaviour = (query, upstream) =>
    answerByName(query, upstream).map((one) => ({ ...one, thenClose: true }));
  const server = await FakeUpstream.open(t, byTransport(truncatedAnswer, closing));
  const { pool } = openPool(t, [server]);
  for (let index = 0; index < 10; index++) {
    const name = `t${String(index)}.example`;
    assert.equal(addressIn(await ask(pool, name)), addressOfName(name));
  }
});

test('a connection that the server dropped meanwhile costs nothing', async (t) => {
  const server = await FakeUpstream.open(t, answerByName);
  const { pool } = openPool(t, [`tcp://${server.endpoint}`]);
  assert.equal(addressIn(await ask(pool, 'a.example')), addressOfName('a.example'));
  server.dropConnections();
  assert.equal(addressIn(await ask(pool, 'b.example')), addressOfName('b.example'));
  assert.ok(server.queries.every(({ transport }) => transport === 'tcp'));
});

test('truncated with TCP closed: the next server answers', async (t) => {
  const noTcp = await FakeUpstream.open(t, truncatedAnswer, { tcp: false });
  const good = await FakeUpstream.open(t, answerByName);
  const { pool } = openPool(t, [noTcp, good]);
  const outcome = await ask(pool, 'big.example');
  assert.equal(addressIn(outcome), addressOfName('big.example'));
  assert.equal(outcome.upstream, 1);
  assert.ok(outcome.tookMs < 300, `took ${String(outcome.tookMs)} ms`);
});

test('W6: two silent servers end in null within the time that is set', async (t) => {
  const first = await FakeUpstream.open(t, silent);
  const second = await FakeUpstream.open(t, silent);
  const { pool, counters } = openPool(t, [first, second], { timeoutMs: 2_000 });
  const outcome = await ask(pool, 'dead.example');
  assert.equal(outcome.reply, null);
  assert.equal(outcome.failure, 'timeout');
  assert.ok(outcome.tookMs > 1_800, `took ${String(outcome.tookMs)} ms`);
  assert.ok(first.queries.length >= 2 && second.queries.length >= 2);
  assert.equal(counters.get('upstreamTimeouts'), first.queries.length + second.queries.length);
});

test('two closed ports end in null at once, as refused', async (t) => {
  const first = await FakeUpstream.open(t, silent, { udp: false });
  const second = await FakeUpstream.open(t, silent, { udp: false });
  const { pool } = openPool(t, [first, second]);
  const outcome = await ask(pool, 'closed.example');
  assert.equal(outcome.failure, 'refused');
  assert.ok(outcome.tookMs < 500, `took ${String(outcome.tookMs)} ms`);
});

test('a silent first server costs one hedge delay once, and is found again when it is back', async (t) => {
  const first = await FakeUpstream.open(t, silent);
  const second = await FakeUpstream.open(t, answerByName);
  const { pool } = openPool(t, [first, second]);
  const cost = await ask(pool, 'a.example');
  assert.equal(cost.upstream, 1);
  assert.ok(cost.tookMs > 130 && cost.tookMs < 400, `took ${String(cost.tookMs)} ms`);
  // While it is in doubt both are asked at once; then it is down, and asked now and then.
  const tooks: number[] = [];
  for (let index = 0; pool.states[0]?.state !== 'down' && index < 200; index++) {
    tooks.push((await ask(pool, `b${String(index)}.example`)).tookMs);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.equal(pool.states[0]?.state, 'down');
  const heard = first.queries.length;
  for (let index = 0; index < 20; index++) {
    tooks.push((await ask(pool, `c${String(index)}.example`)).tookMs);
  }
  assert.ok(tooks.filter((ms) => ms > 120).length <= 4, tooks.join());
  assert.ok(first.queries.length <= heard + 2, `${String(first.queries.length - heard)} probes`);
  first.behave(answerByName);
  const untilMs = performance.now() + 5_000;
  let upstream = 1;
  while (upstream !== 0 && performance.now() < untilMs) {
    const outcome = await ask(pool, 'c.example');
    assert.ok(outcome.tookMs < 300, `took ${String(outcome.tookMs)} ms`);
    upstream = outcome.upstream;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.equal(upstream, 0);
});

test('a closed first port costs nothing to speak of', async (t) => {
  const first = await FakeUpstream.open(t, silent, { udp: false });
  const second = await FakeUpstream.open(t, answerByName);
  const { pool } = openPool(t, [first, second]);
  const outcome = await ask(pool, 'a.example');
  assert.equal(outcome.upstream, 1);
  assert.ok(outcome.tookMs < 300, `took ${String(outcome.tookMs)} ms`);
});

for (const [name, rcode] of Object.entries({ SERVFAIL, REFUSED })) {
  test(`${name} from one server: the next is asked, at once`, async (t) => {
    const first = await FakeUpstream.open(t, answerCode(rcode));
    const second = await FakeUpstream.open(t, answerByName);
    const { pool } = openPool(t, [first, second]);
    const outcome = await ask(pool, 'a.example');
    assert.equal(addressIn(outcome), addressOfName('a.example'));
    assert.equal(outcome.upstream, 1);
    assert.ok(outcome.tookMs < 300, `took ${String(outcome.tookMs)} ms`);
  });

  test(`${name} from all servers is passed on`, async (t) => {
    const servers = [
      await FakeUpstream.open(t, answerCode(rcode)),
      await FakeUpstream.open(t, answerCode(rcode)),
    ];
    const { pool } = openPool(t, servers);
    const outcome = await ask(pool, 'bogus.example');
    assert.equal(readAnswer(outcome.reply as Buffer).rcode, name);
    assert.equal(outcome.upstream, 0);
    assert.ok(outcome.tookMs < 300, `took ${String(outcome.tookMs)} ms`);
  });
}

test('SERVFAIL is passed on at once while the other server is known to be down', async (t) => {
  const dead = await FakeUpstream.open(t, silent);
  const failing = await FakeUpstream.open(t, (query, upstream) =>
    (/^bogus/i.test(query.name) ? answerCode(SERVFAIL) : answerByName)(query, upstream),
  );
  const { pool } = openPool(t, [dead, failing]);
  for (let index = 0; pool.states[0]?.state !== 'down' && index < 100; index++) {
    await ask(pool, `n${String(index)}.example`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const outcome = await ask(pool, 'bogus.example');
  assert.equal(readAnswer(outcome.reply as Buffer).rcode, 'SERVFAIL');
  assert.ok(outcome.tookMs < 1_000, `took ${String(outcome.tookMs)} ms`);
});

const bareFormErr: Behaviour = (query) => [
  { bytes: encode({ type: 'response', id: query.id, flags: FORMERR }) },
];
const EDNS_REFUSALS = {
  'FORMERR to OPT': answerCode(FORMERR),
  'NOTIMP to OPT': answerCode(NOTIMP),
  'FORMERR without a question': bareFormErr,
};
for (const [what, refusal] of Object.entries(EDNS_REFUSALS)) {
  test(`${what}: asked again without, and remembered after three questions`, async (t) => {
    const server = await FakeUpstream.open(t, (query, upstream) =>
      (query.hasOpt ? refusal : answerByName)(query, upstream),
    );
    const { pool } = openPool(t, [server]);
    for (const name of ['a.example', 'b.example', 'c.example', 'd.example', 'e.example']) {
      assert.equal(addressIn(await ask(pool, name)), addressOfName(name));
    }
    assert.deepEqual(
      server.queries.map(({ hasOpt }) => hasOpt),
      [true, false, true, false, true, false, false, false],
    );
    assert.equal(pool.states[0]?.askedWithout, 'EDNS');
  });
}

test('FORMERR with and without OPT is the answer, and OPT is not given up', async (t) => {
  const server = await FakeUpstream.open(t, answerCode(FORMERR));
  const { pool } = openPool(t, [server]);
  assert.equal(readAnswer((await ask(pool, 'a.example')).reply as Buffer).rcode, 'FORMERR');
  server.behave(answerByName);
  await ask(pool, 'b.example');
  assert.equal(server.queries.at(-1)?.hasOpt, true);
});

test('a server that changes letter case is checked over TCP once and then believed', async (t) => {
  const server = await FakeUpstream.open(t, lowerCased(answerByName));
  const { pool, counters } = openPool(t, [server]);
  const name = 'abcdefghijklmnopqrstuvwxyz.example';
  assert.equal(addressIn(await ask(pool, name)), addressOfName(name));
  assert.equal(counters.get('upstreamMismatched'), 1);
  assert.equal(counters.get('upstreamTcp'), 1);
  assert.equal(addressIn(await ask(pool, name)), addressOfName(name));
  assert.deepEqual(
    server.queries.map(({ transport }) => transport),
    ['udp', 'tcp', 'udp'],
  );
  assert.equal(server.queries[2]?.name, name);
});

test('a forged reply in the wrong case is not believed when TCP says otherwise', async (t) => {
  const forged = lowerCased(answerAddress('203.0.113.66'));
  const server = await FakeUpstream.open(t, byTransport(forged, answerByName));
  const { pool } = openPool(t, [server]);
  const name = 'abcdefghijklmnopqrstuvwxyz.example';
  assert.equal(addressIn(await ask(pool, name)), addressOfName(name));
});

test('changed letter case without TCP still leads to an answer', async (t) => {
  const server = await FakeUpstream.open(t, lowerCased(answerByName), { tcp: false });
  const { pool } = openPool(t, [server]);
  const outcome = await ask(pool, 'abcdefghijklmnopqrstuvwxyz.example');
  assert.equal(addressIn(outcome), addressOfName('abcdefghijklmnopqrstuvwxyz.example'));
  assert.ok(outcome.tookMs < 300, `took ${String(outcome.tookMs)} ms`);
});

test('reset: what is in flight is sent again on new sockets', async (t) => {
  const server = await FakeUpstream.open(t, inTurn(silent, answerByName));
  const { pool } = openPool(t, [server]);
  const pending = ask(pool, 'moving.example');
  await server.asked(1);
  pool.reset();
  const outcome = await pending;
  assert.equal(addressIn(outcome), addressOfName('moving.example'));
  assert.ok(outcome.tookMs < 300, `took ${String(outcome.tookMs)} ms`);
});

test('other servers: new ones are asked, questions to removed ones go on to them', async (t) => {
  const old = await FakeUpstream.open(t, silent);
  const fresh = await FakeUpstream.open(t, answerByName);
  const { pool } = openPool(t, [old]);
  const before = ask(pool, 'before.example');
  await old.asked(1);
  pool.setServers([{ address: fresh.address, port: fresh.port, family: 4, transport: 'udp' }]);
  assert.equal(addressIn(await ask(pool, 'after.example')), addressOfName('after.example'));
  assert.equal(addressIn(await before), addressOfName('before.example'));
  assert.equal(old.queries.length, 1);
});

test('close ends what is in flight, once; without servers the answer is null', async (t) => {
  const server = await FakeUpstream.open(t, silent);
  const { pool } = openPool(t, [server]);
  const pending = ask(pool, 'a.example');
  await server.asked(1);
  pool.close();
  pool.close();
  assert.equal((await pending).failure, 'refused');
  assert.equal((await ask(pool, 'b.example')).failure, 'refused');
  const { pool: empty } = openPool(t, []);
  assert.deepEqual((await ask(empty, 'c.example')).upstream, -1);
});

test('questions beyond the bound are refused as full', async (t) => {
  const server = await FakeUpstream.open(t, silent);
  const { pool } = openPool(t, [server]);
  const all = Array.from({ length: 8_193 }, (_, index) => ask(pool, `n${String(index)}.example`));
  assert.equal((await (all.at(-1) as Promise<Outcome>)).failure, 'full');
  assert.equal(pool.unfinished, 8_192);
  pool.close();
  const failures = new Set((await Promise.all(all.slice(0, -1))).map(({ failure }) => failure));
  assert.deepEqual([...failures], ['refused']);
});
