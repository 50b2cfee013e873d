/**
 * DNS over TLS and over HTTPS against servers that do it right and servers that do not: who is
 * believed, what is sent, how connections are shared, and what a failure costs.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { readAnswer } from '../../support/dns-client.ts';
import { certificates, SERVER_NAME } from '../../support/certificates.ts';
import type { Certificates } from '../../support/certificates.ts';
import {
  addressOfName,
  answerByName,
  delayed,
  FakeUpstream,
  replyTo,
  silent,
} from '../../support/fake-upstream.ts';
import { FakeSecureUpstream, httpAnswer, resetStream } from '../../support/fake-secure-upstream.ts';
import type { HttpTwist } from '../../support/fake-secure-upstream.ts';
import { ask, openPool } from '../../support/net-fakes.ts';
import type { Outcome } from '../../support/net-fakes.ts';

const PROTOCOLS = ['tls', 'https'] as const;

function addressIn({ reply, failure }: Outcome): string {
  assert.notEqual(reply, null, `a reply instead of ${String(failure)}`);
  const [answer] = readAnswer(reply as Buffer).answers ?? [];
  return answer?.type === 'A' ? answer.data : 'no address';
}

/** A pool that trusts the test authority, and what it said about troubles. */
function openTrusting(
  t: { after(action: () => void): void },
  servers: readonly (FakeUpstream | string)[],
  { authority }: Certificates,
) {
  const troubles: (string | null)[] = [];
  const opened = openPool(t, servers, {
    authorities: [authority],
    onTrouble: (_upstream, reason) => {
      troubles.push(reason);
    },
  });
  return { ...opened, troubles };
}

