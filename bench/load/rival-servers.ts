/**
 * The echo, and the rivals with one list, one upstream and a cache each, as their manuals advise
 * for speed: one thread, no query log.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { accessSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { compileTool } from './c-tools.ts';
import { end, freePort, lineOf, type Data } from './target.ts';

export interface Server {
  readonly name: string;
  readonly port: number;
  readonly pid: number;
  close(): Promise<void>;
}

type Rival = (data: Data, upstreamPort: number) => Promise<Server | { readonly missing: string }>;

export async function startEcho(): Promise<Server> {
  const port = await freePort();
  const child = spawn(compileTool('echo'), [String(port)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  return server('echo', port, child);
}

async function startUnbound(data: Data, upstreamPort: number): ReturnType<Rival> {
  const path = '/usr/sbin/unbound';
  if (!isThere(path)) return { missing: 'unbound (apt-get install unbound)' };
  const port = await freePort();
  const file = join(data.folder, 'rival-unbound.conf');
  const zones = data.names.map((name) => `  local-zone: "${name}" always_null`).join('\n');
  await writeFile(
    file,
    `server:
  interface: 127.0.0.1
  port: ${String(port)}
  num-threads: 1
  do-daemonize: no
  username: ""
  chroot: ""
  directory: "${data.folder}"
  pidfile: ""
  use-syslog: no
  access-control: 127.0.0.0/8 allow
  do-not-query-localhost: no
  module-config: "iterator"
  minimal-responses: yes
  rrset-roundrobin: no
  msg-cache-size: 64m
  rrset-cache-size: 128m
${zones}
forward-zone:
  name: "."
  forward-addr: 127.0.0.1@${String(upstreamPort)}
remote-control:
  control-enable: no
`,
  );
  const child = spawn(path, ['-d', '-c', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  await lineOf(child, /start of service/, 60_000, 'stderr');
  return server('unbound', port, child);
}

async function startDnsdist(data: Data, upstreamPort: number): ReturnType<Rival> {
  const path = '/usr/bin/dnsdist';
  if (!isThere(path)) return { missing: 'dnsdist (apt-get install dnsdist)' };
  const port = await freePort();
  const file = join(data.folder, 'rival-dnsdist.conf');
  await writeFile(
    file,
    `setLocal("127.0.0.1:${String(port)}")
setACL({"127.0.0.0/8"})
newServer({address="127.0.0.1:${String(upstreamPort)}", healthCheckMode="up"})
getPool(""):setCache(newPacketCache(100000))
blocked = newSuffixMatchNode()
for line in io.lines("${data.folder}/names.txt") do blocked:add(newDNSName(line)) end
addAction(SuffixMatchNodeRule(blocked), SpoofAction({"0.0.0.0", "::"}))
print("blocking")
`,
  );
  const child = spawn(path, ['--supervised', '--disable-syslog', '-C', file], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  await lineOf(child, /Listening on|blocking/, 60_000);
  child.stdout.resume();
  child.stderr.resume();
  await new Promise((done) => setTimeout(done, 1_000));
  return server('dnsdist', port, child);
}

async function startDnsmasq(data: Data, upstreamPort: number): ReturnType<Rival> {
  const path = '/usr/sbin/dnsmasq';
  if (!isThere(path)) return { missing: 'dnsmasq (apt-get install dnsmasq-base)' };
  const port = await freePort();
  const file = join(data.folder, 'rival-dnsmasq.conf');
  const names = data.names.map((name) => `address=/${name}/0.0.0.0`).join('\n');
  await writeFile(
    file,
    `port=${String(port)}
listen-address=127.0.0.1
bind-interfaces
no-resolv
no-hosts
no-daemon
log-facility=-
server=127.0.0.1#${String(upstreamPort)}
cache-size=10000
dns-forward-max=5000
user=
${names}
`,
  );
  const child = spawn(path, ['-k', '-C', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  await lineOf(child, /started, version|using nameserver/, 60_000, 'stderr');
  child.stderr.resume();
  return server('dnsmasq', port, child);
}

export const RIVALS: readonly Rival[] = [startUnbound, startDnsdist, startDnsmasq];

function server(name: string, port: number, child: ChildProcess): Server {
  return { name, port, pid: child.pid ?? 0, close: () => end(child) };
}

function isThere(path: string): boolean {
  try {
    accessSync(path);
    return true;
  } catch {
    return false;
  }
}
