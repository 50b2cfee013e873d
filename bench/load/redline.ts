/**
 * `npm run bench:redline`: steps the offered load up on each path until loss or latency breaks,
 * and says what was used up there.
 *
 *   --seconds N   length of a step (default 8)
 *   --names N     names in the block list (default 140000)
 *   --rates A,B   offered queries a second, rising (default 500 to as many as possible)
 *   --out DIR     folder of redline.json (default bench/out; bench/results is what README quotes)
 */
import { parseArgs } from 'node:util';
import { runDnsperf } from './dnsperf.ts';
import { PATHS, writeQueries, type Path } from './paths.ts';
import { busiestThreadShare, machineCpu, udpDropsAt, usageOf } from './process-usage.ts';
import { writeResult } from './result-file.ts';
import { makeData, startProgram, startUpstream, type Data, type Target } from './target.ts';
import { breakOf, kneeOf, REDLINE, sameCeiling, type Knee, type Step } from './verdict.ts';

export interface Redline {
  readonly steps: Step[];
  readonly knees: Knee[];
  readonly sameCeiling: boolean;
}

export interface RedlineOptions {
  readonly seconds: number;
  /** null: as fast as answers come. */
  readonly rates: readonly (number | null)[];
  readonly paths: readonly Path[];
  /** A fresh target for each step, so that its own figures are of that step alone. */
  start(): Promise<Target>;
  say(line: string): void;
}

/** Runs every path through the rates; a path ends at the first rate that breaks. */
export async function redline(options: RedlineOptions, data: Data): Promise<Redline> {
  const steps: Step[] = [];
  const knees: Knee[] = [];
  const breaking: Step[] = [];
  for (const path of options.paths) {
    const own: Step[] = [];
    for (const rate of options.rates) {
      const step = await runStep(path, rate, options, data);
      own.push(step);
      options.say(describe(step));
      if (breakOf(step, options.seconds) !== null) break;
    }
    const knee = kneeOf(own, options.seconds);
    options.say(
      `${path}: ${String(Math.round(knee.qps))} QPS; broke: ${knee.broke}; ` +
        `first used up: ${knee.saturated}\n`,
    );
    steps.push(...own);
    knees.push(knee);
    breaking.push(...own.slice(-1));
  }
  return { steps, knees, sameCeiling: sameCeiling(knees, breaking) };
}

async function runStep(
  path: Path,
  rate: number | null,
  options: RedlineOptions,
  data: Data,
): Promise<Step> {
  const { seconds } = options;
  const queries = Math.ceil((rate ?? 60_000) * seconds * 1.1);
  const queryFile = await writeQueries(path, data, queries);
  const target = await options.start();
  try {
    const load = { port: target.port, queryFile, seconds };
    if (path === 'cached') await runDnsperf({ ...load, rate: 5_000, once: true });
    else await runDnsperf({ ...load, rate: 2_000, seconds: 1 });
    const before = { usage: usageOf(target.pid), machine: machineCpu() };
    const fresh = path === 'forwarded' ? await writeQueries(path, data, queries) : queryFile;
    const result = await runDnsperf({ ...load, queryFile: fresh, rate });
    const after = { usage: usageOf(target.pid), machine: machineCpu() };
    const status = await target.status();
    const own = status?.latency[path === 'forwarded' ? 'upstream' : 'local'];
    const machineTotal = after.machine.total - before.machine.total;
    return {
      path,
      offered: rate,
      sent: result.sent,
      answered: result.answered,
      qps: result.qps,
      clientP50Us: result.p50Us,
      clientP99Us: result.p99Us,
      engineP50Us: own?.p50Us ?? 0,
      engineP99Us: own?.p99Us ?? 0,
      cpuSeconds: round(after.usage.cpuSeconds - before.usage.cpuSeconds),
      busiestThread: round(busiestThreadShare(before.usage, after.usage, result.seconds)),
      machineBusy: round((after.machine.busy - before.machine.busy) / machineTotal),
      rssBytes: after.usage.rssBytes,
      anonymousBytes: after.usage.anonymousBytes,
      logDropped: status?.totals.logDropped ?? 0,
      socketDropped: udpDropsAt(target.port),
      pendingDropped: status?.queues.find((queue) => queue.name === 'pending')?.dropped ?? 0,
    };
  } finally {
    await target.close();
  }
}

function describe(step: Step): string {
  const offered = step.offered === null ? 'as fast as possible' : `${String(step.offered)}/s`;
  return (
    `${step.path.padEnd(9)} ${offered.padEnd(20)} answered ${String(step.answered)} of ` +
    `${String(step.sent)}, ${String(Math.round(step.qps))} QPS, client p50/p99 ` +
    `${String(step.clientP50Us)}/${String(step.clientP99Us)} µs, engine p50/p99 ` +
    `${step.engineP50Us.toFixed(0)}/${step.engineP99Us.toFixed(0)} µs, CPU ` +
    `${step.cpuSeconds.toFixed(2)} s, RSS ${(step.rssBytes / 2 ** 20).toFixed(0)} MiB, ` +
    `log drops ${String(step.logDropped)}`
  );
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '8' },
      names: { type: 'string', default: '140000' },
      rates: { type: 'string', default: '500,1000,2500,5000,10000,20000,40000,max' },
      out: { type: 'string', default: 'bench/out' },
    },
  });
  const say = (line: string): boolean => process.stdout.write(`${line}\n`);
  const data = await makeData(Number(values.names));
  const upstream = await startUpstream(data.folder);
  try {
    const options: RedlineOptions = {
      seconds: Number(values.seconds),
      rates: values.rates.split(',').map((rate) => (rate === 'max' ? null : Number(rate))),
      paths: PATHS,
      start: () => startProgram(data, upstream.port),
      say,
    };
    const result = await redline(options, data);
    if (result.sameCeiling) {
      say('SAME CEILING on different paths with idle CPU: look for something they all wait for.');
    }
    const body = { names: Number(values.names), limits: REDLINE, ...result };
    say(`written: ${writeResult(values.out, 'redline', 'npm run bench:redline', body)}`);
  } finally {
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
