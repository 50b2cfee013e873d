/**
 * The load tools against targets that misbehave: a generator that sends nothing, and a server in
 * which every path waits 2 ms for one shared lock while the CPU is idle.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { test } from 'node:test';
import { redline } from '../../bench/load/redline.ts';
import { makeData } from '../../bench/load/target.ts';
import { missingTools } from '../support/tools.ts';

const ROOT = resolve(import.meta.dirname, '../..');

test('a broken generator ends redline and soak with "sent 0, expected N" and no file', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-generator-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const fake = join(folder, 'dnsperf');
  await writeFile(fake, '#!/bin/sh\necho "DNS Performance Testing Tool"\n');
  await chmod(fake, 0o755);
  const script = `
    import { runDnsperf } from ${JSON.stringify(join(ROOT, 'bench/load/dnsperf.ts'))};
    await runDnsperf({ port: 1, queryFile: 'x', rate: 100, seconds: 3 });
  `;
  const run = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd: folder,
    env: { ...process.env, PATH: `${folder}${delimiter}${process.env['PATH'] ?? ''}` },
  });
  assert.notEqual(run.status, 0);
  assert.match(run.stderr.toString(), /sent 0, expected 300/);
  assert.deepEqual(await readdir(folder), ['dnsperf']);
});

test(
  'the same ceiling on two paths with an idle CPU is flagged',
  { skip: missingTools('dnsperf'), timeout: 240_000 },
  async (t) => {
    const data = await makeData(1_000);
    t.after(() => data.close());
    const measure = () =>
      redline(
        {
          seconds: 2,
          rates: [100, 2_000],
          paths: ['blocked', 'cached'],
          start: () => startStallingServer(),
          say: (line) => t.diagnostic(line),
        },
        data,
      );
    let result = await measure();
    // While others use the machine its CPU is not idle, and the redline says so instead.
    for (let retry = 0; retry < 3 && !result.sameCeiling; retry++) result = await measure();
    assert.equal(result.sameCeiling, true, JSON.stringify(result.knees));
  },
);

/** Answers every query after 2 ms of waiting, one at a time, like a program with one slow lock. */
async function startStallingServer(): ReturnType<Parameters<typeof redline>[0]['start']> {
  const script = `
    const socket = require('node:dgram').createSocket('udp4');
    const lock = new Int32Array(new SharedArrayBuffer(4));
    socket.on('message', (query, peer) => {
      Atomics.wait(lock, 0, 0, 2);
      query[2] |= 0x80;
      socket.send(query, peer.port, peer.address);
    });
    socket.bind(0, '127.0.0.1', () => console.log(socket.address().port));
  `;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const port = await new Promise<number>((done) =>
    child.stdout.once('data', (chunk: Buffer) => done(Number(chunk.toString()))),
  );
  return {
    port,
    pid: child.pid ?? 0,
    status: () => Promise.resolve(null),
    close: async () => {
      const ended = new Promise((done) => child.once('exit', done));
      child.kill();
      await ended;
    },
  };
}