for (const protocol of PROTOCOLS) {
  test(`${protocol}: 200 questions at once share one verified connection, padded`, async (t) => {
    const all = await certificates();
    const server = await FakeSecureUpstream.open(t, protocol, all.good, delayed(5, answerByName));
    const { pool, counters } = openTrusting(t, [server.text(`name=${SERVER_NAME}`)], all);
    await ask(pool, 'first.example');
    const names = Array.from(
      { length: 100 },
      (_, index) => `n${String(index)}.${'x'.repeat(index % 60)}y.example`,
    );
    const outcomes = await Promise.all(names.map((name) => ask(pool, name)));
    outcomes.forEach((outcome, index) => {
      assert.equal(addressIn(outcome), addressOfName(names[index] ?? ''));
    });
    assert.ok(server.connections <= 2, `${String(server.connections)} connections`);
    assert.equal(counters.get('upstreamMismatched'), 0);
    for (const { bytes } of server.queries) assert.equal(bytes.length % 128, 0);
    const [state] = pool.states;
    assert.equal(state?.protocol, protocol);
    // On a busy machine the first round trip may count as slow.
    assert.match(state.state, /^(up|slow)$/);
    assert.ok(state.answered >= 101, String(state.answered));
  });

  test(`${protocol}: a session is resumed on the next connection`, async (t) => {
    const all = await certificates();
    const server = await FakeSecureUpstream.open(t, protocol, all.good, answerByName);
    const { pool } = openTrusting(t, [server.text()], all);
    for (let index = 0; index < 4; index++) {
      assert.equal(addressIn(await ask(pool, 'a.example')), addressOfName('a.example'));
      await new Promise((resolve) => setTimeout(resolve, 20));
      server.dropConnections();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    assert.equal(server.connections, 4);
    assert.equal(server.resumed, 3);
    assert.equal(pool.states[0]?.resumed, 3);
  });

  const bad = {
    otherName: /not for "127\.0\.0\.1"/,
    expired: /expired/,
    notYetValid: /not valid yet/,
    selfSigned: /signed by itself/,
  } as const;
  for (const [kind, reason] of Object.entries(bad)) {
    test(`${protocol}: a certificate that is ${kind} gets no question and is explained`, async (t) => {
      const all = await certificates();
      const certificate = all[kind as keyof typeof bad];
      const server = await FakeSecureUpstream.open(t, protocol, certificate, answerByName);
      const { pool, troubles } = openTrusting(t, [server.text()], all);
      const outcome = await ask(pool, 'secret.example');
      assert.equal(outcome.reply, null);
      assert.equal(outcome.failure, 'refused');
      assert.ok(outcome.tookMs < 1_000, `took ${String(outcome.tookMs)} ms`);
      assert.equal(server.queries.length, 0);
      assert.match(troubles[0] ?? '', reason);
    });
  }

  test(`${protocol}: a pinned key is enough, another key is not`, async (t) => {
    const all = await certificates();
    const server = await FakeSecureUpstream.open(t, protocol, all.selfSigned, answerByName);
    const right = server.text(`pin=sha256/${all.selfSigned.pin}`);
    const { pool } = openPool(t, [right]);
    assert.equal(addressIn(await ask(pool, 'a.example')), addressOfName('a.example'));
    const { pool: wrong } = openPool(t, [server.text(`pin=sha256/${all.good.pin}`)]);
    assert.equal((await ask(wrong, 'b.example')).failure, 'refused');
    assert.equal(server.queries.length, 1);
    assert.match(wrong.states[0]?.trouble ?? '', /pinned/);
  });

  test(`${protocol}: unknown authorities are refused by default`, async (t) => {
    const all = await certificates();
    const server = await FakeSecureUpstream.open(t, protocol, all.good, answerByName);
    const { pool } = openPool(t, [server.text()]);
    assert.equal((await ask(pool, 'a.example')).failure, 'refused');
    assert.match(pool.states[0]?.trouble ?? '', /authority/);
  });

  test(`${protocol}: connections closed by the server cost nothing`, async (t) => {
    const all = await certificates();
    const server = await FakeSecureUpstream.open(t, protocol, all.good, answerByName);
    const { pool, counters } = openTrusting(t, [server.text()], all);
    await ask(pool, 'a.example');
    server.dropConnections();
    await new Promise((resolve) => setTimeout(resolve, 30));
    assert.equal(addressIn(await ask(pool, 'b.example')), addressOfName('b.example'));
    assert.equal(counters.get('upstreamTimeouts'), 0);
  });

  test(`${protocol}: a connection that is half open is left after one hedge delay`, async (t) => {
    const all = await certificates();
    const server = await FakeSecureUpstream.open(t, protocol, all.good, answerByName);
    const { pool } = openTrusting(t, [server.text()], all);
    await ask(pool, 'a.example');
    // The old connection stays open and dumb; new ones are served.
    server.behaviour = (query, upstream) =>
      server.connections > 1 ? answerByName(query, upstream) : [];
    const outcome = await ask(pool, 'b.example');
    assert.equal(addressIn(outcome), addressOfName('b.example'));
    assert.ok(outcome.tookMs < 1_000, `took ${String(outcome.tookMs)} ms`);
    assert.equal(server.connections, 2);
  });

  test(`${protocol}: a slow server costs one hedge delay once`, async (t) => {
    const all = await certificates();
    const slow = await FakeSecureUpstream.open(t, protocol, all.good, delayed(1_200, answerByName));
    const plain = await FakeUpstream.open(t, answerByName);
    const { pool } = openTrusting(t, [slow.text(), plain.endpoint], all);
    const first = await ask(pool, 'a.example');
    assert.equal(first.upstream, 1);
    assert.ok(first.tookMs < 800, `took ${String(first.tookMs)} ms`);
    await new Promise((resolve) => setTimeout(resolve, 1_300));
    // Its late reply has come by now; still the fast server is asked first.
    const tooks: number[] = [];
    for (let index = 0; index < 10; index++) {
      const next = await ask(pool, `n${String(index)}.example`);
      assert.equal(next.upstream, 1);
      tooks.push(next.tookMs);
    }
    assert.ok(tooks.filter((ms) => ms > 120).length <= 2, tooks.join());
  });

  test(`${protocol}: a reset drops connections and sends what is in flight again`, async (t) => {
    const all = await certificates();
    const server = await FakeSecureUpstream.open(t, protocol, all.good, answerByName);
    const { pool } = openTrusting(t, [server.text()], all);
    await ask(pool, 'a.example');
    server.behaviour = silent;
    const pending = ask(pool, 'moving.example');
    while (server.queries.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    server.behaviour = answerByName;
    pool.reset();
    const outcome = await pending;
    assert.equal(addressIn(outcome), addressOfName('moving.example'));
    assert.ok(outcome.tookMs < 600, `took ${String(outcome.tookMs)} ms`);
    assert.equal(server.connections, 2);
    assert.equal(server.resumed, 0, 'no session of another network');
  });

  test(`${protocol}: a reply to another question is counted and not relayed`, async (t) => {
    const all = await certificates();
    const server = await FakeSecureUpstream.open(t, protocol, all.good, (query) => [
      { bytes: replyTo(query, { name: 'evil.example' }) },
    ]);
    const other = await FakeUpstream.open(t, answerByName);
    const { pool, counters } = openTrusting(t, [server.text(), other.endpoint], all);
    const outcome = await ask(pool, 'good.example');
    assert.equal(outcome.upstream, 1);
    assert.ok(counters.get('upstreamMismatched') >= 1);
  });

  test(`${protocol}: a closed port leads to the next server at once`, async (t) => {
    const all = await certificates();
    const gone = await FakeSecureUpstream.open(t, protocol, all.good, answerByName);
    const text = gone.text();
    gone.close();
    const other = await FakeUpstream.open(t, answerByName);
    const { pool } = openTrusting(t, [text, other.endpoint], all);
    const outcome = await ask(pool, 'a.example');
    assert.equal(outcome.upstream, 1);
    assert.ok(outcome.tookMs < 600, `took ${String(outcome.tookMs)} ms`);
    assert.match(pool.states[0]?.trouble ?? '', /refuses connections/);
  });
}

test('https: a request tells nothing but the question', async (t) => {
  const all = await certificates();
  const server = await FakeSecureUpstream.open(t, 'https', all.good, answerByName);
  const { pool } = openTrusting(t, [server.text(), server.text('get')], all);
  await ask(pool, 'a.example');
  const [headers = {}] = server.requests;
  assert.deepEqual(Object.keys(headers).sort(), [
    ':authority',
    ':method',
    ':path',
    ':scheme',
    'accept',
    'content-length',
    'content-type',
  ]);
  assert.equal(headers[':method'], 'POST');
  assert.equal(headers['content-type'], 'application/dns-message');
  assert.equal(server.queries[0]?.id, 0);
  const { pool: getting } = openTrusting(t, [server.text('get')], all);
  assert.equal(addressIn(await ask(getting, 'b.example')), addressOfName('b.example'));
  const [, get = {}] = server.requests;
  assert.equal(get[':method'], 'GET');
  assert.match(get[':path'] ?? '', /^\/dns-query\?dns=[\w-]+$/);
});

const dnsMessage = { ':status': 200, 'content-type': 'application/dns-message' };
const TWISTS: Record<string, { twist: HttpTwist; reason: RegExp }> = {
  'another content type': {
    twist: httpAnswer({ ':status': 200, 'content-type': 'text/html' }, '<html>'),
    reason: /"text\/html"/,
  },
  'status 503': { twist: httpAnswer({ ':status': 503 }, ''), reason: /status 503/ },
  'a redirect': {
    twist: httpAnswer({ ':status': 302, location: 'https://evil.example/' }, ''),
    reason: /status 302/,
  },
  'a body above 64 KiB': {
    twist: httpAnswer(dnsMessage, Buffer.alloc(300_000)),
    reason: /above 64 KiB/,
  },
  'an empty body': { twist: httpAnswer(dnsMessage, ''), reason: /^$/ },
  'a stream that is reset': { twist: resetStream, reason: /^$/ },
};
for (const [what, { twist, reason }] of Object.entries(TWISTS)) {
  test(`https: ${what} leads to the next server at once`, async (t) => {
    const all = await certificates();
    const server = await FakeSecureUpstream.open(t, 'https', all.good, answerByName);
    server.twist = twist;
    const other = await FakeUpstream.open(t, answerByName);
    const { pool } = openTrusting(t, [server.text(), other.endpoint], all);
    const outcome = await ask(pool, 'a.example');
    assert.equal(outcome.upstream, 1);
    assert.ok(outcome.tookMs < 600, `took ${String(outcome.tookMs)} ms`);
    assert.match(pool.states[0]?.trouble ?? '', reason);
  });
}

test('https: after GOAWAY a fresh session takes over, and nothing is lost', async (t) => {
  const all = await certificates();
  const server = await FakeSecureUpstream.open(t, 'https', all.good, delayed(30, answerByName));
  const { pool, counters } = openTrusting(t, [server.text()], all);
  await ask(pool, 'first.example');
  let goneAway = 0;
  server.twist = (_stream, _query, session) => {
    if (goneAway++ === 5) session.goaway();
    return false;
  };
  const names = Array.from({ length: 40 }, (_, index) => `g${String(index)}.example`);
  const outcomes = await Promise.all(
    names.map(async (name, index) => {
      await new Promise((resolve) => setTimeout(resolve, index * 3));
      return ask(pool, name);
    }),
  );
  outcomes.forEach((outcome, index) => {
    assert.equal(addressIn(outcome), addressOfName(names[index] ?? ''));
  });
  assert.equal(server.connections, 2);
  assert.equal(counters.get('upstreamTimeouts'), 0);
});

test('https: the time an answer spent in an HTTP cache is taken off its TTL', async (t) => {
  const all = await certificates();
  const server = await FakeSecureUpstream.open(t, 'https', all.good, answerByName);
  server.twist = (stream, query) => {
    stream.respond({ ...dnsMessage, age: '120' });
    const data = addressOfName(query.name);
    stream.end(replyTo(query, { answers: [{ name: query.name, type: 'A', ttl: 300, data }] }));
    return true;
  };
  const { pool } = openTrusting(t, [server.text()], all);
  const { reply } = await ask(pool, 'aged.example');
  const [answer] = readAnswer(reply as Buffer).answers ?? [];
  assert.equal(answer?.type === 'A' ? answer.ttl : -1, 180);
});

test('https: a TLS server that speaks no HTTP leads to the next server', async (t) => {
  const all = await certificates();
  const server = await FakeSecureUpstream.open(t, 'tls', all.good, answerByName);
  const other = await FakeUpstream.open(t, answerByName);
  const text = `https://127.0.0.1:${String(server.port)}/dns-query`;
  const { pool } = openTrusting(t, [text, other.endpoint], all);
  assert.equal((await ask(pool, 'a.example')).upstream, 1);
});

test('a server with a bad certificate is not connected to again and again', async (t) => {
  const all = await certificates();
  const server = await FakeSecureUpstream.open(t, 'tls', all.expired, answerByName);
  const other = await FakeUpstream.open(t, answerByName);
  const { pool, troubles } = openTrusting(t, [server.text(), other.endpoint], all);
  for (let index = 0; index < 300; index++) {
    assert.equal((await ask(pool, `n${String(index)}.example`)).upstream, 1);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const failures = pool.states[0]?.failures ?? 0;
  assert.ok(failures < 20, `${String(failures)} failures`);
  assert.deepEqual(troubles, ['its certificate has expired'], 'told once');
});

test('a server that accepts and says nothing costs one hedge delay once', async (t) => {
  const all = await certificates();
  const mute = createServer();
  mute.listen(0, '127.0.0.1');
  await once(mute, 'listening');
  t.after(() => {
    mute.close();
  });
  const { port } = mute.address() as AddressInfo;
  const other = await FakeUpstream.open(t, answerByName);
  const text = `tls://127.0.0.1:${String(port)}`;
  const { pool } = openTrusting(t, [text, other.endpoint], all);
  const first = await ask(pool, 'a.example');
  assert.ok(first.tookMs > 100 && first.tookMs < 600, `took ${String(first.tookMs)} ms`);
  const tooks: number[] = [];
  for (let index = 0; index < 60; index++) {
    tooks.push((await ask(pool, `n${String(index)}.example`)).tookMs);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.ok(tooks.filter((ms) => ms > 120).length <= 6, tooks.join());
  assert.equal(pool.states[0]?.trouble, 'it does not answer');
});
