/**
 * What clients of the HTTP door can cost: handles, memory, and each other's places.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, connect, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { LIMITS } from '../../../main/contract/limits.ts';
import { openHttpDoor, type DoorPlace } from '../../../main/api/http/door.ts';
import { handleLimit, handlesFor } from '../../../main/net/handle-limit.ts';
import { openDoors } from '../open-doors.ts';
import { sendRaw, sendRequest } from './send-request.ts';

const isLinux = process.platform === 'linux';

function handles(): number {
  return readdirSync('/proc/self/fd').length;
}

async function untilHandles(count: number): Promise<void> {
  while (handles() > count) await new Promise((resolve) => setTimeout(resolve, 10));
}

/** The doors with a built window. */
async function openWithPage(t: TestContext) {
  const doors = await openDoors(t);
  await mkdir(join(doors.folder, 'page', 'assets'), { recursive: true });
  await writeFile(join(doors.folder, 'page', 'index.html'), '<p>window</p>');
  await writeFile(join(doors.folder, 'page', 'assets', 'app.js'), 'x'.repeat(4 * 1024 * 1024));
  return { ...doors, url: new URL(doors.http) };
}

function open(url: URL): Promise<Socket> {
  const socket = connect(Number(url.port), url.hostname).on('error', () => undefined);
  return once(socket, 'connect').then(() => socket);
}

test('aborted requests for files leave no handle open', { skip: !isLinux }, async (t) => {
  const { http, url } = await openWithPage(t);
  assert.equal((await fetch(`${http}/assets/app.js`)).status, 200);
  const before = handles();
  for (let round = 0; round < 200; round++) {
    const socket = await open(url);
    socket.write(`GET /assets/app.js HTTP/1.1\r\nHost: ${url.host}\r\n\r\n`);
    await once(socket, 'readable');
    socket.destroy();
  }
  await untilHandles(before);
  assert.equal((await fetch(`${http}/`)).status, 200);
});

test(
  'a flood of pipelined requests that nobody reads opens nothing',
  { skip: !isLinux },
  async (t) => {
    const { http, url } = await openWithPage(t);
    assert.equal((await fetch(`${http}/`)).status, 200);
    const before = handles();
    const request = `GET /assets/app.js HTTP/1.1\r\nHost: ${url.host}\r\n\r\n`;
    const sockets = await Promise.all(Array.from({ length: 40 }, () => open(url)));
    for (const socket of sockets) socket.pause().write(request.repeat(100));
    assert.equal((await fetch(`${http}/health`)).status, 200);
    // Both ends of each connection are in this process.
    assert.ok(
      handles() <= before + 2 * 40 + 4,
      `${String(handles())} handles, ${String(before)} before`,
    );
    for (const socket of sockets) socket.destroy();
    await untilHandles(before + 4);
    assert.equal((await fetch(`${http}/`)).status, 200);
  },
);

test('pipelined requests are answered one at a time, in order, up to a bound', async (t) => {
  const { http, url, token, plane } = await openWithPage(t);
  let running = 0;
  let most = 0;
  const states = plane.upstreamStates.bind(plane);
  plane.upstreamStates = async () => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setTimeout(resolve, 5));
    running--;
    return states();
  };
  const head = `Host: ${url.host}\r\nAuthorization: Bearer ${token.value}\r\n\r\n`;
  const call = `GET /api/upstreams.list HTTP/1.1\r\n${head}`;
  const text = await sendRaw(http, call.repeat(100));
  assert.equal(text.match(/HTTP\/1\.1 200 OK/g)?.length, LIMITS.httpPipelineMax);
  assert.equal(text.match(/connection: close/gi)?.length, 1, 'the last one says so');
  assert.equal(most, 1);
});

