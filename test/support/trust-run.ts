/**
 * Runs with the environment of its test: asks a server whose certificate an authority of the test
 * vouches for, over TLS or HTTPS, or gets a list from one. Prints what came, as JSON.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { machineTrust } from '../../main/net/trust-store.ts';
import { downloadList } from '../../main/lists/fetch/download.ts';
import { certificates } from './certificates.ts';
import { answerByName } from './fake-upstream.ts';
import { FakeSecureUpstream } from './fake-secure-upstream.ts';
import { ask, openPool } from './net-fakes.ts';

const [kind = ''] = process.argv.slice(2);
const closers: (() => unknown)[] = [];
const t = { after: (close: () => unknown): void => void closers.push(close) };
const { good } = JSON.parse(readFileSync(0, 'utf8')) as Awaited<ReturnType<typeof certificates>>;

async function askServer(protocol: 'tls' | 'https'): Promise<unknown> {
  const server = await FakeSecureUpstream.open(t, protocol, good, answerByName);
  const { pool } = openPool(t, [server.text()]);
  const { reply, failure } = await ask(pool, 'a.example');
  const trouble = pool.states[0]?.trouble;
  return { isAnswered: reply !== null, failure, trouble };
}

async function getList(): Promise<unknown> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-trust-'));
  t.after(() => {
    rmSync(folder, { recursive: true });
  });
  const server = createServer(good, (_request, response) => response.end('ads.example\n'));
  t.after(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const fetched = await downloadList({
    ...{ url: `https://127.0.0.1:${String(port)}/list.txt`, etag: '', lastModified: '' },
    target: join(folder, 'list'),
    lookup: (_name, _options, callback) => {
      callback(new Error('nothing is to be looked up'), '', 0);
    },
    trust: machineTrust,
    signal: AbortSignal.timeout(5_000),
  });
  return { bytes: fetched?.bytes };
}

const result = await (kind === 'list' ? getList() : askServer(kind as 'tls' | 'https')).catch(
  (error: unknown) => ({ error: String(error) }),
);
process.stdout.write(`${JSON.stringify(result)}\n`);
for (const close of closers) await close();
process.exit();
