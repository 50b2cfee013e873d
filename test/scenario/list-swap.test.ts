/**
 * A list is exchanged many times while queries go on: a reader sees the old list or the new one,
 * never a mixture, and no answer is lost.
 */
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { test } from 'node:test';
import { listServer } from '../lists/list-server.ts';
import { askUdp, question } from '../support/dns-client.ts';
import { answerAddress, FakeUpstream } from '../support/fake-upstream.ts';
import { makeFolder, startSluice } from '../support/running-program.ts';

const SWAPS = 12;
/** Longest a swap may take on a busy machine, with the compile thread at low priority. */
const SWAP_MS = 30_000;
/** Enough other names that compiling and sending the table takes a while. */
const FILLER = Array.from({ length: 60_000 }, (_, at) => `filler${String(at)}.example`).join('\n');

test('lists are swapped whole under load', { timeout: 120_000 }, async (t) => {
  const folder = await makeFolder(t);
  const upstream = await FakeUpstream.open(t, answerAddress('192.0.2.1'));
  const server = await listServer(t);
  let version = 1;
  server.answers.set('/list', (_, response) => {
    response.writeHead(200, { 'content-type': 'text/plain', etag: `"${String(version)}"` });
    response.end(`${FILLER}\nb${String(version)}.example\n`);
  });
  const sluice = await startSluice(folder, {
    dns: { listen: ['127.0.0.1:0'], upstreams: [`127.0.0.1:${String(upstream.port)}`] },
    lists: [{ name: 'swapped', url: `${server.origin}/list` }],
    http: { listen: '127.0.0.1:0' },
  });
  t.after(() => sluice.stop());
  const endpoint = `127.0.0.1:${String(sluice.dnsPort)}`;
  await sluice.call('lists.refresh', {});

  const flood = createSocket('udp4');
  const packet = question('filler7.example');
  const flooding = setInterval(() => {
    for (let at = 0; at < 20; at++) flood.send(packet, sluice.dnsPort, '127.0.0.1');
  }, 10);
  t.after(() => {
    clearInterval(flooding);
    flood.close();
  });

  const isBlocked = async (name: string): Promise<boolean> => {
    const answer = await askUdp(endpoint, name);
    return (answer.answers?.[0] as { data?: string } | undefined)?.data === '0.0.0.0';
  };

  for (let swap = 0; swap < SWAPS; swap++) {
    const old = version;
    const next = version + 1;
    assert.equal(await isBlocked(`b${String(old)}.example`), true);
    version = next;
    const seen = { refreshed: false };
    const refreshed = sluice.call('lists.refresh', {}).then(() => (seen.refreshed = true));
    let sawNew = false;
    const until = performance.now() + SWAP_MS;
    while (!(seen.refreshed && sawNew) && performance.now() < until) {
      const [first, second] = [
        await isBlocked(`b${String(next)}.example`),
        await isBlocked(`b${String(old)}.example`),
      ];
      if (first) {
        sawNew = true;
        assert.equal(
          second,
          false,
          `swap ${String(swap)}: the new list blocks b${String(next)}, yet the old one still b${String(old)}`,
        );
      } else {
        assert.equal(sawNew, false, `swap ${String(swap)}: the old list came back`);
      }
    }
    await refreshed;
    t.diagnostic(`swap ${String(swap)}: ${(performance.now() - until + SWAP_MS).toFixed(0)} ms`);
    assert.equal(sawNew, true, `swap ${String(swap)}: the new list never acted`);
  }
});
