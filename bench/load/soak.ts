/**
 * `npm run bench:soak`: a steady load of blocked, cached and forwarded names for a long time, with
 * memory read every second. Fails when queries are lost, answers are wrong, or memory climbs.
 *
 *   --seconds N   length (default 180)
 *   --rate N      queries a second (default 2000)
 *   --names N     names in the block list (default 140000)
 *   --out DIR     folder of soak.json (default bench/out)
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runDnsperf } from './dnsperf.ts';
import { writeQueries } from './paths.ts';
import { usageOf } from './process-usage.ts';
import { writeResult } from './result-file.ts';
import { lastThirdOverFirst, slopePerMinute, type Sample } from './slope.ts';
import { makeData, startProgram, startUpstream, type Data, type Target } from './target.ts';

/** Memory may climb this much after the warm-up: bytes a minute, and last third over first. */
const SLOPE_MAX = 1024 * 1024;
const GROWTH_MAX = 1.1;
const WARM_UP_SECONDS = 20;

export interface Soak {
  readonly seconds: number;
  readonly rate: number;
  readonly sent: number;
  readonly answered: number;
  readonly wrongRcodes: number;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly rss: { firstBytes: number; minBytes: number; maxBytes: number; lastBytes: number };
  readonly slopeBytesPerMinute: number;
  readonly lastThirdOverFirst: number;
  readonly cpuSecondsPerMillion: number;
  readonly logDropped: number;
  readonly failures: string[];
}

async function mixedQueries(data: Data, rate: number, seconds: number): Promise<string> {
  const forwarded = Math.ceil((rate * seconds) / 3) + 1_000;
  const files = [
    await writeQueries('blocked', data, forwarded),
    await writeQueries('cached', data, forwarded),
    await writeQueries('forwarded', data, forwarded),
  ];
  const lists = await Promise.all(
    files.map(async (file) => (await readFile(file, 'utf8')).trimEnd().split('\n')),
  );
  const lines: string[] = [];
  for (let index = 0; index < forwarded; index++) {
    for (const list of lists) lines.push(list[index % list.length] ?? '');
  }
  const path = join(data.folder, 'mixed.txt');
  await writeFile(path, `${lines.join('\n')}\n`);
  return path;
}

/** Runs the load and judges it; `failures` is empty when everything held. */
export async function soak(
  target: Target,
  data: Data,
  rate: number,
  seconds: number,
): Promise<Soak> {
  const queryFile = await mixedQueries(data, rate, seconds);
  const samples: Sample[] = [];
  const startedAt = performance.now();
  const before = usageOf(target.pid);
  const timer = setInterval(() => {
    const atSeconds = (performance.now() - startedAt) / 1000;
    samples.push({ atSeconds, bytes: usageOf(target.pid).rssBytes });
  }, 1_000);
  const result = await runDnsperf({ port: target.port, queryFile, rate, seconds }).finally(() =>
    clearInterval(timer),
  );
  const after = usageOf(target.pid);
  const status = await target.status();
  const warmUp = Math.min(WARM_UP_SECONDS, seconds / 3);
  const settled = samples.filter((sample) => sample.atSeconds >= warmUp);
  const bytes = settled.map((sample) => sample.bytes);
  const wrongRcodes = result.answered - (result.rcodes['NOERROR'] ?? 0);
  const figures = {
    seconds,
    rate,
    sent: result.sent,
    answered: result.answered,
    wrongRcodes,
    p50Us: result.p50Us,
    p99Us: result.p99Us,
    rss: {
      firstBytes: bytes[0] ?? 0,
      minBytes: Math.min(...bytes),
      maxBytes: Math.max(...bytes),
      lastBytes: bytes.at(-1) ?? 0,
    },
    slopeBytesPerMinute: Math.round(slopePerMinute(settled)),
    lastThirdOverFirst: Math.round(lastThirdOverFirst(settled) * 1000) / 1000,
    cpuSecondsPerMillion:
      Math.round(((after.cpuSeconds - before.cpuSeconds) / result.answered) * 1e8) / 100,
    logDropped: status?.totals.logDropped ?? 0,
  };
  return { ...figures, failures: failuresOf(figures) };
}

/** What did not hold, one sentence each. */
export function failuresOf(figures: Omit<Soak, 'failures'>): string[] {
  const failures: string[] = [];
  const expected = figures.rate * figures.seconds;
  if (Math.abs(figures.sent - expected) > expected * 0.01) {
    failures.push(`sent ${String(figures.sent)}, expected ${String(expected)} within 1 %`);
  }
  if (figures.answered < figures.sent * 0.999) {
    failures.push(`answered ${String(figures.answered)} of ${String(figures.sent)}`);
  }
  if (figures.wrongRcodes > 0) failures.push(`${String(figures.wrongRcodes)} wrong answers`);
  if (figures.slopeBytesPerMinute > SLOPE_MAX && figures.lastThirdOverFirst > GROWTH_MAX) {
    failures.push(`memory climbs by ${String(figures.slopeBytesPerMinute)} bytes a minute`);
  }
  return failures;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '180' },
      rate: { type: 'string', default: '2000' },
      names: { type: 'string', default: '140000' },
      out: { type: 'string', default: 'bench/out' },
    },
  });
  const data = await makeData(Number(values.names));
  const upstream = await startUpstream(data.folder);
  const target = await startProgram(data, upstream.port);
  try {
    const result = await soak(target, data, Number(values.rate), Number(values.seconds));
    process.stdout.write(`${JSON.stringify(result, null, 2)}\n`);
    if (result.failures.length > 0) throw new Error(result.failures.join('; '));
    const body = { names: Number(values.names), ...result };
    const path = writeResult(values.out, 'soak', 'npm run bench:soak', body);
    process.stdout.write(`written: ${path}\n`);
  } finally {
    await target.close();
    await upstream.close();
    await data.close();
  }
}

if (import.meta.main) {
  await main().catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  });
}
