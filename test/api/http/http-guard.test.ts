/**
 * Who gets through the HTTP door: Host, Origin, forms of the target, the token.
 */
import assert from 'node:assert/strict';
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { hostname } from 'node:os';
import { test } from 'node:test';
import { OwnNames, refuseForeign, TokenGuard } from '../../../main/api/http/guard.ts';
import { parseTarget, type Target } from '../../../main/api/http/target.ts';
import { openDoors } from '../open-doors.ts';
import { sendRaw, sendRequest } from './send-request.ts';

test('a page of another site gets nowhere, even with the token', async (t) => {
  const { http, service, token, store } = await openDoors(t);
  await store.replaceText('http: { listen: "127.0.0.1:0", hosts: ["dns.home.example"] }\n');
  const own = new URL(http).host;
  const named = 'dns.home.example';
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
    [{ host: own, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }, 403],
    [{ host: named, origin: 'https://evil.example' }, 403],
    [{ host: named, origin: `https://${named}.evil.example` }, 403],
    [{ host: named, origin: `https://evil.example/${named}` }, 403],
    [{ host: named, origin: `https://${named}:444` }, 403],
    [{ host: `x.${named}` }, 403],
    [{ host: own, origin: `http://${own}`, 'sec-fetch-site': 'same-origin' }, 200],
    [{ host: 'localhost:9', 'sec-fetch-site': 'none' }, 200],
    [{ host: '[::1]:8053' }, 200],
    [{ host: own }, 200],
    // Behind a proxy that encrypts, which may keep the Host or put its own in place.
    [{ host: named, origin: `https://${named}`, 'sec-fetch-site': 'same-origin' }, 200],
    [{ host: own, origin: `https://${named}`, 'sec-fetch-site': 'same-origin' }, 200],
    [{ host: `${named}:8443`, origin: `https://${named}:8443` }, 200],
    [{ host: 'DNS.Home.Example' }, 200],
  ];
  for (const [headers, status] of cases) {
    const all = {
      'content-type': 'application/json',
      authorization: `Bearer ${token.value}`,
      ...headers,
    };
    const reply = await sendRequest(`${http}/api/pause`, 'POST', all, '{}');
    assert.equal(reply.status, status, JSON.stringify(headers));
    assert.equal(reply.headers['access-control-allow-origin'], undefined);
    const { protection } = await service.call('status', {});
    assert.equal(protection.state, status === 200 ? 'off' : 'on', JSON.stringify(headers));
    await service.call('resume', {});
  }
});

test('another site may link to the window, and not embed, load or time anything', async (t) => {
  const { http } = await openDoors(t);
  const get = async (path: string, mode: string, destination: string) =>
    (
      await sendRequest(http + path, 'GET', {
        'sec-fetch-site': 'cross-site',
        'sec-fetch-mode': mode,
        'sec-fetch-dest': destination,
      })
    ).status;
  assert.equal(await get('/', 'navigate', 'document'), 200);
  for (const path of ['/', '/health', '/metrics', '/assets/a.js', '/api/status']) {
    assert.equal(await get(path, 'navigate', 'iframe'), 403, path);
    assert.equal(await get(path, 'no-cors', 'script'), 403, path);
    assert.equal(await get(path, 'cors', 'empty'), 403, path);
  }
  assert.equal(await get('/api/status', 'navigate', 'document'), 403);
});

test('the host is an address, localhost, a name of this machine or one that was given', () => {
  const given: string[] = [];
  const names = new OwnNames(
    () => given,
    () => 'Box.home.arpa',
  );
  const target = parseTarget('/') as Target;
  const check = (host: string | undefined) =>
    refuseForeign({ method: 'GET', headers: { host } }, target, names)?.status ?? 200;
  for (const host of [
    ...['127.0.0.1', '10.0.0.1:80', '[fe80::1]:53', 'localhost', 'LOCALHOST:1'],
    ...['box', 'Box:8053', 'box.local', 'BOX.LOCAL:8053', 'box.home.arpa:1'],
  ]) {
    assert.equal(check(host), 200, host);
  }
  for (const host of [
    ...[undefined, '', 'a', '[::1', '::1', '1.2.3', 'localhost.', 'x@127.0.0.1', '[1.2.3.4]'],
    ...['box.evil.example', 'evil.example', 'box.local.', 'home.arpa', 'dns.home.example'],
    ...['box.local:1:2', 'box local', 'localhost/x'],
  ]) {
    assert.equal(check(host), 403, String(host));
  }
  given.push('DNS.home.example');
  assert.equal(check('dns.home.example:8053'), 200, 'a name that was given meanwhile');
  const nameless = new OwnNames(
    () => [],
    () => '',
  );
  assert.ok(!nameless.has('.local') && !nameless.has(''));
});

