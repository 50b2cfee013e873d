/**
 * The HTTP door: who gets in, what is refused and how, and what else it serves.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { request, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { LIMITS } from '../../main/contract/limits.ts';
import type { LiveUpdate } from '../../main/contract/methods.ts';
import { refuseForeign, TokenGuard } from '../../main/interfaces/http-guard.ts';
import { openDoors, TOKEN } from './open-doors.ts';

interface Reply {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly text: string;
}

/** Unlike fetch, sends any header and verb. */
function send(
  url: string,
  method: string,
  headers: OutgoingHttpHeaders = {},
  body = '',
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false });
    sent.on('error', reject);
    sent.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => (text += part));
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
      });
    });
    sent.end(body);
  });
}

const JSON_TYPE = { 'content-type': 'application/json' };

test('a page of another site gets nowhere', async (t) => {
  const { http, service } = await openDoors(t);
  const own = new URL(http).host;
  const cases: [OutgoingHttpHeaders, number][] = [
    [{ host: 'evil.example' }, 403],
    [{ host: `evil.example:${new URL(http).port}` }, 403],
    [{ host: '127.0.0.1.evil.example' }, 403],
    [{ host: own, origin: 'http://evil.example' }, 403],
    [{ host: own, origin: 'null' }, 403],
    [{ host: own, origin: 'http://127.0.0.1:1' }, 403],
    [{ host: own, origin: `https://${own}` }, 403],
    [{ host: own, 'sec-fetch-site': 'cross-site' }, 403],
    [{ host: own, 'sec-fetch-site': 'same-site' }, 403],
    [{ host: own, origin: `http://${own}`, 'sec-fetch-site': 'same-origin' }, 200],
    [{ host: 'localhost:9', 'sec-fetch-site': 'none' }, 200],
    [{ host: '[::1]:8053' }, 200],
    [{ host: own }, 200],
  ];
  for (const [headers, status] of cases) {
    const reply = await send(`${http}/api/pause`, 'POST', { ...JSON_TYPE, ...headers }, '{}');
    assert.equal(reply.status, status, JSON.stringify(headers));
    assert.equal(reply.headers['access-control-allow-origin'], undefined);
    const { protection } = await service.call('status', {});
    assert.equal(protection.state, status === 200 ? 'off' : 'on', JSON.stringify(headers));
    await service.call('resume', {});
  }
});

test('a form or a preflight of another page is refused', async (t) => {
  const { http } = await openDoors(t);
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    '',
  ]) {
    const reply = await send(`${http}/api/pause`, 'POST', { 'content-type': type }, '{}');
    assert.equal(reply.status, 415, type);
  }
  assert.equal((await send(`${http}/api/pause`, 'OPTIONS')).status, 405);
  assert.equal((await send(`${http}/api/pause`, 'GET')).status, 405);
});

test('the right to call is the token, or being the same user on this machine', async (t) => {
  const { http } = await openDoors(t);
  const call = (headers: OutgoingHttpHeaders) => send(`${http}/api/status`, 'GET', headers);
  assert.equal((await call({})).status, 200);
  assert.equal((await call({ authorization: `Bearer ${TOKEN}` })).status, 200);
  const wrong = await call({ authorization: 'Bearer nonsense' });
  assert.equal(wrong.status, 401);
  assert.equal(wrong.headers['www-authenticate'], 'Bearer');
  assert.equal((JSON.parse(wrong.text) as { error: { code: string } }).error.code, 'NOT_ALLOWED');
});

test('somebody else needs the token, whatever else they send', async () => {
  const guard = new TokenGuard(TOKEN);
  const stranger = { remoteAddress: '192.0.2.7', localAddress: '192.0.2.1' };
  const from = (headers: object) =>
    guard.refuse({ headers, socket: { ...stranger } } as unknown as IncomingMessage);
  for (const authorization of [undefined, '', 'Bearer', 'Bearer ', `Basic ${TOKEN}`, TOKEN]) {
    assert.equal((await from({ authorization }))?.status, 401, String(authorization));
  }
  assert.equal(await from({ authorization: `bearer ${TOKEN}` }), null);
});

test('Host checks know addresses from names', () => {
  const check = (host: string | undefined) =>
    refuseForeign({ headers: { host }, url: '/' } as unknown as IncomingMessage)?.status ?? 200;
  for (const host of ['127.0.0.1', '10.0.0.1:80', '[fe80::1]:53', 'localhost', 'LOCALHOST:1']) {
    assert.equal(check(host), 200, host);
  }
  for (const host of [undefined, '', 'a', '[::1', '::1', '1.2.3', 'localhost.', 'x@127.0.0.1']) {
    assert.equal(check(host), 403, String(host));
  }
});

