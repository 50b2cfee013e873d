/** The guardian's watcher in C: main/native/guardian/watcher.c, built as in a build. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { buildWatcher } from '../../tools/build-watcher.ts';
import { guardianCommand } from '../../main/system-dns/guardian/guardian.ts';
import { tempDir } from '../support/temp-dir.ts';

const RSS_MAX_KIB = 45 * 1_024;
/** Stands for the guardian process: says why it was started, and from where. */
const SCRIPT = `console.log('restored by', process.env.SLUICE_GUARDIAN_VERDICT, __filename);`;
const skip = process.platform !== 'linux' && 'needs Linux';

/** An engine that answers every probe, or none. */
async function openEngine(t: TestContext) {
  const engine = { isSilent: false, names: new Set<string>(), port: 0 };
  const socket = createSocket('udp4');
  socket.on('message', (query, from) => {
    engine.names.add(query.toString('latin1', 13, 25));
    if (engine.isSilent) return;
    const reply = Buffer.concat([query, Buffer.from('c00c000100010000000000047f000001', 'hex')]);
    reply.writeUInt16BE(0x8180, 2);
    reply.writeUInt16BE(1, 6);
    socket.send(reply, from.port, from.address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  t.after(() => socket.close());
  engine.port = socket.address().port;
  return engine;
}

async function setUp(t: TestContext) {
  const folder = await tempDir(t);
  const lines: string[] = [];
  const watcher = join(folder, 'watcher');
  if (!(await buildWatcher((line) => lines.push(line), watcher))) {
    t.skip(lines.join(' '));
    return null;
  }
  const script = join(folder, 'guardian.cjs');
  writeFileSync(script, SCRIPT);
  const engine = await openEngine(t);
  const words = (appPid: string): string[] => [
    ...[appPid, '127.0.0.1', String(engine.port), 'abcd.probe.sluice.internal'],
    ...['50', '300', '150', script, process.execPath, '--jitless'],
  ];
  return { watcher, words, engine, script };
}

/** Resolves with the first line that fits. */
async function line(child: ChildProcess, wanted: RegExp): Promise<string> {
  let text = '';
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
    text += chunk.toString();
    const found = text.split('\n').find((one) => wanted.test(one));
    if (found !== undefined) return found;
  }
  throw new Error(`the watcher ended without ${String(wanted)}: ${text}`);
}

test('it weighs little, asks fresh names, and stays deaf to signals', { skip }, async (t) => {
  const parts = await setUp(t);
  if (!parts) return;
  const child = spawn(parts.watcher, parts.words(String(process.pid)));
  t.after(() => child.kill('SIGKILL'));
  const [armed] = (await once(child.stdout, 'data')) as [Buffer];
  assert.equal(armed.toString(), 'armed\n');
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) child.kill(signal);
  await new Promise((resolve) => setTimeout(resolve, 1_000)); // more than its patience
  assert.equal(child.exitCode ?? child.signalCode, null, 'it watches on');
  assert.ok(parts.engine.names.size >= 5, `${String(parts.engine.names.size)} names asked`);
  const status = readFileSync(`/proc/${String(child.pid)}/status`, 'utf8');
  const rssKib = Number(/VmRSS:\s*(\d+)/.exec(status)?.[1]);
  t.diagnostic(`${String(rssKib)} KiB`);
  assert.ok(rssKib > 0 && rssKib <= RSS_MAX_KIB, `${String(rssKib)} KiB`);
});

test('a silent engine: the script is run, though its file has gone', { skip }, async (t) => {
  const parts = await setUp(t);
  if (!parts) return;
  const child = spawn(parts.watcher, parts.words(String(process.pid)));
  t.after(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  rmSync(parts.script);
  parts.engine.isSilent = true;
  assert.match(await line(child, /^restored/), /restored by engine-silent/);
});

test('an app that ended: the script is run', { skip }, async (t) => {
  const parts = await setUp(t);
  if (!parts) return;
  // The app: it starts the watcher, and is killed.
  const app = `
    const words = process.argv.slice(2).map((word) => word === 'PID' ? String(process.pid) : word);
    require('node:child_process').spawn(process.argv[1], words,
      { detached: true, stdio: ['ignore', 'inherit', 'inherit'] });`;
  const child = spawn(process.execPath, ['-e', app, parts.watcher, ...parts.words('PID')]);
  let text = '';
  // The pipe is shared: what the watcher says after the app's death still comes.
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
    text += chunk.toString();
    if (text === 'armed\n') child.kill('SIGKILL');
  }
  assert.match(text, /^armed\nrestored by app-ended/);
});

test('an app that was stopped is not waited for as long', { skip }, async (t) => {
  const parts = await setUp(t);
  if (!parts) return;
  const app = `
    const words = process.argv.slice(2).map((word) => word === 'PID' ? String(process.pid) : word);
    require('node:child_process').spawn(process.argv[1], words,
      { detached: true, stdio: ['ignore', 'inherit', 'inherit'] });`;
  const patient = parts.words('PID').map((word) => (word === '300' ? '600000' : word));
  const child = spawn(process.execPath, ['-e', app, parts.watcher, ...patient]);
  t.after(() => child.kill('SIGKILL'));
  parts.engine.isSilent = true;
  let isStopped = false;
  const timer = setTimeout(() => (isStopped = child.kill('SIGSTOP')), 1_500);
  t.after(() => clearTimeout(timer));
  assert.match(await line(child, /^restored/), /restored by engine-silent/);
  assert.ok(isStopped, 'silence alone was not enough');
});

test('a build starts the watcher where there is one, sources the process itself', () => {
  const orders = {
    ...{ appPid: 7, directory: '/state', instance: 'abcd', journalId: 'a', journal: null },
    servers: [{ address: '127.0.0.1', port: 5399 }],
  };
  const fromSources = guardianCommand(orders);
  assert.equal(fromSources.file, process.execPath);
  assert.match(fromSources.words.at(-1) ?? '', /main\/system-dns\/guardian\/guardian-process\.ts$/);
  const fromBuild = guardianCommand(orders, 'file:///nowhere/app.asar/dist/main/chunks/x.js');
  assert.equal(fromBuild.file, process.execPath, 'no watcher there');
  assert.equal(
    fromBuild.words.at(-1),
    '/nowhere/app.asar.unpacked/dist/main/system-dns/guardian/guardian-process.cjs',
  );
});
