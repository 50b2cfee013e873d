/**
 * Another process holds the log's database locked for five seconds while queries go on: answers
 * come as before, the log says why it is degraded, and afterwards every answer is stored or
 * counted as dropped.
 */
import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { askUdp } from '../support/dns-client.ts';
import { answerAddress, FakeUpstream } from '../support/fake-upstream.ts';
import { makeFolder, startSluice } from '../support/running-program.ts';

const LOCK_HOLDER = resolve(import.meta.dirname, '../log/lock-holder.ts');
const LOCKED_MS = 5_000;

interface Status {
  readonly health: string;
  readonly degradedReasons: readonly string[];
  readonly totals: Record<'queries' | 'logDropped', number>;
  readonly log: { readonly stored: number };
}

test('a database locked for 5 s delays no answer and loses no count', async (t) => {
  const folder = await makeFolder(t);
  const upstream = await FakeUpstream.open(t, answerAddress('192.0.2.1'));
  const sluice = await startSluice(folder, {
    dns: { listen: ['127.0.0.1:0'], upstreams: [`127.0.0.1:${String(upstream.port)}`] },
    rules: ['||blocked.example^'],
    http: { listen: '127.0.0.1:0' },
  });
  t.after(() => sluice.stop());
  const endpoint = `127.0.0.1:${String(sluice.dnsPort)}`;
  let fresh = 0;
  const askAll = async (untilMs: number): Promise<number[]> => {
    const times: number[] = [];
    while (performance.now() < untilMs) {
      for (const name of ['blocked.example', 'cached.example', `n${String(fresh++)}.example`]) {
        const startedAt = performance.now();
        await askUdp(endpoint, name);
        times.push(performance.now() - startedAt);
      }
    }
    return times.sort((a, b) => a - b);
  };

  const quiet = await askAll(performance.now() + 2_000);
  const holder = fork(LOCK_HOLDER, [join(folder, 'data', 'log', 'queries.db')]);
  t.after(() => holder.kill());
  await once(holder, 'message');
  const locked = await askAll(performance.now() + LOCKED_MS);
  const during = await sluice.call<Status>('status');
  holder.send('release');
  await once(holder, 'exit');

  assert.equal(during.health, 'degraded');
  assert.match(during.degradedReasons.join(' '), /lock/i);
  const p99 = (times: number[]): number => times[Math.floor(times.length * 0.99)] ?? 0;
  t.diagnostic(`p99 ${p99(quiet).toFixed(1)} ms before, ${p99(locked).toFixed(1)} ms while locked`);
  assert.ok(p99(locked) <= Math.max(2 * p99(quiet), 25), 'the 99th percentile stays');
  assert.ok((locked.at(-1) ?? 0) < 1_000, 'no answer waited for the lock');

  const until = performance.now() + 10_000;
  let after = await sluice.call<Status>('status');
  while (after.log.stored + after.totals.logDropped !== after.totals.queries) {
    assert.ok(performance.now() < until, `stored and dropped add up: ${JSON.stringify(after)}`);
    await new Promise((done) => setTimeout(done, 100));
    after = await sluice.call<Status>('status');
  }
});
