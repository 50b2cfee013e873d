/** Starts the built program as a person would, headless, and reads where it listens. */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { authorization, learnToken } from './api.ts';

export const BUILT_PROGRAM = resolve(import.meta.dirname, '../../dist/main/headless.js');

export interface RunningProgram {
  /** Of the first DNS listener. */
  readonly dnsPort: number;
  /** Base URL without a trailing slash. */
  readonly http: string;
  readonly pid: number;
  readonly child: ChildProcess;
  readonly stderr: readonly string[];
  /** Milliseconds from the start of the process to its ready line. */
  readonly readyMs: number;
  call<Value = unknown>(method: string, input?: object): Promise<Value>;
  /** SIGTERM, then waits; resolves with the exit code. */
  stop(): Promise<number | null>;
}

/** A data folder of its own, removed after the test. */
export async function makeFolder(t: { after(fn: () => Promise<void>): void }): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-test-'));
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
  return folder;
}

/**
 * @param config  settings; listeners default to free ports on 127.0.0.1
 * @throws Error with what the program printed when it is not ready within 20 s
 */
export async function startSluice(folder: string, config: object): Promise<RunningProgram> {
  const file = join(folder, 'sluice.yaml');
  await writeFile(file, JSON.stringify(config));
  return startWith(['run', '--config', file, '--data-dir', join(folder, 'data')]);
}

export async function startWith(args: string[]): Promise<RunningProgram> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [BUILT_PROGRAM, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const stderr: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => stderr.push(line));
  const ready = await new Promise<string>((done, fail) => {
    const timer = setTimeout(() => fail(new Error(`not ready: ${stderr.join('\n')}`)), 20_000);
    child.once('exit', (code) => {
      clearTimeout(timer);
      fail(new Error(`ended with ${String(code)}: ${stderr.join('\n')}`));
    });
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (!line.startsWith('ready ')) return;
      clearTimeout(timer);
      done(line);
    });
  });
  const readyMs = performance.now() - startedAt;
  const http = `http://${/http=(\S+)/.exec(ready)?.[1] ?? ''}`;
  await learnToken(http, args[args.indexOf('--data-dir') + 1] ?? '');
  return {
    dnsPort: Number(/dns=\S*?:(\d+)(?:[\s,]|$)/.exec(ready)?.[1]),
    http,
    pid: child.pid ?? 0,
    child,
    stderr,
    readyMs,
    call: async (method, input = {}) => {
      const answer = await fetch(`${http}/api/${method}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...authorization(http) },
        body: JSON.stringify(input),
      });
      if (!answer.ok) throw new Error(`${method}: ${await answer.text()}`);
      return (await answer.json()) as never;
    },
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
      const ended = new Promise<number | null>((done) => child.once('exit', done));
      child.kill('SIGTERM');
      return await ended;
    },
  };
}
