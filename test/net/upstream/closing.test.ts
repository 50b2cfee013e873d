/**
 * Servers that close connections after few answers, take one question or one connection at a time, or
 * speak HTTP/1.1 only: what was not answered is asked again, and every name gets its answer.
 */
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { once } from 'node:events';
import { test } from 'node:test';
import { certificates } from '../../support/certificates.ts';
import { openClosing } from '../../support/closing-server.ts';
import type { ClosingOptions, ClosingServer } from '../../support/closing-server.ts';
import { readAnswer } from '../../support/dns-client.ts';
import { addressOfName, answerByName, FakeUpstream } from '../../support/fake-upstream.ts';
import { ask, openPool } from '../../support/net-fakes.ts';

const COUNT = 20;
type Context = Parameters<typeof FakeUpstream.open>[0];

/** The server as settings name it. */
function textOf(
  { port }: ClosingServer,
  protocol: ClosingOptions['protocol'],
  scheme = '',
): string {
  const endpoint = `127.0.0.1:${String(port)}`;
  if (protocol === 'tcp') return scheme + endpoint;
  return protocol === 'tls' ? `tls://${endpoint}` : `https://${endpoint}/dns-query`;
}

/** Asks for 20 names at once, twice; each must be answered. */
async function askTwenty(t: Context, options: ClosingOptions, scheme = ''): Promise<ClosingServer> {
  const { authority } = await certificates();
  const server = await openClosing(t, options);
  const text = textOf(server, options.protocol, scheme);
  const { pool } = openPool(t, [text], { authorities: [authority], timeoutMs: 10_000 });
  for (const round of ['a', 'b']) {
    const names = Array.from({ length: COUNT }, (_, at) => `${round}${String(at)}.example`);
    const outcomes = await Promise.all(names.map((name) => ask(pool, name)));
    outcomes.forEach(({ reply, failure }, index) => {
      assert.notEqual(reply, null, `${names[index] ?? ''}: ${String(failure)}`);
      const [answer] = readAnswer(reply as Buffer).answers ?? [];
      assert.equal(answer?.type === 'A' ? answer.data : '', addressOfName(names[index] ?? ''));
    });
  }
  assert.notEqual(pool.states[0]?.state, 'down');
  return server;
}

const WAYS = [
  ['UDP truncated', 'tcp', ''],
  ['tcp://', 'tcp', 'tcp://'],
  ['tls://', 'tls', ''],
] as const;
const KINDS: Record<string, Omit<ClosingOptions, 'protocol'>> = {
  'closes after every answer': { answers: 1 },
  'closes after three answers': { answers: 3 },
  'closes after seven answers': { answers: 7 },
  'resets after every answer': { answers: 1, then: 'reset' },
  'ignores all but the first question': { answers: 1, then: 'ignore' },
  'closes unanswered when asked twice at once': { answers: 100, isStrict: true },
  'takes one connection at a time': { answers: 100, others: 'wait' },
  'refuses a second connection': { answers: 100, others: 'refuse' },
  'takes one connection and one question': { answers: 1, others: 'wait' },
  'refuses a second connection and closes after every answer': { answers: 1, others: 'refuse' },
};
for (const [way, protocol, scheme] of WAYS) {
  for (const [what, kind] of Object.entries(KINDS)) {
    test(`${way}: a server that ${what}`, async (t) => {
      await askTwenty(t, { ...kind, protocol }, scheme);
    });
  }
}

test('tls:// at 100 ms that closes after every answer', async (t) => {
  await askTwenty(t, { protocol: 'tls', answers: 1, delayMs: 100 });
});

for (const [what, kind] of Object.entries({
  'closes after every answer': { answers: 1 },
  'closes after three answers': { answers: 3 },
  'says GOAWAY after three answers': { answers: 3, then: 'goaway' },
  'refuses streams beyond two': { answers: 100, streamsMax: 2, delayMs: 5 },
  'takes one connection at a time': { answers: 100, others: 'wait' },
} as const)) {
  test(`https:// in HTTP/2: a server that ${what}`, async (t) => {
    await askTwenty(t, { ...kind, protocol: 'h2' });
  });
}

for (const protocol of ['http/1.1', 'no ALPN'] as const) {
  test(`https:// with ${protocol}: connections are kept`, async (t) => {
    const server = await askTwenty(t, { protocol, answers: 1_000, delayMs: 2 });
    assert.ok(server.connections <= 4, `${String(server.connections)} connections`);
  });
  test(`https:// with ${protocol}: a server that closes after every answer`, async (t) => {
    await askTwenty(t, { protocol, answers: 1 });
  });
}

test('https:// in HTTP/1.1 by GET', async (t) => {
  const { authority } = await certificates();
  const server = await openClosing(t, { protocol: 'http/1.1', answers: 1_000 });
  const text = `${textOf(server, 'http/1.1')}#get`;
  const { pool } = openPool(t, [text], { authorities: [authority] });
  const { reply } = await ask(pool, 'a.example');
  assert.equal(readAnswer(reply as Buffer).rcode, 'NOERROR');
});

/** A TCP server that ends every connection at once, or when a question has come. */
async function openUseless(t: Context, waits: boolean): Promise<{ text: string; count: number }> {
  const state = { text: '', count: 0 };
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    state.count++;
    sockets.add(socket);
    socket.on('error', () => undefined);
    if (waits) socket.on('data', () => socket.destroy());
    else socket.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  state.text = `tcp://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  return state;
}

for (const waits of [false, true]) {
  const when = waits ? 'when it is asked' : 'at once';
  test(`a server that closes ${when} is a failure, soon, and is not stormed`, async (t) => {
    const useless = await openUseless(t, waits);
    const { pool } = openPool(t, [useless.text]);
    const outcomes = await Promise.all(
      Array.from({ length: COUNT }, (_, at) => ask(pool, `a${String(at)}.example`)),
    );
    for (const { reply } of outcomes) assert.equal(reply, null);
    assert.ok(useless.count <= 4 * COUNT, `${String(useless.count)} connections`);
    const good = await FakeUpstream.open(t, answerByName);
    const { pool: both } = openPool(t, [useless.text, good.endpoint]);
    const names = Array.from({ length: COUNT }, (_, at) => `b${String(at)}.example`);
    for (const { upstream } of await Promise.all(names.map((name) => ask(both, name)))) {
      assert.equal(upstream, 1);
    }
  });
}

test('lame names on a quiet encrypted connection leave room for others', async (t) => {
  const { authority } = await certificates();
  const { FakeSecureUpstream } = await import('../../support/fake-secure-upstream.ts');
  const { good } = await certificates();
  for (const protocol of ['tls', 'https'] as const) {
    const server = await FakeSecureUpstream.open(t, protocol, good, (query, upstream) =>
      /dead/i.test(query.name) ? [] : answerByName(query, upstream),
    );
    const { pool } = openPool(t, [server.text()], { authorities: [authority], timeoutMs: 1_000 });
    const dead = Array.from({ length: 6 }, (_, at) => ask(pool, `www.dead${String(at)}.example`));
    for (const { failure } of await Promise.all(dead)) assert.equal(failure, 'timeout');
    const names = Array.from({ length: 30 }, (_, at) => `www.n${String(at)}.example`);
    const outcomes = await Promise.all(names.map((name) => ask(pool, name)));
    for (const { reply, failure } of outcomes) assert.notEqual(reply, null, String(failure));
  }
});
