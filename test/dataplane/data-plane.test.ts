/**
 * The data plane as a whole: real threads, real sockets, a fake upstream.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { DataPlane } from '../../main/dataplane/data-plane.ts';
import type { DataPlaneOptions } from '../../main/dataplane/data-plane.ts';
import type { UnservedEndpoint } from '../../main/dataplane/listeners.ts';
import type { PolicyMessage, UpstreamNews } from '../../main/dataplane/messages.ts';
import { compileRules } from '../../main/lists/compile/rules.ts';
import { LogRing } from '../../main/log/ring.ts';
import { canReusePort } from '../../main/net/listen/packet-handler.ts';
import { certificates } from '../support/certificates.ts';
import { askTcp, askUdp } from '../support/dns-client.ts';
import type { Answer } from '../support/dns-client.ts';
import {
  addressOfName,
  answerAddress,
  answerByName,
  delayed,
  FakeUpstream,
  silent,
} from '../support/fake-upstream.ts';
import { FakeSecureUpstream } from '../support/fake-secure-upstream.ts';

const NO_SHARING = 'needs a runtime that shares ports: Linux and Node 22.12 or later';

function policy(version: number, rules: readonly string[]): PolicyMessage {
  return {
    version,
    filtering: true,
    blockingAnswer: 'null-address',
    blockingTtlSeconds: 10,
    rules: compileRules(rules),
    lists: compileRules([]),
    cache: {
      entriesMax: 1_000,
      ttlMinSeconds: 0,
      ttlMaxSeconds: 86_400,
      staleSecondsMax: 0,
      staleOff: [],
      prefetch: true,
      persist: false,
    },
    rebinding: { enabled: false, sharedSpace: false, allow: [] },
    access: { allow: [{ bytes: new Uint8Array(16), bits: 0 }], exempt: [], queriesPerSecond: 0 },
    logMode: 'full',
  };
}

interface Started {
  plane: DataPlane;
  endpoint: string;
  faults: string[];
  rings: SharedArrayBuffer[];
}

async function start(
  t: TestContext,
  upstreams: readonly string[],
  changes: Partial<DataPlaneOptions> = {},
): Promise<Started> {
  const faults: string[] = [];
  const threads = changes.threads ?? 1;
  const rings = Array.from({ length: threads }, () => LogRing.createBuffer(1_024));
  const plane = await DataPlane.start({
    listen: ['127.0.0.1:0'],
    upstreams,
    threads,
    rings,
    policy: policy(1, ['||blocked.example^']),
    onFault: (reason) => {
      faults.push(reason);
    },
    ...changes,
  });
  t.after(() => plane.close());
  return { plane, endpoint: plane.listening[0] ?? '', faults, rings };
}

function addressIn(answer: Answer): string {
  const [record] = answer.answers ?? [];
  return record?.type === 'A' ? record.data : answer.rcode;
}

async function until(isTrue: () => boolean): Promise<void> {
  const untilMs = performance.now() + 10_000;
  while (!isTrue()) {
    assert.ok(performance.now() < untilMs, 'waited 10 s');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Collects the threads that are started meanwhile. */
function watchThreads(t: TestContext): Worker[] {
  const workers: Worker[] = [];
  const note = (worker: Worker): void => {
    workers.push(worker);
  };
  process.on('worker', note);
  t.after(() => process.off('worker', note));
  return workers;
}

for (const udp of ['dgram', 'auto']) {
  test(`blocked, forwarded, cached, counted and logged; UDP by ${udp}`, async (t) => {
    const before = process.env['SLUICE_UDP'];
    process.env['SLUICE_UDP'] = udp;
    t.after(() => {
      if (before === undefined) delete process.env['SLUICE_UDP'];
      else process.env['SLUICE_UDP'] = before;
    });
    const served = await checkAnswers(t);
    if (udp === 'dgram') assert.match(served, /^one packet at a time/);
  });
}

