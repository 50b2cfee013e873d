/**
 * kill -9 at random moments while a list is fetched, compiled and stored: every next start blocks
 * by one whole version of the list, at once and without the list server. The seed is printed;
 * SLUICE_SEED repeats a run.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { seeded } from '../../bench/load/names.ts';
import { listServer } from '../lists/list-server.ts';
import { askUdp } from '../support/dns-client.ts';
import { answerAddress, FakeUpstream } from '../support/fake-upstream.ts';
import { makeFolder, startSluice } from '../support/running-program.ts';

const ROUNDS = 10;
const FILLER = Array.from({ length: 40_000 }, (_, at) => `filler${String(at)}.example`).join('\n');

test('killed while a list is refreshed, every start finds a whole list', async (t) => {
  const seed = Number(process.env['SLUICE_SEED'] ?? Date.now() % 1_000_000);
  t.diagnostic(`seed ${String(seed)}`);
  const next = seeded(seed);
  const folder = await makeFolder(t);
  const upstream = await FakeUpstream.open(t, answerAddress('192.0.2.1'));
  const server = await listServer(t);
  let version = 1;
  let isUp = true;
  server.answers.set('/list', (_, response) => {
    if (!isUp) return void response.destroy();
    response.writeHead(200, { 'content-type': 'text/plain', etag: `"${String(version)}"` });
    return void response.end(
      `first${String(version)}.example\n${FILLER}\nlast${String(version)}.example\n`,
    );
  });
  const config = {
    dns: { listen: ['127.0.0.1:0'], upstreams: [`127.0.0.1:${String(upstream.port)}`] },
    lists: [{ name: 'killed', url: `${server.origin}/list` }],
    rules: ['||mine.example^'],
    http: { listen: '127.0.0.1:0' },
  };

  const blocked = async (port: number, name: string): Promise<boolean> => {
    const answer = await askUdp(`127.0.0.1:${String(port)}`, name);
    return (answer.answers?.[0] as { data?: string } | undefined)?.data === '0.0.0.0';
  };
  const whole = async (port: number): Promise<number[]> => {
    const found: number[] = [];
    for (let at = 1; at <= version; at++) {
      const first = await blocked(port, `first${String(at)}.example`);
      const last = await blocked(port, `last${String(at)}.example`);
      assert.equal(first, last, `version ${String(at)} is whole or absent`);
      if (first) found.push(at);
    }
    return found;
  };

  let sluice = await startSluice(folder, config);
  t.after(() => sluice.stop());
  await sluice.call('lists.refresh', {});
  assert.deepEqual(await whole(sluice.dnsPort), [1]);
  for (let round = 0; round < ROUNDS; round++) {
    version++;
    const refreshing = sluice.call('lists.refresh', {}).catch(() => undefined);
    const delayMs = next() % 500;
    await new Promise((done) => setTimeout(done, delayMs));
    const ended = once(sluice.child, 'exit');
    sluice.child.kill('SIGKILL');
    await ended;
    await refreshing;
    isUp = false;
    sluice = await startSluice(folder, config);
    const found = await whole(sluice.dnsPort);
    assert.equal(found.length, 1, `after ${String(delayMs)} ms: versions ${found.join()} block`);
    assert.equal(await blocked(sluice.dnsPort, 'mine.example'), true);
    isUp = true;
  }
});
