/**
 * `sluice run` with few handles, under clients that take all there are, and with errors that nobody
 * caught: DNS is answered all the time, and afterwards everything else works as before.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { MethodOutput } from '../../main/contract/methods/methods.ts';
import { authorization } from '../support/api.ts';
import { askUdp } from '../support/dns-client.ts';
import { runCli } from '../../main/api/cli/cli.ts';
import { makeHome } from './start-source.ts';

const skip = process.platform !== 'linux';

async function statusOf(http: string): Promise<MethodOutput<'status'>> {
  const response = await fetch(`${http}/api/status`, { headers: authorization(http) });
  return (await response.json()) as MethodOutput<'status'>;
}

async function isAnswered(dns: string): Promise<void> {
  const { answers } = await askUdp(dns, 'www.listed.example');
  assert.equal((answers?.[0] as { data?: string } | undefined)?.data, '0.0.0.0');
}

async function openMany(t: TestContext, url: URL, count: number): Promise<Socket[]> {
  const sockets = Array.from({ length: count }, () =>
    connect(Number(url.port), url.hostname).on('error', () => undefined),
  );
  t.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  await Promise.all(
    sockets.map((socket) => Promise.race([once(socket, 'connect'), once(socket, 'close')])),
  );
  return sockets;
}

for (const limit of [64, 1_024]) {
  test(
    `with ${String(limit)} handles, floods of both doors cost no answer`,
    { skip },
    async (t) => {
      const home = await makeHome(t);
      const one = home.runIn({ prefix: `ulimit -n ${String(limit)}` });
      const { dns, http } = await one.ready();
      const url = new URL(http);
      await isAnswered(dns);
      assert.equal((await statusOf(http)).health, 'ok');
      const handles = () => readdirSync(`/proc/${String(one.child.pid)}/fd`).length;
      const before = handles();

      const request = `GET /x.js HTTP/1.1\r\nHost: ${url.host}\r\n\r\n`;
      const flood = await openMany(t, url, 40);
      for (const socket of flood) socket.pause().write(request.repeat(100));
      const tcp = await openMany(t, new URL(`http://${dns}`), limit === 64 ? 100 : 40);
      for (let round = 0; round < 20; round++) await isAnswered(dns);
      for (const socket of [...flood, ...tcp]) socket.destroy();

      // Every question wants a socket of its own: all are answered, by failures of that upstream.
      await Promise.all(
        Array.from({ length: 200 }, (_, index) => askUdp(dns, `n${String(index)}.other.example`)),
      );
      while (handles() > before + 8) await new Promise((resolve) => setTimeout(resolve, 50));
      await isAnswered(dns);
      assert.equal((await statusOf(http)).totals.rejected, 0);
      let out = '';
      const output = { out: (text: string) => (out += text), err: (text: string) => (out += text) };
      assert.equal(await runCli(['--data-dir', home.dataDirectory, 'status'], output), 0, out);
      one.kill('SIGTERM');
      assert.equal(await one.exited, 0, one.err);
    },
  );
}

/** In the main thread, once a file is there, again and again: an error and a rejection. */
const FAULTS = `import { existsSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
const isOn = () => existsSync(process.env.FAULTS);
if (isMainThread) {
  setInterval(() => { if (isOn()) throw new Error('thrown on purpose'); }, 20).unref();
  setInterval(async () => { if (isOn()) throw new Error('rejected on purpose'); }, 20).unref();
}`;

test('errors that nobody caught end nothing: told once a kind, counted, shown', async (t) => {
  const home = await makeHome(t);
  const trigger = join(home.folder, 'faults');
  const one = home.runIn({
    environment: {
      FAULTS: trigger,
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(FAULTS)}`,
    },
  });
  const { dns, http } = await one.ready();
  await writeFile(trigger, '');
  await one.prints(/thrown on purpose/);
  await one.prints(/rejected on purpose/);
  const shown = async () =>
    (await statusOf(http)).degradedReasons.find((reason) => reason.includes('on purpose')) ?? '';
  while (!/, \d{2,} times/.test(await shown())) await isAnswered(dns);
  assert.match(await shown(), /not expected, \d+ times, last at .*; DNS goes on: \w+ on purpose/);
  assert.equal(one.err.match(/was not expected/g)?.length, 2);
  await isAnswered(dns);
  one.kill('SIGTERM');
  assert.equal(await one.exited, 0, one.err);
});

test('an address that others reach is refused at start, unless http.plain allows it', async (t) => {
  const home = await makeHome(t);
  const refused = home.run('--http', '0.0.0.0:0');
  assert.equal(await refused.exited, 2);
  assert.match(refused.err, /http\.listen: "0\.0\.0\.0:0" is reached .*; set http\.plain to true/);

  const wide = await makeHome(t, '', 'http: { listen: "0.0.0.0:0" }');
  const wrong = wide.run();
  assert.equal(await wrong.exited, 2);
  assert.match(wrong.err, /http\.listen: "0\.0\.0\.0:0" is not allowed, .*http\.plain/);

  const plain = await makeHome(t, '', 'http: { listen: "0.0.0.0:0", plain: true }');
  const one = plain.run();
  const { http } = await one.ready();
  const local = http.replace('0.0.0.0', '127.0.0.1');
  const health = (await (await fetch(`${local}/health`)).json()) as { notices: string[] };
  assert.match(health.notices.join(), /without encryption \(http\.plain\)/);
});

test('the token of one run lets into the next', async (t) => {
  const home = await makeHome(t);
  const first = home.run();
  const { http } = await first.ready();
  const headers = authorization(http);
  first.kill('SIGKILL');
  await first.exited;
  const { http: again } = await home.run().ready();
  assert.equal((await fetch(`${again}/api/status`, { headers })).status, 200);
  assert.equal((await fetch(`${again}/api/status`)).status, 401);
});