/** @returns  how UDP was served */
async function checkAnswers(t: TestContext): Promise<string> {
  const upstream = await FakeUpstream.open(t, answerByName);
  const { plane, rings } = await start(t, [upstream.endpoint], {
    listen: ['127.0.0.1:0', '[::1]:0'],
  });
  assert.match(plane.listening[1] ?? '', /^\[::1\]:\d+$/);
  assert.deepEqual(plane.upstreams, [upstream.endpoint]);
  for (const endpoint of plane.listening) {
    assert.equal(addressIn(await askUdp(endpoint, 'ads.blocked.example')), '0.0.0.0');
    assert.equal(addressIn(await askTcp(endpoint, 'blocked.example')), '0.0.0.0');
    assert.equal(addressIn(await askUdp(endpoint, 'a.example')), addressOfName('a.example'));
    assert.equal(addressIn(await askTcp(endpoint, 'a.example')), addressOfName('a.example'));
  }
  assert.equal(upstream.queries.length, 1);
  // A thread counts an answer after it has sent it.
  await until(() => plane.counters().answered === 8);
  const counters = plane.counters();
  assert.deepEqual(
    [counters.received, counters.answered, counters.blocked, counters.forwarded, counters.cached],
    [8, 8, 4, 1, 3],
  );
  assert.equal(counters.logged, 8);
  assert.equal(new LogRing(rings[0] as SharedArrayBuffer).depth, 8);
  const { local, upstream: forwarded } = plane.latency();
  assert.ok(local.p50Us > 0 && local.p999Us < 1_000_000, JSON.stringify(local));
  assert.ok(forwarded.p50Us > 0, JSON.stringify(forwarded));
  return plane.udp;
}

test('a new policy acts on cached names, and a bad one is refused without harm', async (t) => {
  const upstream = await FakeUpstream.open(t, answerByName);
  const { plane, endpoint, faults } = await start(t, [upstream.endpoint]);
  assert.equal(addressIn(await askUdp(endpoint, 'a.example')), addressOfName('a.example'));
  plane.setPolicy(policy(2, ['||a.example^']));
  await plane.settled();
  assert.equal(addressIn(await askUdp(endpoint, 'a.example')), '0.0.0.0');
  plane.setPolicy({ ...policy(3, []), lists: { table: new SharedArrayBuffer(8), program: null } });
  await plane.settled();
  assert.match(faults[0] ?? '', /policy 3 was refused/);
  assert.equal(addressIn(await askUdp(endpoint, 'a.example')), '0.0.0.0');
  assert.equal(plane.restarts, 0);
});

test('the cache can be flushed, and upstreams exchanged, while running', async (t) => {
  const first = await FakeUpstream.open(t, answerAddress('192.0.2.1'));
  const second = await FakeUpstream.open(t, answerAddress('192.0.2.2'));
  const { plane, endpoint } = await start(t, [first.endpoint]);
  assert.equal(addressIn(await askUdp(endpoint, 'a.example')), '192.0.2.1');
  plane.setUpstreams([second.endpoint]);
  await plane.settled();
  assert.deepEqual(plane.upstreams, [second.endpoint]);
  assert.equal(addressIn(await askUdp(endpoint, 'a.example')), '192.0.2.1');
  plane.flushCache();
  plane.resetUpstreams();
  await plane.settled();
  assert.equal(addressIn(await askUdp(endpoint, 'a.example')), '192.0.2.2');
  assert.throws(() => {
    plane.setUpstreams(['nonsense']);
  });
  assert.deepEqual(plane.upstreams, [second.endpoint]);
});

for (const [how, end] of [
  ['throws', (worker: Worker) => worker.postMessage({ kind: 'upstreams', servers: null })],
  ['is ended', (worker: Worker) => void worker.terminate()],
] as const) {
  test(`a thread that ${how} is started again: same port, totals kept, last policy`, async (t) => {
    const upstream = await FakeUpstream.open(t, answerByName);
    const workers = watchThreads(t);
    const { plane, endpoint, faults } = await start(t, [upstream.endpoint]);
    plane.setPolicy(policy(2, ['||later.example^']));
    await plane.settled();
    await askUdp(endpoint, 'a.example');
    await askUdp(endpoint, 'later.example');
    await until(() => plane.counters().answered === 2);
    end(workers[0] as Worker);
    await until(() => plane.restarts === 1);
    await until(() => workers.length === 2);
    await once(workers[1] as Worker, 'message');
    assert.equal(addressIn(await askUdp(endpoint, 'later.example')), '0.0.0.0');
    assert.equal(addressIn(await askTcp(endpoint, 'b.example')), addressOfName('b.example'));
    await until(() => plane.counters().answered === 4);
    assert.equal(plane.counters().blocked, 2);
    assert.equal(plane.counters().pending, 0);
    assert.match(faults[0] ?? '', /data-plane thread 1 ended and is started again/);
  });
}