test('bodies: bounded, JSON, an object', async (t) => {
  const { http } = await openDoors(t);
  const post = (body: string, headers = {}) =>
    send(`${http}/api/check`, 'POST', { ...JSON_TYPE, ...headers }, body);
  assert.equal((await post('{"name":"a.example"}')).status, 200);
  assert.equal((await post('{"name"')).status, 400);
  assert.equal((await post('[1]')).status, 400);
  assert.equal((await post('null')).status, 400);
  assert.equal((await post('')).status, 400, 'the name is missing');
  const long = `{"name":"${'a'.repeat(LIMITS.httpBodyBytesMax)}"}`;
  assert.equal((await post(long)).status, 413);
  assert.equal((await post(long, { 'transfer-encoding': 'chunked' })).status, 413);
});

test('statuses follow the error codes', async (t) => {
  const { http } = await openDoors(t);
  const cases: [string, string, number, string][] = [
    ['nope', '{}', 404, 'METHOD_UNKNOWN'],
    ['__proto__', '{}', 404, 'METHOD_UNKNOWN'],
    ['rules.add', '{"rule":"a b"}', 400, 'RULE_INVALID'],
    ['rules.remove', '{"rule":"a.example"}', 404, 'RULE_UNKNOWN'],
    ['lists.add', '{"name":"Starter","url":"https://a.example/"}', 409, 'LIST_EXISTS'],
    ['lists.remove', '{"name":"x"}', 404, 'LIST_UNKNOWN'],
    ['queries.search', '{"text":"slow"}', 504, 'SEARCH_TIMEOUT'],
    ['pause', '{"minutes":0}', 400, 'ARGUMENT_INVALID'],
  ];
  for (const [name, body, status, code] of cases) {
    const reply = await send(`${http}/api/${name}`, 'POST', JSON_TYPE, body);
    assert.deepEqual(
      [reply.status, (JSON.parse(reply.text) as { error: { code: string } }).error.code],
      [status, code],
      name,
    );
  }
});

test('GET takes query parameters, each once', async (t) => {
  const { http } = await openDoors(t);
  const found = await send(`${http}/api/queries.search?text=x&limit=7`, 'GET');
  assert.equal((JSON.parse(found.text) as { nextBeforeId: number }).nextBeforeId, 7);
  assert.equal((await send(`${http}/api/queries.search?limit=1&limit=2`, 'GET')).status, 400);
  assert.equal((await send(`${http}/api/queries.search?limit=x`, 'GET')).status, 400);
  assert.equal((await send(`${http}/api/queries.search?__proto__=1`, 'GET')).status, 400);
});

test('health and metrics are open, and every answer carries the security headers', async (t) => {
  const { http } = await openDoors(t);
  for (const path of ['/health', '/metrics', '/', '/api/status', '/nothing', '/api/nothing']) {
    const { headers } = await send(http + path, 'GET', { authorization: 'Bearer wrong' });
    assert.match(String(headers['content-security-policy']), /default-src 'none'/, path);
    assert.equal(headers['x-content-type-options'], 'nosniff', path);
  }
  const health = await send(`${http}/health`, 'GET', { authorization: 'Bearer wrong' });
  assert.deepEqual(
    [health.status, (JSON.parse(health.text) as { health: string }).health],
    [200, 'ok'],
  );
});

test('metrics are in the Prometheus format, each family once with HELP and TYPE', async (t) => {
  const { http, plane } = await openDoors(t);
  plane.counts = { ...plane.counts, blocked: 3, logDropped: 2 };
  const { text, headers } = await send(`${http}/metrics`, 'GET');
  assert.match(headers['content-type'] ?? '', /^text\/plain; version=0\.0\.4/);
  const declared = new Set<string>();
  for (const line of text.trimEnd().split('\n')) {
    const type = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line);
    if (type?.[1] !== undefined) {
      assert.ok(!declared.has(type[1]), `${type[1]} twice`);
      declared.add(type[1]);
    } else if (!line.startsWith('# HELP ')) {
      const sample = /^([a-z0-9_]+)(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? (\S+)$/.exec(line);
      assert.ok(sample, line);
      const name = sample[1] ?? '';
      assert.ok(declared.has(name) || declared.has(name.replace(/_(bucket|sum|count)$/, '')), line);
      assert.ok(Number.isFinite(Number(sample[4])), line);
    }
  }
  assert.match(text, /^sluice_queries_total\{outcome="blocked"\} 3$/m);
  assert.match(text, /^sluice_querylog_writers 1$/m);
  assert.match(text, /^sluice_queue_capacity\{queue="log"\} 4096$/m);
});

