/**
 * RFC 7766, DNS over TCP: queries may be pipelined and are answered as they are ready, matched by ID
 * (§6.2.1.1, §7); messages may come in any number of pieces (§8); idle connections are closed (§6.2.3); the
 * number of connections of a client is bounded (§6.2.2); TC is never set over TCP.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { a, header, question } from '../support/dns-wire.ts';
import { framed, TcpClient } from '../support/dns-client.ts';
import { delayed } from '../support/fake-upstream.ts';
import { Gateway, replying } from '../support/gateway.ts';

const reply = replying({ answers: [a(60)] });

test('a quick answer overtakes a slow one on the same connection', async (t) => {
  const gateway = await Gateway.open(t, (query, upstream) =>
    query.name.toLowerCase().startsWith('slow')
      ? delayed(200, reply)(query, upstream)
      : reply(query, upstream),
  );
  const client = await TcpClient.open(gateway.tcp);
  t.after(() => client.destroy());
  client.send(question('slow.example', 'A', { id: 1 }));
  client.send(question('quick.example', 'A', { id: 2 }));
  assert.deepEqual([header(await client.next()).id, header(await client.next()).id], [2, 1]);
});

test('a query in single bytes, and two in one write', async (t) => {
  const gateway = await Gateway.open(t, reply);
  const client = await TcpClient.open(gateway.tcp);
  t.after(() => client.destroy());
  for (const byte of framed(question('a.example', 'A', { id: 3 }))) {
    client.socket.write(Buffer.of(byte));
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal(header(await client.next()).id, 3);
  const both = [4, 5].map((id) => framed(question('a.example', 'A', { id })));
  client.socket.write(Buffer.concat(both));
  assert.deepEqual([header(await client.next()).id, header(await client.next()).id], [4, 5]);
});

test('an idle connection is closed, and so is one above the bound', async (t) => {
  const gateway = await Gateway.open(t, reply, {
    tcpBounds: { idleMs: 100, connectionsPerLoopbackMax: 2 },
  });
  const first = await TcpClient.open(gateway.tcp);
  const second = await TcpClient.open(gateway.tcp);
  const third = await TcpClient.open(gateway.tcp);
  await third.closed();
  assert.equal(gateway.counter('tcpRefused'), 1);
  await Promise.all([first.closed(), second.closed()]);
});

test('64 KiB pass', async (t) => {
  const data = [...Buffer.alloc(60_000)];
  const gateway = await Gateway.open(t, (query, upstream) =>
    query.transport === 'udp'
      ? replying({ tc: true })(query, upstream)
      : replying({ answers: [{ type: 'TYPE65280', ttl: 60, data }] })(query, upstream),
  );
  const answer = await gateway.askTcp('big.example', 'TYPE65280');
  assert.deepEqual([header(answer).tc, header(answer).counts[1]], [false, 1]);
  assert.ok(answer.length > 60_000);
});