test('a thread that cannot get its port back tries until it can', async (t) => {
  const upstream = await FakeUpstream.open(t, answerByName);
  const workers = watchThreads(t);
  const { endpoint, faults } = await start(t, [upstream.endpoint]);
  const port = Number(endpoint.split(':')[1]);
  await (workers[0] as Worker).terminate();
  const thief = createServer().listen(port, '127.0.0.1');
  await once(thief, 'listening');
  await until(() =>
    faults.some((text) => /cannot listen on .* it is used by this process/.test(text)),
  );
  thief.close();
  const untilMs = performance.now() + 10_000;
  let address = '';
  while (address === '' && performance.now() < untilMs) {
    address = await askUdp(endpoint, 'blocked.example', 'A', { timeoutMs: 200 }).then(
      addressIn,
      () => '',
    );
  }
  assert.equal(address, '0.0.0.0');
});

async function takenPort(t: TestContext): Promise<{ endpoint: string; free(): Promise<void> }> {
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  const free = async (): Promise<void> => {
    if (!holder.listening) return;
    holder.close();
    await once(holder, 'close');
  };
  t.after(free);
  return { endpoint: `127.0.0.1:${String((holder.address() as AddressInfo).port)}`, free };
}

test('a port in use: start fails with the reason, and nothing is left running', async (t) => {
  const workers = watchThreads(t);
  const { endpoint } = await takenPort(t);
  await assert.rejects(start(t, ['127.0.0.1:9'], { listen: [endpoint] }), {
    code: 'PORT_IN_USE',
    message: new RegExp(`${endpoint.replaceAll('.', '\\.')} \\(TCP\\)`),
  });
  assert.equal(workers.length, 1);
  assert.equal(workers[0]?.threadId, -1);
});

test('a port in use keeps no other address from serving', async (t) => {
  const upstream = await FakeUpstream.open(t, answerByName);
  const { endpoint } = await takenPort(t);
  const told: (readonly UnservedEndpoint[])[] = [];
  const { plane } = await start(t, [upstream.endpoint], {
    listen: [endpoint, '127.0.0.1:0'],
    onUnserved: (unserved) => told.push(unserved),
  });
  const [served = '', ...others] = plane.listening;
  assert.deepEqual(others, []);
  assert.equal(addressIn(await askUdp(served, 'blocked.example')), '0.0.0.0');
  assert.deepEqual(
    told.map((unserved) => unserved.map((one) => one.endpoint)),
    [[endpoint]],
  );
  assert.match(told[0]?.[0]?.reason ?? '', /it is used by this process/);
  // A thread that starts anew listens on the same port.
  plane.lookAtListeners(true);
  await plane.settled();
  assert.deepEqual(plane.listening, [served]);
});

test('wrong addresses are refused before any thread starts', async (t) => {
  const workers = watchThreads(t);
  await assert.rejects(start(t, ['nonsense']), { code: 'CONFIG_INVALID' });
  await assert.rejects(start(t, [], { listen: ['localhost:53'] }), { code: 'CONFIG_INVALID' });
  assert.equal(workers.length, 0);
});

test('two threads share the port; a second instance does not', async (t) => {
  if (!canReusePort()) {
    t.skip(NO_SHARING);
    return;
  }
  const upstream = await FakeUpstream.open(t, answerByName);
  const workers = watchThreads(t);
  const { plane, endpoint, faults, rings } = await start(t, [upstream.endpoint], { threads: 2 });
  assert.equal(workers.length, 2);
  for (let index = 0; index < 64; index++) {
    assert.equal(addressIn(await askUdp(endpoint, 'blocked.example')), '0.0.0.0');
  }
  await until(() => plane.counters().blocked === 64);
  const depths = rings.map((ring) => new LogRing(ring).depth);
  assert.ok(
    depths.every((depth) => depth > 0),
    String(depths),
  );
  await assert.rejects(start(t, ['127.0.0.1:9'], { threads: 2, listen: [endpoint] }), {
    code: 'PORT_IN_USE',
  });
  assert.deepEqual(faults, []);
});

test('without port sharing two threads become one, and it is said', async (t) => {
  const upstream = await FakeUpstream.open(t, answerByName);
  const { plane, endpoint, faults } = await start(t, [upstream.endpoint], {
    threads: 2,
    mayReusePort: false,
  });
  assert.equal(plane.threads, 1);
  assert.match(faults[0] ?? '', /^one data-plane thread instead of 2/);
  assert.equal(addressIn(await askUdp(endpoint, 'blocked.example')), '0.0.0.0');
});

