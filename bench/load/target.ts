/**
 * Starts what is to be measured: the built program, headless, in a process of its own, with a list
 * of made-up names, its log on, and unbound on loopback as its upstream, which answers any name.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { createSocket } from 'node:dgram';
import { listNames } from './names.ts';

const PROGRAM = resolve(import.meta.dirname, '../../dist/main/headless.js');

export interface Target {
  readonly port: number;
  readonly pid: number;
  /** Null when the target has no figures of its own. */
  status(): Promise<TargetStatus | null>;
  close(): Promise<void>;
}

/** What the load tools read of GET /api/status (contract/methods/methods.ts, statusSchema). */
export interface TargetStatus {
  readonly totals: Record<'queries' | 'blocked' | 'cached' | 'forwarded' | 'logDropped', number>;
  readonly latency: Record<'local' | 'upstream', { p50Us: number; p99Us: number }>;
  readonly queues: readonly { name: string; depth: number; dropped: number }[];
}

export interface Data {
  readonly folder: string;
  /** Names in the block list. */
  readonly names: readonly string[];
  close(): Promise<void>;
}

/** Makes a data folder with a list of `count` names. */
export async function makeData(count: number): Promise<Data> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-'));
  const names = listNames(count);
  await writeFile(join(folder, 'names.txt'), `${names.join('\n')}\n`);
  return { folder, names, close: () => rm(folder, { recursive: true, force: true }) };
}

/** How a program is started otherwise than usual. */
export interface ProgramOptions {
  /** headless.js of another build, to compare with. */
  readonly program?: string;
  /** Data folder below that of the bench; each program that runs beside another needs its own. */
  readonly dataFolder?: string;
  /** The processor it may use, or several: "0", "0,1". Any when empty. */
  readonly cpus?: string;
  readonly threads?: number;
  /** For Node itself. */
  readonly nodeOptions?: readonly string[];
}

/** @throws Error when the program does not become ready within 30 s */
export async function startProgram(
  data: Data,
  upstreamPort: number,
  options: ProgramOptions = {},
): Promise<Target> {
  const { program = PROGRAM, dataFolder = 'data', cpus = '', threads = 1 } = options;
  const { nodeOptions = [] } = options;
  const config = join(data.folder, `${dataFolder}.yaml`);
  await writeFile(
    config,
    JSON.stringify({
      dns: {
        listen: ['127.0.0.1:0'],
        upstreams: [`127.0.0.1:${String(upstreamPort)}`],
        threads,
      },
      lists: [{ name: 'made-up', url: `file://${data.folder}/names.txt` }],
      http: { listen: '127.0.0.1:0' },
    }),
  );
  const folder = join(data.folder, dataFolder);
  const args = [...nodeOptions, program, 'run', '--config', config, '--data-dir', folder];
  const command = [...(cpus === '' ? [] : ['taskset', '-c', cpus]), process.execPath, ...args];
  const child = spawn(command[0] ?? '', command.slice(1), { stdio: ['ignore', 'pipe', 'pipe'] });
  const ready = await lineOf(child, /^ready .*dns=\S*?:(\d+).*http=(\S+)/, 30_000);
  const http = `http://${ready[2] ?? ''}`;
  // Builds without the file let the same user in.
  const token = (await readFile(join(folder, 'token'), 'latin1').catch(() => '')).trim();
  const headers = { authorization: `Bearer ${token}` };
  return {
    port: Number(ready[1]),
    pid: child.pid ?? 0,
    status: async () =>
      (await (await fetch(`${http}/api/status`, { headers })).json()) as TargetStatus,
    close: () => end(child),
  };
}

export interface Upstream {
  readonly port: number;
  close(): Promise<void>;
}

/** Starts unbound with one answer for every name; needs the Debian package unbound. */
export async function startUpstream(folder: string): Promise<Upstream> {
  const port = await freePort();
  const file = join(folder, 'unbound.conf');
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
  access-control: 127.0.0.0/8 allow
  local-zone: "." redirect
  local-data: ". 3600 IN A 192.0.2.1"
remote-control:
  control-enable: no
`,
  );
  const child = spawn('/usr/sbin/unbound', ['-d', '-c', file], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  await lineOf(child, /start of service/, 10_000, 'stderr');
  return { port, close: () => end(child) };
}

/** A UDP port of 127.0.0.1 that nothing used a moment ago. */
export async function freePort(): Promise<number> {
  const socket = createSocket('udp4');
  await new Promise<void>((done) => socket.bind(0, '127.0.0.1', done));
  const { port } = socket.address();
  await new Promise<void>((done) => socket.close(() => done()));
  return port;
}

export async function lineOf(
  child: ChildProcess,
  pattern: RegExp,
  timeoutMs: number,
  from: 'stdout' | 'stderr' = 'stdout',
): Promise<RegExpExecArray> {
  const seen: string[] = [];
  const other = from === 'stdout' ? child.stderr : null;
  other?.on('data', (chunk: Buffer) => {
    if (seen.length < 20) seen.push(chunk.toString());
  });
  const stream = child[from];
  if (stream === null) throw new Error(`no ${from}`);
  return await new Promise((resolve, reject) => {
    const fail = (why: string): void => {
      clearTimeout(timer);
      child.kill('SIGKILL');
      reject(new Error(`${why}: ${seen.join('').slice(0, 2000)}`));
    };
    const timer = setTimeout(() => fail(`not ready after ${String(timeoutMs)} ms`), timeoutMs);
    child.once('error', (cause) => fail(cause.message));
    child.once('exit', (code) => fail(`ended with ${String(code)}`));
    createInterface({ input: stream }).on('line', (line) => {
      const match = pattern.exec(line);
      if (match === null) {
        if (seen.length < 20) seen.push(`${line}\n`);
        return;
      }
      clearTimeout(timer);
      child.removeAllListeners('exit');
      resolve(match);
    });
  });
}

export async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((done) => child.once('exit', () => done()));
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
  await ended;
  clearTimeout(timer);
}
