/** A real dnsdist on loopback in front of a plain server, with listeners for DoT and DoH. */
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Certificate } from './certificates.ts';
import { findTool } from './tools.ts';
import { freePort } from '../../bench/load/target.ts';
import { freeTcpPort } from './unbound.ts';

export interface Dnsdist {
  readonly port: number;
  readonly tlsPort: number;
  readonly httpsPort: number;
}

/** Started and answering; stopped when the test ends. */
export async function startDnsdist(
  t: Pick<TestContext, 'after'>,
  backendPort: number,
  certificate: Certificate,
): Promise<Dnsdist> {
  // A port that was free a moment ago may be another connection's own by now.
  for (let tries = 1; ; tries++) {
    try {
      return await start(t, backendPort, certificate);
    } catch (error) {
      if (tries === 5) throw error;
    }
  }
}

async function start(
  t: Pick<TestContext, 'after'>,
  backendPort: number,
  { key, cert }: Certificate,
): Promise<Dnsdist> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-dnsdist-'));
  const [port, tlsPort, httpsPort] = [
    await freePort(),
    await freeTcpPort(),
    await freeTcpPort(),
  ] as const;
  const [keyFile, certFile] = [join(folder, 'server.key'), join(folder, 'server.pem')];
  await writeFile(keyFile, key);
  await writeFile(certFile, cert);
  const files = `"${certFile}", "${keyFile}"`;
  await writeFile(
    join(folder, 'dnsdist.conf'),
    `setSecurityPollSuffix("")
setLocal("127.0.0.1:${String(port)}")
addTLSLocal("127.0.0.1:${String(tlsPort)}", ${files})
addDOHLocal("127.0.0.1:${String(httpsPort)}", ${files}, "/dns-query")
newServer({address="127.0.0.1:${String(backendPort)}", healthCheckMode="up"})
`,
  );
  const child = spawn(
    findTool('dnsdist') ?? 'dnsdist',
    ['--supervised', '--disable-syslog', '-C', join(folder, 'dnsdist.conf')],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let said = '';
  const note = (chunk: Buffer): void => {
    said = (said + chunk.toString()).slice(-2_000);
  };
  child.stdout.on('data', note);
  child.stderr.on('data', note);
  t.after(async () => {
    if (child.exitCode === null) {
      const ended = new Promise((done) => child.once('exit', done));
      child.kill('SIGKILL');
      await ended;
    }
    await rm(folder, { recursive: true, force: true });
  });
  for (const open of [port, tlsPort, httpsPort]) {
    for (let tries = 0; !(await isOpen(open)); tries++) {
      if (tries > 100 || child.exitCode !== null) throw new Error(`dnsdist: ${said}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  return { port, tlsPort, httpsPort };
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
