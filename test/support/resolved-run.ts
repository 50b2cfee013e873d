/**
 * Runs inside a sandbox (test/system-dns/support/sandbox.ts): systemd-resolved with a gateway as its
 * only server. Prints what `resolvectl query` found for each name and what the gateway was asked, as
 * JSON.
 */
import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { openPeerGateway } from './peer-upstream.ts';

export interface Resolved {
  /** Addresses, or "error:" and the message. */
  readonly found: Record<string, string>;
  /** "name TYPE" of each query. */
  readonly asked: string[];
}

const PORT = 5_399;
/** The daemons need a moment to come up. */
const PATIENCE_MS = 10_000;

const names = process.argv.slice(2);
execFileSync('ip', ['link', 'set', 'lo', 'up']);
// Without a link that carries addresses, resolved asks for none.
execFileSync('ip', ['link', 'add', 'wlan0', 'type', 'veth', 'peer', 'name', 'far0']);
for (const link of ['wlan0', 'far0']) execFileSync('ip', ['link', 'set', link, 'up']);
execFileSync('ip', ['address', 'add', '10.1.0.2/24', 'dev', 'wlan0']);
// Not a file of servers that resolved would add to its own.
rmSync('/etc/resolv.conf');
symlinkSync('../run/systemd/resolve/stub-resolv.conf', '/etc/resolv.conf');
mkdirSync('/etc/systemd', { recursive: true });
writeFileSync(
  '/etc/systemd/resolved.conf',
  `[Resolve]\nDNS=127.0.0.1:${String(PORT)}\nDomains=~.\nLLMNR=no\nMulticastDNS=no\n`,
);

const daemons: ChildProcess[] = [];
const closers: (() => void | Promise<void>)[] = [];
const t = { after: (close: () => void | Promise<void>) => void closers.push(close) };
const gateway = await openPeerGateway(t, { port: PORT });
mkdirSync('/run/dbus', { recursive: true });
daemons.push(spawn('dbus-daemon', ['--system', '--nofork', '--nopidfile'], { stdio: 'ignore' }));
await until(() => existsSync('/run/dbus/system_bus_socket'));
mkdirSync('/run/systemd/resolve', { recursive: true });
execFileSync('chown', ['992:992', '/run/systemd/resolve']);
daemons.push(spawn('/usr/lib/systemd/systemd-resolved', [], { stdio: 'ignore' }));
await until(async () => (await query('localhost')).includes('127.0.0.1'));

const found: Record<string, string> = {};
for (const name of names) found[name] = await query(name);
const asked = gateway.sink.records.map(({ name, type }) => `${name} TYPE${String(type)}`);
process.stdout.write(`${JSON.stringify({ found, asked } satisfies Resolved)}\n`);
for (const daemon of daemons) daemon.kill('SIGKILL');
for (const close of closers) await close();

async function query(name: string): Promise<string> {
  const args = ['query', '-4', '--legend=no', name];
  return promisify(execFile)('resolvectl', args, { timeout: 8_000 }).then(
    ({ stdout }) => [...new Set(stdout.match(/\d+\.\d+\.\d+\.\d+/g) ?? [])].sort().join(' '),
    (error: unknown) => `error: ${String((error as { stderr?: string }).stderr).trim()}`,
  );
}

async function until(check: () => boolean | Promise<boolean>): Promise<void> {
  const untilMs = performance.now() + PATIENCE_MS;
  while (!(await check())) {
    if (performance.now() > untilMs) throw new Error('systemd-resolved did not come up');
    await delay(50);
  }
}