test('connections without the token make room for others', async (t) => {
  const { http, service, token, url } = await openWithPage(t);
  const kept = await open(url);
  kept.write(
    `GET /api/live HTTP/1.1\r\nHost: ${url.host}\r\nAuthorization: Bearer ${token.value}\r\n\r\n`,
  );
  await once(kept, 'data');
  const others = await Promise.all(
    Array.from({ length: LIMITS.httpConnectionsMax + 20 }, async (_, index) => {
      const socket = await open(url);
      // Some say nothing, some ask for what needs no token.
      if (index % 2 === 0) socket.write(`GET /health HTTP/1.1\r\nHost: ${url.host}\r\n\r\n`);
      return socket;
    }),
  );
  t.after(() => {
    for (const socket of [kept, ...others]) socket.destroy();
  });
  assert.equal((await fetch(`${http}/health`)).status, 200);
  const { queues } = await service.call('status', {});
  const clients = queues.find(({ name }) => name === 'HTTP clients');
  assert.ok((clients?.dropped ?? 0) >= 21);
  assert.ok((clients?.depth ?? 0) <= LIMITS.httpConnectionsMax);
  assert.ok(!kept.destroyed, 'the one with the token stays');
});

test('a body that was refused is not taken for the next request', async (t) => {
  const { http, url } = await openWithPage(t);
  const inner = `GET /health HTTP/1.1\r\nHost: ${url.host}\r\n\r\n`;
  const head = `Host: ${url.host}\r\nContent-Length: ${String(inner.length + 10)}\r\n\r\n`;
  const text = await sendRaw(http, `POST /api/pause HTTP/1.1\r\n${head}${inner}`);
  assert.equal(text.match(/HTTP\/1\.1/g)?.length, 1);
  assert.match(text, /^HTTP\/1\.1 401 [^]*connection: close/i);
});

test('a door that cannot take connections is closed, told and opened again', async (t) => {
  const { service, folder, token } = await openDoors(t);
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const servers: { emit(event: 'error', error: Error): boolean }[] = [];
  const door = await openHttpDoor(
    {
      name: 'test',
      listen: { host: '127.0.0.1', port: 0 },
      onListening: (server) => servers.push(server),
    },
    {
      ...{ service, version: '1', pageFolder: join(folder, 'page') },
      access: { token: () => token.value, hosts: () => [] },
    },
  );
  t.after(async () => {
    probe.close();
    await door.close();
  });
  const http = `http://127.0.0.1:${String(door.port)}`;
  servers[0]?.emit('error', Object.assign(new Error('accept EMFILE'), { code: 'EMFILE' }));
  const { degradedReasons } = service.health();
  assert.match(degradedReasons.join(), /door for test is closed for a while: accept EMFILE/);
  while (servers.length < 2) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.equal((await sendRequest(`${http}/health`, 'GET')).status, 200);
  assert.deepEqual(service.health().degradedReasons, []);
});

test('an address that is not there yet is told in health until it is', async (t) => {
  const { service, folder, token } = await openDoors(t);
  const missing = Object.assign(new Error('not there'), { code: 'EADDRNOTAVAIL' });
  let missed = 0;
  const opened = Promise.withResolvers<number>();
  const place: DoorPlace = {
    name: 'late',
    listen: { host: '127.0.0.1', port: 0 },
    around: (listen) => {
      if (missed === 2) listen();
      else throw (missed++, missing);
    },
    onListening: (server) => {
      opened.resolve((server.address() as AddressInfo).port);
    },
    isPassing: ({ code }) => code === 'EADDRNOTAVAIL',
  };
  const access = { token: () => token.value, hosts: () => [] };
  const options = { service, version: '1.2.3', pageFolder: join(folder, 'page'), access };
  await assert.rejects(openHttpDoor({ ...place, isPassing: () => false }, options), missing);
  missed = 0;
  const door = await openHttpDoor(place, options);
  t.after(() => door.close());
  assert.deepEqual([door.address, door.port], ['', 0]);
  assert.match(service.health().degradedReasons.join(), /door for late is closed .*not there/);
  const port = await opened.promise;
  const health = `http://127.0.0.1:${String(port)}/health`;
  assert.equal((await sendRequest(health, 'GET')).status, 200);
  assert.deepEqual(service.health().degradedReasons, []);
});

test('where handles are few, a part takes fewer', { skip: !isLinux }, () => {
  assert.ok((handleLimit() ?? 0) > 0);
  assert.equal(handleLimit('/no/such/file'), null);
  assert.equal(handlesFor(256, 64), 4);
  assert.equal(handlesFor(256, 10), 4);
  assert.equal(handlesFor(256, 1_024), 244);
  assert.equal(handlesFor(256, 1_048_576), 256);
  assert.equal(handlesFor(256, null), 256);
});
