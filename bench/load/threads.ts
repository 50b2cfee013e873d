/**
 * `npm run bench:threads`: one data-plane thread against several, on blocked names. The generator
 * has the last processor, the program the others; where there are too few for that they share, and
 * the output says what the figures can show then.
 *
 *   --threads A,B    thread counts, the first one is the measure (default 1,2)
 *   --seconds N      length of a run (default 3)
 *   --rounds N       runs of each, taken in turn (default 3)
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { runGenerator } from './generator.ts';
import { writeQueries } from './paths.ts';
import { usageOf, type Usage } from './process-usage.ts';
import { startEcho } from './rival-servers.ts';
import { makeData, startProgram, type Data } from './target.ts';

interface Run {
  readonly qps: number;
  readonly cpuUsPerAnswer: number;
  /** Processor time of the busiest data-plane thread over that of the idlest. */
  readonly unevenness: number;
}

/** The kernel cuts thread names to 15 bytes. */
const PLANE_THREAD = /data-plane/;

/** As many source ports as the generator has: the kernel gives each to one thread. */
const SOCKETS = 32;

const cores = availableParallelism();
const generatorCpu = String(cores - 1);

/** Processors of the program: as many as it has threads, without the generator's if possible. */
function cpusFor(threads: number): string {
  const free = Math.max(cores - 1, 1);
  const count = threads <= free ? threads : cores;
  return Array.from({ length: count }, (_, cpu) => String(cpu)).join(',');
}

function planeSeconds(before: Usage, after: Usage): number[] {
  return [...after.threads]
    .filter(([name]) => PLANE_THREAD.test(name))
    .map(([name, seconds]) => seconds - (before.threads.get(name) ?? 0));
}

async function runOnce(
  data: Data,
  upstreamPort: number,
  file: string,
  threads: number,
  seconds: number,
): Promise<Run> {
  const target = await startProgram(data, upstreamPort, { threads, cpus: cpusFor(threads) });
  try {
    const load = { port: target.port, file, cpus: generatorCpu, sockets: SOCKETS };
    await runGenerator({ ...load, seconds: 1, rate: 0 });
    const before = usageOf(target.pid);
    const heard = await runGenerator({ ...load, seconds, rate: 0 });
    const after = usageOf(target.pid);
    const planes = planeSeconds(before, after);
    return {
      qps: heard.qps,
      cpuUsPerAnswer: ((after.cpuSeconds - before.cpuSeconds) / heard.answered) * 1e6,
      unevenness: Math.max(...planes) / Math.max(Math.min(...planes), 0.01),
    };
  } finally {
    await target.close();
  }
}

function spread(values: readonly number[], digits: number): string {
  const sorted = values.toSorted((a, b) => a - b).map((value) => value.toFixed(digits));
  return `${sorted[sorted.length >> 1] ?? ''} [${sorted[0] ?? ''}-${sorted.at(-1) ?? ''}]`;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      threads: { type: 'string', default: '1,2' },
      seconds: { type: 'string', default: '3' },
      rounds: { type: 'string', default: '3' },
    },
  });
  const counts = values.threads.split(',').map(Number);
  const data = await makeData(140_000);
  const echo = await startEcho();
  try {
    const file = await writeQueries('blocked', data, 20_000);
    const results = counts.map((): Run[] => []);
    for (let round = 0; round < Number(values.rounds); round++) {
      for (const [at, threads] of counts.entries()) {
        const run = await runOnce(data, echo.port, file, threads, Number(values.seconds));
        results[at]?.push(run);
      }
    }
    const measure = results[0] ?? [];
    for (const [at, threads] of counts.entries()) {
      const own = results[at] ?? [];
      const times = own.map((run, round) => run.qps / (measure[round]?.qps ?? NaN));
      const cpu = own.map((run, round) => {
        return run.cpuUsPerAnswer / (measure[round]?.cpuUsPerAnswer ?? NaN);
      });
      const isShared = threads > cores - 1;
      process.stdout.write(
        `${String(threads)} thread(s) on CPU ${cpusFor(threads)}, generator on ${generatorCpu}: ` +
          `${spread(
            own.map((run) => run.qps),
            0,
          )} QPS, ${spread(times, 2)} times the first; ` +
          `CPU an answer ${spread(cpu, 2)} times the first; ` +
          `busiest thread ${spread(
            own.map((run) => run.unevenness),
            2,
          )} times the idlest\n` +
          (isShared
            ? `  Program and generator share processors: the rate says nothing about scaling here. ` +
              `What does is the processor time an answer: threads that hindered one another ` +
              `would need more.\n`
            : ''),
      );
    }
  } finally {
    await echo.close();
    await data.close();
  }
}

await main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
