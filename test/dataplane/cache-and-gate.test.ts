/** Kept answers over a restart, looking into the threads' caches, and the gate in front of them. */
import assert from 'node:assert/strict';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { DataPlane } from '../../main/dataplane/data-plane.ts';
import type { PolicyMessage } from '../../main/dataplane/messages.ts';
import { compileRules } from '../../main/lists/compile/rules.ts';
import { LogRing } from '../../main/log/ring.ts';
import { canReusePort } from '../../main/net/listen/packet-handler.ts';
import { parseNetworks } from '../../main/control/policy/networks.ts';
import { askTcp, askUdp, exchangeUdp, question } from '../support/dns-client.ts';
import { header } from '../support/dns-wire.ts';
import { policy as enginePolicy, type PolicyOptions } from '../support/engine-fakes.ts';
import { answerAddress, FakeUpstream } from '../support/fake-upstream.ts';
import { makeFolder } from '../support/running-program.ts';

function policy(options: PolicyOptions): PolicyMessage {
  return {
    ...enginePolicy(options),
    suffixes: [],
    rules: compileRules([]),
    lists: compileRules(['||blocked.example^']),
  };
}

function access(queriesPerSecond: number, allow: readonly string[]) {
  return { allow: parseNetworks(allow), exempt: [], queriesPerSecond };
}

async function start(
  t: TestContext,
  upstream: FakeUpstream,
  options: PolicyOptions,
  rest: { threads?: number; cacheDirectory?: string } = {},
): Promise<DataPlane> {
  const threads = rest.threads ?? 1;
  const plane = await DataPlane.start({
    listen: ['127.0.0.1:0'],
    upstreams: [upstream.endpoint],
    rings: Array.from({ length: threads }, () => LogRing.createBuffer(1_024)),
    policy: policy(options),
    onFault: (reason) => {
      t.diagnostic(reason);
    },
    ...rest,
    threads,
  });
  t.after(() => plane.close());
  return plane;
}

const open = access(0, ['127.0.0.0/8']);

test('answers are kept over a restart, in a file for this user only', async (t) => {
  const cacheDirectory = await makeFolder(t);
  const upstream = await FakeUpstream.open(t, answerAddress('192.0.2.1'));
  const options = { access: open, cache: { persist: true } };
  const first = await start(t, upstream, options, { cacheDirectory });
  await askUdp(first.listening[0] ?? '', 'www.example');
  await first.close();
  const file = join(cacheDirectory, 'answers-0.bin');
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  const second = await start(t, upstream, options, { cacheDirectory });
  assert.equal((await askUdp(second.listening[0] ?? '', 'www.example')).answers?.length, 1);
  assert.equal(upstream.queries.length, 1);
  assert.equal(second.counters().cached, 1);
  await second.close();
  await writeFile(file, 'damaged');
  const third = await start(t, upstream, options, { cacheDirectory });
  await askUdp(third.listening[0] ?? '', 'www.example');
  assert.equal(upstream.queries.length, 2);
  third.setPolicy(policy({ access: open, cache: { persist: false } }));
  await third.close();
  await assert.rejects(stat(file), { code: 'ENOENT' }, 'switched off, nothing stays behind');
});

test('names are looked up and flushed in all threads', async (t) => {
  const upstream = await FakeUpstream.open(t, answerAddress('192.0.2.1'));
  const plane = await start(t, upstream, { access: open });
  const endpoint = plane.listening[0] ?? '';
  await askUdp(endpoint, 'www.example');
  const [[item] = []] = await plane.inspectCache('WWW.example');
  assert.deepEqual(item?.records[0]?.data, '192.0.2.1');
  assert.equal(await plane.flushName('example', false), 0);
  assert.equal(await plane.flushName('example', true), 1);
  assert.deepEqual(await plane.inspectCache('www.example'), [[]]);
  await askUdp(endpoint, 'www.example');
  assert.equal(upstream.queries.length, 2);
  plane.flushCache();
  await plane.settled();
  assert.equal(plane.counters().cacheEntries, 0);
});

test('a client that is not on the access list gets nothing, over UDP and TCP', async (t) => {
  const upstream = await FakeUpstream.open(t, answerAddress('192.0.2.1'));
  const plane = await start(t, upstream, { access: access(0, ['10.0.0.0/8']) });
  const endpoint = plane.listening[0] ?? '';
  await assert.rejects(askUdp(endpoint, 'www.example', 'A', { timeoutMs: 200 }), {
    name: 'AbortError',
  });
  await assert.rejects(askTcp(endpoint, 'www.example'), /closed the connection/);
  const { denied, tcpRefused, answered } = plane.counters();
  assert.deepEqual([denied, tcpRefused, answered], [2, 1, 0]);
  plane.setPolicy(policy({ access: open }));
  await plane.settled();
  assert.equal((await askTcp(endpoint, 'www.example')).answers?.length, 1);
});

test(
  'the rate limit holds in total over several threads',
  { skip: canReusePort() ? false : 'needs a runtime that shares ports' },
  async (t) => {
    const upstream = await FakeUpstream.open(t, answerAddress('192.0.2.1'));
    const plane = await start(t, upstream, { access: access(20, ['127.0.0.0/8']) }, { threads: 2 });
    const endpoint = plane.listening[0] ?? '';
    const packet = question('x.blocked.example', 'A');
    const startedMs = performance.now();
    const answers = await Promise.all(
      Array.from({ length: 200 }, () =>
        exchangeUdp(endpoint, packet, 1_500).catch(() => Buffer.alloc(12)),
      ),
    );
    const seconds = (performance.now() - startedMs) / 1_000;
    const whole = answers.filter((answer) => header(answer).counts[1] === 1).length;
    const cut = answers.filter((answer) => header(answer).tc).length;
    // A burst of 40, and 20 a second while they came in.
    assert.ok(whole >= 38 && whole <= 42 + 20 * seconds, `${String(whole)} answers`);
    assert.ok(Math.abs(cut - (200 - whole) / 2) <= 2, `${String(cut)} hints`);
    assert.equal(plane.counters().limited, 200 - whole);
    // Over TCP half a burst more is there, and what came back meanwhile: then it is refused.
    const overTcp: string[] = [];
    for (let time = 0; time < 100; time++) {
      overTcp.push((await askTcp(endpoint, 'x.blocked.example')).rcode);
    }
    assert.equal(overTcp[0], 'NOERROR');
    const whiles = (performance.now() - startedMs) / 1_000;
    const served = overTcp.filter((rcode) => rcode === 'NOERROR').length;
    assert.ok(served >= 18 && served + whole <= 62 + 20 * whiles, `${String(served)} over TCP`);
    assert.equal(overTcp.at(-1), 'REFUSED');
  },
);
