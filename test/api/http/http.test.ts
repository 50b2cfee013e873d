/**
 * The HTTP door: what it takes, how it refuses it, and what else it serves. Who gets in is in
 * http-guard.test.ts, what it bears in http-bounds.test.ts.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { request, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { UploadReceipt } from '../../../main/contract/methods/import.ts';
import { LIMITS } from '../../../main/contract/limits.ts';
import type { LiveUpdate } from '../../../main/contract/methods/methods.ts';
import { openDoors } from '../open-doors.ts';
import { sendRequest } from './send-request.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

/** The doors, and requests that carry the token unless they say otherwise. */
async function openAllowed(t: TestContext) {
  const doors = await openDoors(t);
  const headers = { authorization: `Bearer ${doors.token.value}` };
  const send = (url: string, method: string, more: OutgoingHttpHeaders = {}, body = '') =>
    sendRequest(url, method, { ...headers, ...more }, body);
  return { ...doors, headers, send };
}

test('a form or a preflight of another page is refused', async (t) => {
  const { http, send } = await openAllowed(t);
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

test('bodies: bounded, JSON, an object', async (t) => {
  const { http, send } = await openAllowed(t);
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
  const { http, send } = await openAllowed(t);
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
  const { http, send } = await openAllowed(t);
  const found = await send(`${http}/api/queries.search?text=x&limit=7`, 'GET');
  assert.equal((JSON.parse(found.text) as { nextBeforeId: number }).nextBeforeId, 7);
  assert.equal((await send(`${http}/api/queries.search?limit=1&limit=2`, 'GET')).status, 400);
  assert.equal((await send(`${http}/api/queries.search?limit=x`, 'GET')).status, 400);
  assert.equal((await send(`${http}/api/queries.search?__proto__=1`, 'GET')).status, 400);
});

test('health and metrics are open, and every answer carries the security headers', async (t) => {
  const { http, send } = await openAllowed(t);
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
  const { http, plane, send } = await openAllowed(t);
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
  const { http, send } = await openAllowed(t);
  const { text } = await send(`${http}/api/openapi.json`, 'GET');
  const document = JSON.parse(text) as { paths: Record<string, Record<string, unknown>> };
  assert.deepEqual(Object.keys(document.paths['/api/status'] ?? {}), ['get', 'post']);
  assert.deepEqual(Object.keys(document.paths['/api/pause'] ?? {}), ['post']);
  assert.doesNotMatch(text, /"(description|summary)":""/);
});

test('the built window is served, and nothing outside its folder', async (t) => {
  const { http, folder, send } = await openAllowed(t);
  assert.match((await send(`${http}/`, 'GET')).text, /The window is not built/);
  await mkdir(join(folder, 'page'));
  await writeFile(join(folder, 'page', 'index.html'), '<p>window</p>');
  const page = await send(`${http}/`, 'GET');
  assert.deepEqual([page.status, page.text], [200, '<p>window</p>']);
  assert.match(String(page.headers['content-security-policy']), /script-src 'self'/);
  for (const path of ['/sluice.yaml', '/run.json', '/index.html/x', '/page/index.html']) {
    assert.equal((await send(http + path, 'GET')).status, 404, path);
  }
  const { etag = '' } = page.headers;
  const again = await send(`${http}/`, 'GET', { 'if-none-match': etag });
  assert.deepEqual([again.status, again.text], [304, '']);
  assert.equal(page.headers['cache-control'], 'no-cache');
  // Read once: what the folder holds later opens nothing.
  await writeFile(join(folder, 'page', 'later.html'), 'x');
  assert.equal((await send(`${http}/later.html`, 'GET')).status, 404);
});

test('the live stream sends updates while it is open, and frees its place', async (t) => {
  const { http, service, clock, headers } = await openAllowed(t);
  const response = await fetch(`${http}/api/live`, { headers });
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
  const { http, service, clock, headers } = await openAllowed(t);
  const sent = request(`${http}/api/live`, { agent: false, headers });
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

test('a file is sent as it is, used by its id, and gone when the client goes', async (t) => {
  const { http, service, send, headers, folder } = await openAllowed(t);
  const sent = await send(`${http}/api/uploads`, 'POST', {}, '0.0.0.0 bad.example\n');
  const { id, bytes } = JSON.parse(sent.text) as UploadReceipt;
  assert.equal(bytes, 20);
  const body = JSON.stringify({ upload: id });
  for (const name of ['import.preview', 'import.apply']) {
    const reply = await send(`${http}/api/${name}`, 'POST', JSON_TYPE, body);
    assert.equal(reply.status, 200, reply.text);
  }
  assert.deepEqual((await service.call('rules.list', {})).rules, ['|bad.example^']);
  const again = await send(`${http}/api/import.apply`, 'POST', JSON_TYPE, body);
  assert.equal(again.status, 404, 'what was applied is gone');
  assert.equal((await send(`${http}/api/uploads`, 'GET')).status, 405);

  const cut = request(`${http}/api/uploads`, {
    ...{ method: 'POST', agent: false },
    headers: { ...headers, 'content-length': 1_000_000 },
  }).on('error', () => undefined);
  cut.write('x'.repeat(100_000));
  while (service.uploads.bytes === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  cut.destroy();
  while (service.uploads.bytes > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  while ((await readdir(join(folder, 'uploads'))).length > 0) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
});

test('a saved file comes back as the answer, not as a file of this machine', async (t) => {
  const { http, send, folder } = await openAllowed(t);
  const reply = await send(`${http}/api/settings.export`, 'POST', JSON_TYPE, '{}');
  const { name, text } = JSON.parse(reply.text) as { name: string; text: string };
  assert.match(name, /^sluice-\d{4}-\d\d-\d\d\.json$/);
  const upload = await send(`${http}/api/uploads`, 'POST', {}, text);
  const { id } = JSON.parse(upload.text) as UploadReceipt;
  const restored = await send(
    `${http}/api/settings.import`,
    ...(['POST', JSON_TYPE, JSON.stringify({ upload: id })] as const),
  );
  assert.equal(restored.status, 200, restored.text);
  const path = join(folder, 'autostart.desktop');
  const old = JSON.stringify({ path });
  const refused = await send(`${http}/api/settings.export`, 'POST', JSON_TYPE, old);
  assert.equal(refused.status, 400);
  assert.ok(!(await readdir(folder)).includes('autostart.desktop'));
});