test('Prometheus gets the figures by the name of the machine', async (t) => {
  const { http } = await openDoors(t);
  const { port } = new URL(http);
  const reply = await sendRequest(`${http}/metrics`, 'GET', { host: `${hostname()}:${port}` });
  assert.equal(reply.status, 200);
});

/** Forms of a target, and the path that is served for it; null for none. RFC 9112 §3.2. */
const TARGETS: [target: string, path: string | null][] = [
  ['/', '/'],
  ['/api/status', '/api/status'],
  ['/api/services.safe-search', '/api/services.safe-search'],
  ['/assets/index-B2x_3~.js', '/assets/index-B2x_3~.js'],
  ['/api/queries.search?text=a%20b&limit=1', '/api/queries.search'],
  ['/?desktop', '/'],
  ['//x/api/status', null],
  ['//api/status', null],
  ['/x//api/status', null],
  ['/api//status', null],
  ['/x/../api/status', null],
  ['/./api/status', null],
  ['/api/./status', null],
  ['/api/../health', null],
  ['/..', null],
  ['/.hidden', null],
  ['/%2e%2e/api/status', null],
  ['/%2e/api/status', null],
  ['/x/%2e%2e/api/status', null],
  ['/%61pi/status', null],
  ['/api%2fstatus', null],
  ['/api/st%61tus', null],
  ['/api/status%00', null],
  ['/\\x/api/status', null],
  ['\\\\x\\api\\status', null],
  ['/x\\..\\api/status', null],
  ['/api;x/status', null],
  ['/api/status#x', null],
  ['/api/status?x#y', null],
  ['/api/status?a=\\', null],
  ['/api/\u00e9', null],
  ['http://127.0.0.1/api/status', null],
  ['http://evil.example/api/status', null],
  ['HTTP:/api/status', null],
  ['https:api/status', null],
  ['ws://x/api/status', null],
  ['127.0.0.1:80', null],
  ['*', null],
  ['api/status', null],
  ['?/api/status', null],
  ['', null],
];

test('a target has one form and one reading', () => {
  for (const [target, path] of TARGETS) {
    assert.equal(parseTarget(target)?.path ?? null, path, target);
  }
});

test('no form of a target gets past the check for foreign pages or the token', async (t) => {
  const { http, token } = await openDoors(t);
  const { host } = new URL(http);
  for (const [target, path] of TARGETS) {
    if (target === '' || /[^!-~]/.test(target)) continue; // not a request line at all
    const ask = (more: string) =>
      sendRaw(http, `GET ${target} HTTP/1.1\r\nHost: ${host}\r\n${more}Connection: close\r\n\r\n`);
    const foreign = await ask(
      `Authorization: Bearer ${token.value}\r\nSec-Fetch-Site: cross-site\r\n`,
    );
    assert.match(foreign, path === null ? /^HTTP\/1\.1 400 / : /^HTTP\/1\.1 403 /, target);
    const nameless = await ask('');
    const wanted = path === null ? 400 : path.startsWith('/api/') ? 401 : '(200|404)';
    assert.match(nameless, new RegExp(`^HTTP/1\\.1 ${String(wanted)} `), target);
  }
});

test('the token is needed, also by programs of the same user', async (t) => {
  const { http, token } = await openDoors(t);
  for (const path of ['status', 'queries.search', 'live', 'openapi.json', 'uploads', 'nope']) {
    const reply = await sendRequest(`${http}/api/${path}`, 'GET');
    assert.equal(reply.status, 401, path);
    assert.equal(reply.headers['www-authenticate'], 'Bearer');
    const { error } = JSON.parse(reply.text) as { error: { code: string } };
    assert.equal(error.code, 'NOT_ALLOWED');
  }
  const call = (authorization: string) =>
    sendRequest(`${http}/api/status`, 'GET', { authorization });
  assert.equal((await call(`Bearer ${token.value}`)).status, 200);
  assert.equal((await call('Bearer nonsense')).status, 401);
  await token.renew();
  assert.equal((await call(`Bearer ${token.value}`)).status, 200);
});

test('nothing but the token is one', () => {
  const guard = new TokenGuard(() => 'secret');
  const from = (authorization: string | undefined) =>
    guard.refuse({ headers: { authorization } as IncomingMessage['headers'] });
  for (const authorization of [undefined, '', 'Bearer', 'Bearer ', 'Basic secret', 'secret']) {
    assert.equal(from(authorization)?.status, 401, String(authorization));
  }
  assert.equal(from('bearer secret'), null);
});
