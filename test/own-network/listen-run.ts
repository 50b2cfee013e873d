/** Addresses to listen on that come, go, and belong to a link; with the sockets that SLUICE_UDP says. */
import assert from 'node:assert/strict';
import { DataPlane } from '../../main/dataplane/data-plane.ts';
import type { UnservedEndpoint } from '../../main/dataplane/listeners.ts';
import type { PolicyMessage } from '../../main/dataplane/messages.ts';
import { compileRules } from '../../main/lists/compile/rules.ts';
import { LogRing } from '../../main/log/ring.ts';
import { askTcp, askUdp } from '../support/dns-client.ts';
import { answerByName, addressOfName, FakeUpstream } from '../support/fake-upstream.ts';
import { addLinks, addressesIn, ip, scenario, t, until } from './inside.ts';

const SHORT = { timeoutMs: 500 };

async function start(listen: string[], upstreams: string[], threads = 1) {
  const told: (readonly UnservedEndpoint[])[] = [];
  const plane = await DataPlane.start({
    ...{ listen, upstreams, threads, policy: policy() },
    rings: Array.from({ length: threads }, () => LogRing.createBuffer(1_024)),
    onFault: (reason) => {
      throw new Error(reason);
    },
    onUnserved: (unserved) => told.push(unserved),
  });
  t.after(() => plane.close());
  return { plane, told };
}

function policy(): PolicyMessage {
  return {
    ...{ version: 1, filtering: true, blockingAnswer: 'null-address', blockingTtlSeconds: 10 },
    ...{ rules: compileRules(['||blocked.example^']), lists: compileRules([]) },
    cache: {
      ...{ entriesMax: 0, ttlMinSeconds: 0, ttlMaxSeconds: 86_400, staleSecondsMax: 0 },
      ...{ staleOff: [], prefetch: false, persist: false },
    },
    rebinding: { enabled: false, sharedSpace: false, allow: [] },
    access: { allow: [{ bytes: new Uint8Array(16), bits: 0 }], exempt: [], queriesPerSecond: 0 },
    logMode: 'full',
  };
}

async function isServed(endpoint: string, name = 'blocked.example'): Promise<void> {
  const expected = name === 'blocked.example' ? '0.0.0.0' : addressOfName(name);
  // Several times, so that every thread that shares the port has its turn.
  for (let count = 0; count < 16; count++) {
    assert.deepEqual(addressesIn(await askUdp(endpoint, name, 'A', SHORT)), [expected]);
  }
  assert.deepEqual(addressesIn(await askTcp(endpoint, name, 'A', SHORT)), [expected]);
}

/** An address that is not there yet; it comes, its link goes, and both come again. */
async function late(): Promise<void> {
  const upstream = await FakeUpstream.open(t, answerByName);
  const listen = ['127.0.0.1:5300', '192.168.7.1:5300', '[2001:db8::7]:5300'];
  const { plane, told } = await start(listen, [upstream.endpoint], 2);
  assert.deepEqual(plane.listening, listen.slice(0, 1));
  assert.deepEqual(plane.own, listen);
  const [first = []] = told;
  assert.deepEqual(
    first.map(({ endpoint }) => endpoint),
    listen.slice(1),
  );
  assert.match(first[0]?.reason ?? '', /this machine does not have the address 192\.168\.7\.1/);
  await isServed('127.0.0.1:5300');

  const appear = (): void => {
    addLinks('lan0', 'lan1');
    ip('address', 'add', '192.168.7.1/24', 'dev', 'lan0');
    ip('address', 'add', '2001:db8::7/64', 'dev', 'lan0', 'nodad');
  };
  const serveAll = async (): Promise<void> => {
    await until(async () => {
      plane.lookAtListeners(false);
      for (const endpoint of listen) await isServed(endpoint, 'a.example');
    });
    assert.deepEqual(plane.listening, listen);
    assert.deepEqual(told.at(-1), []);
  };
  appear();
  await serveAll();
  ip('link', 'delete', 'lan0');
  plane.lookAtListeners(true);
  await until(() => {
    assert.deepEqual(
      told.at(-1)?.map(({ endpoint }) => endpoint),
      listen.slice(1),
    );
  });
  await isServed('127.0.0.1:5300');
  appear();
  await serveAll();
  assert.equal(plane.restarts, 0);
}

/** A link-local address, with its link; and the same as an upstream. */
async function scoped(): Promise<void> {
  const appear = (): void => {
    addLinks('lan0', 'lan1');
    ip('address', 'add', 'fe80::53/64', 'dev', 'lan0', 'nodad');
  };
  appear();
  const upstream = await FakeUpstream.open(t, answerByName);
  const own = '[fe80::53%lan0]:5300';
  const { plane, told } = await start([own], [upstream.endpoint]);
  assert.deepEqual(plane.listening, [own]);
  await isServed(own);
  await isServed(own, 'a.example');
  for (const text of ['[fe80::53%lan0]:5300', 'tcp://[fe80::53%lan0]:5300']) {
    const behind = await start(['127.0.0.1:0'], [text]);
    await isServed(behind.plane.listening[0] ?? '', 'b.example');
  }
  // The link is made anew: same name, another index.
  ip('link', 'delete', 'lan0');
  plane.lookAtListeners(true);
  await until(() => {
    assert.equal(told.at(-1)?.[0]?.endpoint, own);
  });
  appear();
  await until(async () => {
    plane.lookAtListeners(true);
    await isServed(own, 'c.example');
  });
  assert.deepEqual(told.at(-1), []);
}

/** Nothing that can be listened on is an error, as ever. */
async function nothing(): Promise<void> {
  await assert.rejects(start(['192.168.7.1:5300', '[fe80::1%none0]:5300'], ['127.0.0.1:9']), {
    code: 'ADDRESS_UNAVAILABLE',
  });
}

const SCENARIOS: Record<string, () => Promise<void>> = { late, scoped, nothing };
await scenario(SCENARIOS[process.argv[2] ?? ''] ?? nothing);
