/** Result files: what was measured, by which command, on which machine, at which commit. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');

export interface Machine {
  readonly cpuModel: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly kernel: string;
  readonly node: string;
  readonly generator: string;
}

export function machine(): Machine {
  return {
    cpuModel: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: run('uname', ['-r']),
    node: process.version,
    generator: /Version (\S+)/.exec(run('dnsperf', ['-H']))?.[1] ?? 'unknown',
  };
}

/**
 * Writes `<folder>/<name>.json`; returns its path.
 *
 * @param command  the npm command that makes this file again; the arguments given are added
 */
export function writeResult(folder: string, name: string, command: string, body: object): string {
  mkdirSync(resolve(ROOT, folder), { recursive: true });
  const path = resolve(ROOT, folder, `${name}.json`);
  const commit = run('git', ['-C', ROOT, 'rev-parse', '--short=12', 'HEAD']);
  const date = new Date().toISOString().slice(0, 10);
  const given = process.argv.slice(2).join(' ');
  const full = given === '' ? command : `${command} -- ${given}`;
  const result = { command: full, commit, date, machine: machine(), ...body };
  writeFileSync(path, `${JSON.stringify(result, null, 2)}\n`);
  return path;
}

/** Output of a command, both streams; 'unknown' when it does not run. */
function run(command: string, args: string[]): string {
  try {
    return execFileSync(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
      .toString()
      .trim();
  } catch {
    return 'unknown';
  }
}