test('the OpenAPI document describes every method', async (t) => {
  const { http } = await openDoors(t);
  const { text } = await send(`${http}/api/openapi.json`, 'GET');
  const document = JSON.parse(text) as { paths: Record<string, Record<string, unknown>> };
  assert.deepEqual(Object.keys(document.paths['/api/status'] ?? {}), ['get', 'post']);
  assert.deepEqual(Object.keys(document.paths['/api/pause'] ?? {}), ['post']);
  assert.doesNotMatch(text, /"(description|summary)":""/);
});

test('the built window is served, and nothing outside its folder', async (t) => {
  const { http, folder } = await openDoors(t);
  assert.match((await send(`${http}/`, 'GET')).text, /The window is not built/);
  await mkdir(join(folder, 'page'));
  await writeFile(join(folder, 'page', 'index.html'), '<p>window</p>');
  const page = await send(`${http}/`, 'GET');
  assert.deepEqual([page.status, page.text], [200, '<p>window</p>']);
  assert.match(String(page.headers['content-security-policy']), /script-src 'self'/);
  for (const path of ['/../run.json', '/%2e%2e/run.json', '/..%2frun.json', '/sluice.yaml']) {
    assert.equal((await send(http + path, 'GET')).status, 404, path);
  }
});

test('the live stream sends updates while it is open, and frees its place', async (t) => {
  const { http, service, clock } = await openDoors(t);
  const response = await fetch(`${http}/api/live`);
  assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
  service.rowsLogged([{ id: 9, name: 'a.example' } as never], 1);
  clock.advance(0);
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let text = '';
  while (!text.includes('data: '))
    text += Buffer.from((await reader.read()).value ?? []).toString();
  const update = JSON.parse(/data: (.*)\n/.exec(text)?.[1] ?? '') as LiveUpdate;
  assert.deepEqual([update.rows[0]?.name, update.rowsLeftOut], ['a.example', 1]);
  await reader.cancel();
  const depth = async () =>
    (await service.call('status', {})).queues.find(({ name }) => name === 'live subscribers')
      ?.depth;
  while ((await depth()) !== 0) await new Promise((resolve) => setTimeout(resolve, 5));
});

test('a subscriber that reads nothing costs one update; what it missed is counted', async (t) => {
  const { http, service, clock } = await openDoors(t);
  const sent = request(`${http}/api/live`, { agent: false });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const rounds = 4_000;
  const row = { id: 1, name: 'x'.repeat(200) } as never;
  const rows = Array.from({ length: LIMITS.liveRowsMax }, () => row);
  const before = process.memoryUsage().rss;
  for (let round = 0; round < rounds; round++) {
    service.rowsLogged(rows, 0);
    clock.advance(LIMITS.liveIntervalMs);
    if (round % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  const grownMiB = (process.memoryUsage().rss - before) / 2 ** 20;
  assert.ok(grownMiB < 60, `grew by ${grownMiB.toFixed(0)} MiB; all updates are 90 MiB and more`);
  let accounted = 0;
  let updates = 0;
  let text = '';
  response.setEncoding('utf8');
  for await (const part of response as AsyncIterable<string>) {
    text += part;
    const messages = text.split('\n\n');
    text = messages.pop() ?? '';
    for (const message of messages.filter((line) => line.startsWith('data: '))) {
      const update = JSON.parse(message.slice(6)) as LiveUpdate;
      accounted += update.rows.length + update.rowsLeftOut;
      updates++;
    }
    if (accounted >= rounds * rows.length) break;
  }
  assert.equal(accounted, rounds * rows.length);
  assert.ok(updates < rounds / 2, `${String(updates)} updates were kept for it`);
});

test('connections that never ask anything make room for one that does', async (t) => {
  const { http, service } = await openDoors(t);
  const { hostname, port } = new URL(http);
  const silent = Array.from({ length: LIMITS.httpConnectionsMax + 20 }, () =>
    connect(Number(port), hostname).on('error', () => undefined),
  );
  t.after(() => {
    for (const socket of silent) socket.destroy();
  });
  await Promise.all(silent.map((socket) => once(socket, 'connect')));
  assert.equal((await fetch(`${http}/health`)).status, 200);
  const { queues } = await service.call('status', {});
  const clients = queues.find(({ name }) => name === 'HTTP clients');
  assert.ok((clients?.dropped ?? 0) >= 21);
  assert.ok((clients?.depth ?? 0) <= LIMITS.httpConnectionsMax);
});
