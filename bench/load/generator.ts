/** Runs the load generator in C (generator.c) and reads its one line of JSON. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { compileTool } from './c-tools.ts';
import { assertSent } from './dnsperf.ts';

const WINDOW = 1_024;
const SOCKETS = 8;
const run = promisify(execFile);

export interface Heard {
  readonly sent: number;
  readonly answered: number;
  readonly lost: number;
  readonly qps: number;
  readonly p50: number;
  readonly p99: number;
  /** Answers by RCODE number. */
  readonly rcodes: Record<string, number>;
}

/**
 * @param rate  questions a second; 0 keeps WINDOW questions in flight, for the ceiling
 * @throws Error "sent 0, expected N"
 */
export async function runGenerator(load: {
  port: number;
  file: string;
  seconds: number;
  rate: number;
  /** Processors it may use, as for taskset; any when empty. */
  cpus?: string;
  /** Source ports; the kernel spreads them over the threads that share a listening port. */
  sockets?: number;
}): Promise<Heard> {
  const pinned = load.cpus === undefined || load.cpus === '' ? [] : ['taskset', '-c', load.cpus];
  const [command, ...args] = [...pinned, compileTool('generator')];
  const { stdout, stderr } = await run(command, [
    ...args,
    String(load.port),
    load.file,
    String(load.seconds),
    String(WINDOW),
    String(load.rate),
    String(load.sockets ?? SOCKETS),
  ]);
  const heard = JSON.parse(stdout) as Heard;
  assertSent(heard.sent, Math.max(1, load.rate * load.seconds), stderr);
  return heard;
}
