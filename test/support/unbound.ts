/** A real unbound on loopback as an upstream that knows a few names and counts what it is asked. */
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from '../../bench/load/target.ts';
import { findTool } from './tools.ts';

export interface Unbound {
  readonly port: number;
  /** Ports of DNS over TLS and over HTTPS; 0 without a certificate. */
  readonly tlsPort: number;
  readonly httpsPort: number;
  /** How often it was asked for a name (no trailing dot) and type. */
  asked(name: string, type: string): number;
  /** Stops it as a dead server: nothing answers on its port any more. */
  stop(): Promise<void>;
}

/**
 * @param records      zone-file lines, each a full record; every other name is NXDOMAIN
 * @param certificate  PEM; then it speaks DNS over TLS and over HTTPS as well
 */
export async function startUnbound(
  records: readonly string[],
  certificate?: { readonly key: string; readonly cert: string },
): Promise<Unbound> {
  // A port that was free a moment ago may be another connection's own by now.
  for (let tries = 1; ; tries++) {
    try {
      return await start(records, certificate);
    } catch (error) {
      if (tries === 5) throw error;
    }
  }
}

async function start(
  records: readonly string[],
  certificate: { readonly key: string; readonly cert: string } | undefined,
): Promise<Unbound> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-unbound-'));
  const port = await freePort();
  const tlsPort = certificate === undefined ? 0 : await freeTcpPort();
  const httpsPort = certificate === undefined ? 0 : await freeTcpPort();
  const secure =
    certificate === undefined ? '' : await secureLines(folder, certificate, tlsPort, httpsPort);
  const file = join(folder, 'unbound.conf');
  const data = records.map((record) => `  local-data: '${record}'`).join('\n');
  await writeFile(
    file,
    `server:
  interface: 127.0.0.1
  port: ${String(port)}
  do-daemonize: no
  username: ""
  chroot: ""
  directory: "${folder}"
  pidfile: ""
  use-syslog: no
  log-queries: yes
  log-time-ascii: no
  access-control: 127.0.0.0/8 allow
  local-zone: "." static
  local-data: ". 300 IN SOA ns.example. host.example. 1 3600 900 86400 60"
${secure}${data}
remote-control:
  control-enable: no
`,
  );
  const child = spawn(findTool('unbound') ?? 'unbound', ['-d', '-c', file], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const counts = new Map<string, number>();
  const seen: string[] = [];
  await new Promise<void>((done, fail) => {
    child.once('exit', (code) => fail(new Error(`unbound ${String(code)}: ${seen.join('\n')}`)));
    createInterface({ input: child.stderr }).on('line', (line) => {
      if (seen.length < 20) seen.push(line);
      if (line.includes('start of service')) done();
      const match = /info: 127\.0\.0\.1 (\S+?)\.? (\S+) IN/.exec(line);
      if (match === null) return;
      const key = `${(match[1] ?? '').toLowerCase()} ${match[2] ?? ''}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    });
  });
  return {
    ...{ port, tlsPort, httpsPort },
    asked: (name, type) => counts.get(`${name} ${type}`) ?? 0,
    stop: async () => {
      if (child.exitCode === null && child.signalCode === null) {
        const ended = new Promise<void>((done) => child.once('exit', () => done()));
        child.kill('SIGKILL');
        await ended;
      }
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A TCP port of 127.0.0.1 that nothing used a moment ago. */
export async function freeTcpPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((done) => server.close(() => done()));
  return port;
}

async function secureLines(
  folder: string,
  { key, cert }: { readonly key: string; readonly cert: string },
  tlsPort: number,
  httpsPort: number,
): Promise<string> {
  await writeFile(join(folder, 'server.key'), key);
  await writeFile(join(folder, 'server.pem'), cert);
  return `  interface: 127.0.0.1@${String(tlsPort)}
  interface: 127.0.0.1@${String(httpsPort)}
  tls-port: ${String(tlsPort)}
  https-port: ${String(httpsPort)}
  tls-service-key: "${folder}/server.key"
  tls-service-pem: "${folder}/server.pem"
`;
}
