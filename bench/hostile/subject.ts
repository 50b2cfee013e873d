/**
 * The built program as the hostile test sees it: a process with a data folder, two doors (DNS and
 * HTTP) on ports that stay over restarts, and the command line. Nothing of its inside is used.
 */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';

const PROGRAM = resolve(import.meta.dirname, '../../dist/main/headless.js');
const READY_MS = 30_000;

/** Nothing stays behind when the test itself is ended. */
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export interface StartOptions {
  /** Words in front of the command, e.g. prlimit --nofile=64. */
  readonly wrap?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
}

export class Subject {
  readonly data: string;
  readonly dnsPort: number;
  readonly httpPort: number;
  /** Lines on stderr since the last start. */
  readonly stderr: string[] = [];
  #child: ChildProcess | null = null;
  #token = '';

  private constructor(data: string, dnsPort: number, httpPort: number) {
    this.data = data;
    this.dnsPort = dnsPort;
    this.httpPort = httpPort;
  }

  /** @param config  settings without the listeners; null leaves the folder as it is */
  static async make(folder: string, config: object | null): Promise<Subject> {
    const subject = new Subject(join(folder, 'data'), await steadyPort(), await steadyPort());
    await mkdir(subject.data, { recursive: true, mode: 0o700 });
    if (config !== null) {
      const file = join(subject.data, 'sluice.yaml');
      // Synced: what a power cut takes away must be of the program's own making.
      await writeFile(file, JSON.stringify(config, null, 2), { flush: true });
    }
    return subject;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  isAlive(): boolean {
    const child = this.#child;
    return child !== null && child.exitCode === null && child.signalCode === null;
  }

  /** Why it ended, as far as it said so. */
  get lastWords(): string {
    const error = this.stderr.find((line) => /\bE[A-Z]{4,}\b|Error|FATAL/.test(line));
    return error ?? this.stderr.slice(-3).join(' | ');
  }

  /** Spawns; does not wait. */
  launch({ wrap = [], env = {} }: StartOptions = {}): ChildProcess {
    const run = [
      ...[process.execPath, PROGRAM, 'run', '--data-dir', this.data],
      ...['--listen', `127.0.0.1:${String(this.dnsPort)}`],
      ...['--http', `127.0.0.1:${String(this.httpPort)}`],
    ];
    const [file = '', ...words] = [...wrap, ...run];
    this.stderr.length = 0;
    const child = spawn(file, words, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, SLUICE_JOURNAL_DIR: join(this.data, '..', 'journal'), ...env },
    });
    this.#child = child;
    running.add(child);
    child.once('exit', () => running.delete(child));
    createInterface({ input: child.stderr }).on('line', (line) => {
      if (this.stderr.length < 200) this.stderr.push(line);
    });
    return child;
  }

  /** Starts and waits until it says that it is ready. @throws Error with what it printed instead */
  async start(options: StartOptions = {}): Promise<void> {
    const child = this.launch(options);
    const stdout = child.stdout;
    if (stdout === null) throw new Error('no stdout');
    await new Promise<void>((done, fail) => {
      const said = (): string => this.stderr.slice(-5).join(' | ');
      const timer = setTimeout(() => {
        child.kill('SIGKILL');
        fail(new Error(`not ready within ${String(READY_MS)} ms: ${said()}`));
      }, READY_MS);
      const end = (code: number | null): void => {
        clearTimeout(timer);
        fail(new Error(`ended with ${String(code)} instead of starting: ${said()}`));
      };
      child.once('error', (error) => {
        clearTimeout(timer);
        fail(error);
      });
      child.once('close', end);
      createInterface({ input: stdout }).on('line', (line) => {
        if (!line.startsWith('ready ')) return;
        clearTimeout(timer);
        child.off('close', end);
        done();
      });
    });
    this.#token = await findToken(this.data);
  }

  /** SIGKILL; resolves when it is gone. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** SIGTERM, and SIGKILL when that takes too long. */
  async stop(): Promise<void> {
    const timer = setTimeout(() => this.#child?.kill('SIGKILL'), 15_000);
    await this.#end('SIGTERM');
    clearTimeout(timer);
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === null || !this.isAlive()) return;
    const gone = once(child, 'exit');
    child.kill(signal);
    await gone;
  }

  /** Calls a method over HTTP. @throws Error with what came instead of an answer */
  async call<Value = unknown>(method: string, input: object = {}, timeoutMs = 20_000) {
    const answer = await fetch(`http://127.0.0.1:${String(this.httpPort)}/api/${method}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${this.#token}` },
      body: JSON.stringify(input),
      signal: AbortSignal.timeout(timeoutMs),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method}: ${String(answer.status)} ${text.slice(0, 200)}`);
    return JSON.parse(text) as Value;
  }

  /** Runs `sluice ARGS` on this folder. Never throws. */
  async cli(words: readonly string[], timeoutMs = 30_000): Promise<{ code: number; text: string }> {
    const all = [PROGRAM, '--data-dir', this.data, ...words];
    return new Promise((done) => {
      const options = { timeout: timeoutMs, killSignal: 'SIGKILL', maxBuffer: 16 << 20 } as const;
      execFile(process.execPath, all, options, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
        done({ code, text: stdout + stderr });
      });
    });
  }

  /** All sentences in which the program says that something is wrong. */
  async complaints(): Promise<string[]> {
    const status = await this.call<{ degradedReasons: string[]; notices: string[] }>('status');
    return [...status.degradedReasons, ...status.notices, ...this.stderr];
  }

  async rssBytes(): Promise<number> {
    const status = await readFile(`/proc/${String(this.pid)}/status`, 'utf8').catch(() => '');
    return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) * 1024;
  }
}

/** Below the ports that connections get by themselves, so that nothing takes them between starts. */
const PORTS = { from: 12_000, to: 32_000 };
const given = new Set<number>();

/** A port of 127.0.0.1 that is free for UDP and TCP, and that no other subject was given. */
async function steadyPort(): Promise<number> {
  for (;;) {
    const port = randomInt(PORTS.from, PORTS.to);
    if (given.has(port)) continue;
    given.add(port);
    const tcp = createServer();
    const udp = createSocket('udp4');
    try {
      tcp.listen(port, '127.0.0.1');
      await once(tcp, 'listening');
      udp.bind(port, '127.0.0.1');
      await once(udp, 'listening');
      return port;
    } catch {
      continue; // somebody has it
    } finally {
      await Promise.all([closed(tcp), closed(udp)]);
    }
  }
}

async function closed(one: { close(done: () => void): unknown }): Promise<void> {
  await new Promise<void>((done) => {
    try {
      one.close(() => done());
    } catch {
      done(); // it was never open
    }
  });
}

/** In a file of its own, or in run.json. */
async function findToken(data: string): Promise<string> {
  const names = await readdir(data);
  for (const name of [...names.filter((one) => one.includes('token')), 'run.json']) {
    const text = (await readFile(join(data, name), 'utf8').catch(() => '')).trim();
    const token = /"token"\s*:\s*"([^"]+)"/.exec(text)?.[1] ?? /^[\w-]{16,}$/.exec(text)?.[0] ?? '';
    if (token !== '') return token;
  }
  return '';
}
