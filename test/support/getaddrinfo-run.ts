/**
 * Runs inside a network and mount namespace of its own (`unshare`): a gateway on port 53 is all the
 * resolver there is, and the C library asks it. Prints what getent found for each name, as JSON.
 */
import { execFile, execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { openPeerGateway } from './peer-upstream.ts';

const [folder = '', ...names] = process.argv.slice(2);
execFileSync('ip', ['link', 'set', 'lo', 'up']);
// With loopback addresses only, getaddrinfo thinks that there is no IPv4 (AI_ADDRCONFIG).
execFileSync('ip', ['address', 'add', '203.0.113.5/32', 'dev', 'lo']);
writeFileSync(
  `${folder}/resolv.conf`,
  'nameserver 127.0.0.1\noptions timeout:2 attempts:1 edns0\n',
);
writeFileSync(`${folder}/nsswitch.conf`, 'hosts: dns\n');
execFileSync('mount', ['--bind', `${folder}/resolv.conf`, '/etc/resolv.conf']);
execFileSync('mount', ['--bind', `${folder}/nsswitch.conf`, '/etc/nsswitch.conf']);

const closers: (() => void | Promise<void>)[] = [];
const t = { after: (close: () => void | Promise<void>) => void closers.push(close) };
await openPeerGateway(t, { port: 53 });
const found: Record<string, string> = {};
for (const name of names) {
  found[name] = await promisify(execFile)('getent', ['ahostsv4', name]).then(
    ({ stdout }) => [...new Set(stdout.match(/^\S+/gm) ?? [])].sort().join(' '),
    (error: unknown) => `exit ${String((error as { code?: number }).code)}`,
  );
}
process.stdout.write(`${JSON.stringify(found)}\n`);
for (const close of closers) await close();
