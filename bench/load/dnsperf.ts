/**
 * Runs dnsperf against a DNS server on loopback and reads what it did: counts from its summary,
 * latency quantiles from its per-query lines. A run that sent nothing is an error, never a result.
 */
import { spawn } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface Load {
  readonly port: number;
  /** dnsperf data file: a name and a type a line. */
  readonly queryFile: string;
  /** Queries offered a second; null for as many as fit into `outstanding`. */
  readonly rate: number | null;
  readonly seconds: number;
  /** Run through the file once instead of for `seconds`. */
  readonly once?: boolean;
  readonly clients?: number;
  readonly outstanding?: number;
  readonly edns?: boolean;
}

export interface LoadResult {
  readonly sent: number;
  readonly answered: number;
  readonly lost: number;
  /** Answers a second over the run. */
  readonly qps: number;
  readonly seconds: number;
  /** Microseconds, from send to receipt in the generator. */
  readonly p50Us: number;
  readonly p99Us: number;
  readonly maxUs: number;
  /** Answers by response code. */
  readonly rcodes: Record<string, number>;
}

/** @throws Error "sent 0, expected N" when nothing was sent, or with dnsperf's own words */
export async function runDnsperf(load: Load): Promise<LoadResult> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-load-'));
  try {
    const outputPath = join(folder, 'out');
    const stderr = await runToFile(argumentsOf(load), outputPath, load.seconds);
    const result = await readOutput(outputPath);
    const expected = load.once === true ? 1 : Math.round((load.rate ?? 1) * load.seconds);
    assertSent(result.sent, expected, stderr);
    return result;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** @throws Error when the generator sent nothing: there is nothing to report then. */
export function assertSent(sent: number, expected: number, stderr: string): void {
  if (sent > 0) return;
  const words = stderr.trim().split('\n').pop() ?? '';
  throw new Error(`sent 0, expected ${String(expected)}${words === '' ? '' : `: ${words}`}`);
}

function argumentsOf(load: Load): string[] {
  const args = ['-s', '127.0.0.1', '-p', String(load.port), '-d', load.queryFile];
  args.push('-c', String(load.clients ?? 8), '-q', String(load.outstanding ?? 400));
  args.push('-t', '3', '-v', ...(load.edns === true ? ['-e'] : []));
  if (load.once === true) args.push('-n', '1');
  else args.push('-l', String(load.seconds));
  if (load.rate !== null) args.push('-Q', String(load.rate));
  return args;
}

async function runToFile(args: string[], path: string, seconds: number): Promise<string> {
  const file = await open(path, 'w');
  try {
    const child = spawn('dnsperf', args, { stdio: ['ignore', file.fd, 'pipe'] });
    const timer = setTimeout(() => child.kill('SIGKILL'), (seconds + 60) * 1000);
    let stderr = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      if (stderr.length < 4096) stderr += chunk.toString();
    });
    const status = await new Promise<number | null>((resolve, reject) => {
      child.once('error', (cause) => reject(new Error('dnsperf does not start', { cause })));
      child.once('close', resolve);
    });
    clearTimeout(timer);
    if (status !== 0) throw new Error(`dnsperf ended with ${String(status)}: ${stderr.trim()}`);
    return stderr;
  } finally {
    await file.close();
  }
}

/** Reads "> NOERROR name A 0.000123" lines and the closing summary. */
async function readOutput(path: string): Promise<LoadResult> {
  const latencies: number[] = [];
  const rcodes: Record<string, number> = {};
  const summary = new Map<string, number>();
  for await (const line of createInterface({ input: createReadStream(path) })) {
    if (line.startsWith('> ')) {
      const rcode = line.slice(2, line.indexOf(' ', 2));
      rcodes[rcode] = (rcodes[rcode] ?? 0) + 1;
      const seconds = Number(line.slice(line.lastIndexOf(' ') + 1));
      if (!Number.isNaN(seconds)) latencies.push(Math.round(seconds * 1e6));
      continue;
    }
    const match = /^\s+([A-Z][A-Za-z ()]+):\s+([\d.]+)/.exec(line);
    if (match?.[1] !== undefined) summary.set(match[1], Number(match[2]));
  }
  latencies.sort((a, b) => a - b);
  const at = (share: number): number =>
    latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0;
  return {
    sent: summary.get('Queries sent') ?? 0,
    answered: summary.get('Queries completed') ?? 0,
    lost: summary.get('Queries lost') ?? 0,
    qps: summary.get('Queries per second') ?? 0,
    seconds: summary.get('Run time (s)') ?? 0,
    p50Us: at(0.5),
    p99Us: at(0.99),
    maxUs: at(1),
    rcodes,
  };
}