test('settled does not wait for a thread that is gone', async (t) => {
  const workers = watchThreads(t);
  const { plane } = await start(t, ['127.0.0.1:9']);
  const ended = (workers[0] as Worker).terminate();
  await plane.settled();
  await ended;
  await plane.settled();
});

test('close lets answers on their way leave, then frees the port', async (t) => {
  const upstream = await FakeUpstream.open(t, delayed(150, answerByName));
  const { plane, endpoint } = await start(t, [upstream.endpoint]);
  const pending = Promise.all([askUdp(endpoint, 'a.example'), askTcp(endpoint, 'b.example')]);
  await upstream.asked(2);
  await Promise.all([plane.close(), plane.close()]);
  const [udp, tcp] = await pending;
  assert.equal(addressIn(udp), addressOfName('a.example'));
  assert.equal(addressIn(tcp), addressOfName('b.example'));
  assert.equal(plane.counters().answered, 2);
  assert.equal(plane.counters().forwarded, 2);
  const again = await start(t, [upstream.endpoint], { listen: [endpoint] });
  assert.equal(addressIn(await askUdp(again.endpoint, 'blocked.example')), '0.0.0.0');
});

test('close does not wait for upstreams that are dead', async (t) => {
  const upstream = await FakeUpstream.open(t, silent);
  const { plane, endpoint } = await start(t, [upstream.endpoint]);
  const pending = askUdp(endpoint, 'a.example', 'A', { timeoutMs: 3_000 }).catch(() => null);
  await upstream.asked(1);
  const startedMs = performance.now();
  await plane.close();
  const tookMs = performance.now() - startedMs;
  assert.ok(tookMs < 2_000, `took ${String(tookMs)} ms`);
  await pending;
});

test('an encrypted upstream by name: news reach the main thread, addresses the threads', async (t) => {
  const all = await certificates();
  const secure = await FakeSecureUpstream.open(t, 'tls', all.selfSigned, answerByName);
  const news: UpstreamNews[] = [];
  const port = String(secure.port);
  const name = `tls://dns.sluice.test:${port}`;
  const { plane, endpoint } = await start(t, [`${name}#pin=${all.good.pin}`], {
    addresses: { 'dns.sluice.test': ['127.0.0.1'] },
    onUpstream: (one) => {
      news.push(one);
    },
  });
  assert.equal((await askUdp(endpoint, 'a.example')).rcode, 'SERVFAIL');
  const [trouble] = news;
  assert.equal(trouble?.kind === 'upstream-trouble' ? trouble.upstream : '', name);
  assert.ok(news.some((one) => one.kind === 'unreachable' && one.host === 'dns.sluice.test'));
  assert.equal(secure.queries.length, 0);

  plane.setUpstreams([`${name}#pin=${all.selfSigned.pin}`]);
  plane.setAddresses({ 'dns.sluice.test': ['127.0.0.1'] });
  assert.equal(addressIn(await askUdp(endpoint, 'b.example')), addressOfName('b.example'));
  assert.deepEqual(news.at(-1), { kind: 'upstream-trouble', upstream: name, reason: null });
  const [state] = await plane.upstreamStates();
  assert.deepEqual([state?.upstream, state?.state, state?.connections], [name, 'up', 1]);
  plane.resetUpstreams();
  assert.equal(addressIn(await askUdp(endpoint, 'c.example')), addressOfName('c.example'));
  assert.equal(secure.connections, 2);
});

test('states of several threads are added up', async (t) => {
  const upstream = await FakeUpstream.open(t, answerByName);
  const other = await FakeUpstream.open(t, answerByName);
  const { plane, endpoint } = await start(t, [upstream.endpoint], {
    threads: canReusePort() ? 2 : 1,
    upstreamUse: { suffixes: { 'corp.example': [other.endpoint] } },
  });
  for (let index = 0; index < 40; index++) await askUdp(endpoint, `n${String(index)}.example`);
  await askUdp(endpoint, 'www.corp.example');
  const states = await plane.upstreamStates();
  assert.deepEqual(
    states.map(({ upstream: text, answered, state }) => [text, answered, state]),
    [
      [upstream.endpoint, 40, 'up'],
      [other.endpoint, 1, 'up'],
    ],
  );
});
