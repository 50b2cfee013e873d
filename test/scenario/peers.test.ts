/**
 * Real programs as clients: dig, kdig and drill, the C library's getaddrinfo, and unbound and
 * dnsdist that forward to the gateway.
 */
import assert from 'node:assert/strict';
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { exchangeUdp, splitEndpoint } from '../support/dns-client.ts';
import { header, question, records } from '../support/dns-wire.ts';
import { openPeerGateway } from '../support/peer-upstream.ts';
import { findTool, missingTools } from '../support/tools.ts';
import { freePort } from '../../bench/load/target.ts';

const run = promisify(execFile);

async function folderFor(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-peer-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

describe('tools', () => {
  for (const [tool, portFlag, fixed] of [
    ['dig', '-p', ['+tries=1', '+time=4']],
    ['kdig', '-p', ['+retry=0', '+time=4', '+edns=0']],
    ['drill', '-p', ['-a']], // -a: over TCP when an answer was cut
  ] as const) {
    test(tool, { skip: missingTools(tool) }, async (t) => {
      const gateway = await openPeerGateway(t);
      const { port } = splitEndpoint(gateway.udp);
      const ask = async (...args: string[]): Promise<string> => {
        const all = ['@127.0.0.1', portFlag, String(port), ...fixed, ...args];
        return (await run(tool, all)).stdout;
      };
      assert.match(await ask('www.site.example', 'A'), /IN\s+A\s+192\.0\.2\.10/);
      assert.match(await ask('x.ads.example', 'A'), /IN\s+A\s+0\.0\.0\.0/);
      assert.match(await ask('alias.site.example', 'A'), /CNAME\s+www\.site\.example\./);
      assert.match(await ask('missing.example', 'A'), /NXDOMAIN/);
      const big = await ask('big.site.example', 'A');
      assert.equal(big.match(/192\.0\.2\.\d+/g)?.length, 100, 'over TCP by itself');
      if (tool === 'drill') return;
      assert.doesNotMatch(await ask('www.site.example', 'A'), /WARNING|malformed|mismatch/i);
      const kept = tool === 'dig' ? ['+tcp', '+keepalive'] : ['+tcp', '+keepopen'];
      assert.match(await ask(...kept, 'www.site.example', 'A'), /192\.0\.2\.10/);
    });
  }
});

const namespaces = missingTools('unshare', 'getent', 'ip');

test('getaddrinfo of the C library', { skip: namespaces }, async (t) => {
  const folder = await folderFor(t);
  const script = resolve(import.meta.dirname, '../support/getaddrinfo-run.ts');
  const names = [
    'www.site.example',
    'alias.site.example',
    'big.site.example',
    'x.ads.example',
    'missing.example',
    'localhost',
  ];
  let found: Record<string, string>;
  try {
    const { stdout } = await run('unshare', ['-rnm', process.execPath, script, folder, ...names]);
    found = JSON.parse(stdout) as Record<string, string>;
  } catch (error) {
    const said = String((error as { stderr?: string }).stderr ?? error);
    if (!/unshare|Operation not permitted/.test(said)) throw error;
    t.skip(`needs user namespaces: ${said.slice(0, 100)}`);
    return;
  }
  assert.equal(found['www.site.example'], '192.0.2.10');
  assert.equal(found['alias.site.example'], '192.0.2.10');
  assert.equal(found['big.site.example']?.split(' ').length, 100);
  assert.equal(found['x.ads.example'], '0.0.0.0');
  assert.equal(found['missing.example'], 'exit 2');
  assert.equal(found['localhost'], '127.0.0.1');
});

describe('forwarders', () => {
  const forwarders: {
    tool: 'unbound' | 'dnsdist';
    args: (file: string) => string[];
    config: (own: number, port: number) => string;
  }[] = [
    {
      tool: 'unbound',
      args: (file) => ['-d', '-c', file],
      config: (own, port) => `server:
  interface: 127.0.0.1
  port: ${String(own)}
  do-daemonize: no
  username: ""
  chroot: ""
  pidfile: ""
  use-syslog: no
  module-config: "iterator"
  do-not-query-localhost: no
  access-control: 127.0.0.0/8 allow
  use-caps-for-id: yes
  qname-minimisation: yes
forward-zone:
  name: "."
  forward-addr: 127.0.0.1@${String(port)}
remote-control:
  control-enable: no
`,
    },
    {
      tool: 'dnsdist',
      args: (file) => ['--supervised', '--disable-syslog', '-C', file],
      config: (own, port) => `setLocal("127.0.0.1:${String(own)}")
setACL("127.0.0.0/8")
newServer{address="127.0.0.1:${String(port)}", checkName="www.site.example."}
`,
    },
  ];
  for (const { tool, args, config } of forwarders) {
    test(tool, { skip: missingTools(tool), timeout: 60_000 }, async (t) => {
      const gateway = await openPeerGateway(t);
      const folder = await folderFor(t);
      const own = await freePort();
      const file = join(folder, 'peer.conf');
      await writeFile(file, config(own, splitEndpoint(gateway.udp).port));
      const child = spawn(findTool(tool) ?? tool, args(file), { stdio: 'ignore' });
      t.after(() => stop(child));
      const endpoint = `127.0.0.1:${String(own)}`;
      const ask = (name: string) => exchangeUdp(endpoint, question(name, 'A', { edns: {} }));
      await ready(() => ask('www.site.example'));
      const plain = await ask('www.site.example');
      assert.deepEqual(records(plain, 'answers').map(withoutTtl), [
        'www.site.example A 192.0.2.10',
      ]);
      const blocked = await ask('x.ads.example');
      assert.deepEqual(records(blocked, 'answers').map(withoutTtl), ['x.ads.example A 0.0.0.0']);
      const alias = await ask('alias.site.example');
      assert.equal(header(alias).counts[1], 2);
      assert.equal(header(await ask('missing.example')).rcode, 3);
      assert.equal(gateway.counter('rejected'), 0, 'nothing of it was unwelcome');
    });
  }
});

function withoutTtl(line: string): string {
  return line.replace(/ \d+ (?=\S+$)/, ' ').replace(/ (A) \d+ /, ' $1 ');
}

async function ready(probe: () => Promise<Uint8Array>): Promise<void> {
  const untilMs = performance.now() + 15_000;
  for (;;) {
    try {
      if (header(await probe()).rcode === 0) return;
    } catch (error) {
      if (performance.now() > untilMs) throw error;
    }
    if (performance.now() > untilMs) throw new Error('the peer never answered');
    await new Promise((next) => setTimeout(next, 100));
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((next) => child.once('exit', next));
  child.kill('SIGKILL');
  await ended;
}
