/**
 * `npm run bench:forwarded`: distinct names that all go upstream, to an echo in C that takes any
 * load. Prints processor time a forwarded query, which other work on the machine disturbs least,
 * and what was answered, how late, and the anonymous memory afterwards.
 *
 *   --rates A,B      offered queries a second; 0 asks as fast as answers come (default 2500,10000,0)
 *   --seconds N      length of a run (default 4)
 *   --rounds N       runs of each, taken in turn (default 3)
 *   --names N        names in the block list (default 140000)
 *   --program FILE   headless.js of a build; several are compared with the first
 */
import { parseArgs } from 'node:util';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runGenerator } from './generator.ts';
import { usageOf } from './process-usage.ts';
import { startEcho } from './rival-servers.ts';
import { makeData, startProgram, type Data } from './target.ts';

/** Distinct names of one load; more questions than that begin to meet the cache. */
const NAMES_MAX = 300_000;
const CEILING_QPS = 40_000;

interface Run {
  readonly qps: number;
  readonly lost: number;
  readonly p99Us: number;
  readonly cpuUsPerQuery: number;
  readonly anonymousMiB: number;
}

async function writeNames(data: Data, count: number, tag: string): Promise<string> {
  const file = join(data.folder, `forwarded-${tag}.txt`);
  const lines = Array.from({ length: count }, (_, index) => `n${String(index)}.${tag}.example A`);
  await writeFile(file, `${lines.join('\n')}\n`);
  return file;
}

let runs = 0;

async function runOnce(
  data: Data,
  upstreamPort: number,
  program: string | undefined,
  rate: number,
  seconds: number,
): Promise<Run> {
  const wanted = Math.min((rate === 0 ? CEILING_QPS : rate) * seconds, NAMES_MAX);
  const file = await writeNames(data, wanted, `r${String(runs++)}`);
  const options = program === undefined ? {} : { program };
  const target = await startProgram(data, upstreamPort, options);
  try {
    const warm = await writeNames(data, 4_000, `w${String(runs)}`);
    await runGenerator({ port: target.port, file: warm, seconds: 1, rate: 2_000 });
    const before = usageOf(target.pid).cpuSeconds;
    const heard = await runGenerator({ port: target.port, file, seconds, rate });
    const after = usageOf(target.pid);
    return {
      qps: heard.qps,
      lost: heard.lost,
      p99Us: heard.p99,
      cpuUsPerQuery: ((after.cpuSeconds - before) / heard.answered) * 1e6,
      anonymousMiB: after.anonymousBytes / 2 ** 20,
    };
  } finally {
    await target.close();
  }
}

function spread(values: readonly number[], digits = 0): string {
  const sorted = values.toSorted((a, b) => a - b);
  const text = (value = NaN): string => value.toFixed(digits);
  return `${text(sorted[sorted.length >> 1])} [${text(sorted[0])}-${text(sorted.at(-1))}]`;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      rates: { type: 'string', default: '2500,10000,0' },
      seconds: { type: 'string', default: '4' },
      rounds: { type: 'string', default: '3' },
      names: { type: 'string', default: '140000' },
      program: { type: 'string', multiple: true },
    },
  });
  const programs = values.program ?? [undefined];
  const data = await makeData(Number(values.names));
  const echo = await startEcho();
  try {
    for (const rate of values.rates.split(',').map(Number)) {
      const results = programs.map((): Run[] => []);
      for (let round = 0; round < Number(values.rounds); round++) {
        for (const [at, program] of programs.entries()) {
          const run = await runOnce(data, echo.port, program, rate, Number(values.seconds));
          results[at]?.push(run);
        }
      }
      for (const [at, own] of results.entries()) {
        process.stdout.write(
          `${(rate === 0 ? 'ceiling' : `${String(rate)}/s`).padEnd(9)} ` +
            `${(programs[at] ?? 'this build').slice(-40).padEnd(12)} ` +
            `CPU ${spread(
              own.map((run) => run.cpuUsPerQuery),
              1,
            )} µs a query  ` +
            `${spread(own.map((run) => run.qps))} QPS  ` +
            `p99 ${spread(own.map((run) => run.p99Us))} µs  ` +
            `lost ${spread(own.map((run) => run.lost))}  ` +
            `anonymous ${spread(
              own.map((run) => run.anonymousMiB),
              1,
            )} MiB\n`,
        );
      }
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
