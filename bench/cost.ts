/**
 * `npm run bench:cost`: what each kind of answer costs the engine, in time and in garbage. Kinds are
 * run in turn, round after round, so that a slow moment of the machine meets all of them. Bytes are
 * a gate in the suite (test/bench/cost.test.ts); time is information.
 *
 *   --runs N    rounds (default 7, at least 6)
 *   --names N   names in the block list (default 140000)
 *   --out DIR   folder of cost.json (default bench/out; bench/results holds the gate's figures)
 */
import { parseArgs } from 'node:util';
import { measureAllocation } from '../test/support/allocation.ts';
import { makeKinds } from './cost/kinds.ts';
import { spreadOf } from './cost/result.ts';
import type { CostFigure } from './cost/result.ts';
import { writeResult } from './load/result-file.ts';

/** Operations before the first run: the optimising compiler has come by then. */
const WARM_UP = 50_000;
const RUN_MS = 60;
const CHUNK = 512;
const RUNS_MIN = 6;

/** Nanoseconds an operation, over some tens of milliseconds. */
function timeRun(operation: () => void): number {
  let done = 0;
  const startedAt = performance.now();
  let tookMs = 0;
  while (tookMs < RUN_MS) {
    for (let index = 0; index < CHUNK; index++) operation();
    done += CHUNK;
    tookMs = performance.now() - startedAt;
  }
  return (tookMs * 1e6) / done;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      runs: { type: 'string', default: '7' },
      names: { type: 'string', default: '140000' },
      out: { type: 'string', default: 'bench/out' },
    },
  });
  const kinds = await makeKinds(Number(values.names));
  const times = kinds.map((): number[] => []);
  for (const { operation } of kinds) for (let index = 0; index < WARM_UP; index++) operation();
  for (let run = 0; run < Math.max(Number(values.runs), RUNS_MIN); run++) {
    kinds.forEach(({ operation }, at) => times[at]?.push(timeRun(operation)));
  }
  const figures: CostFigure[] = [];
  for (const [at, { title, operation }] of kinds.entries()) {
    const nanoseconds = spreadOf(times[at] ?? []);
    const { bytesPerCall } = await measureAllocation(operation);
    const bytes = Math.round(bytesPerCall * 10) / 10;
    figures.push({ title, nanoseconds, bytes });
    const { median, low, high } = nanoseconds;
    process.stdout.write(
      `${title.padEnd(24)} ${median.toFixed(0).padStart(7)} ns ` +
        `[${low.toFixed(0)}-${high.toFixed(0)}]`.padEnd(16) +
        `${bytes.toFixed(1).padStart(8)} bytes\n`,
    );
  }
  const body = { names: Number(values.names), kinds: figures };
  process.stdout.write(`written: ${writeResult(values.out, 'cost', 'npm run bench:cost', body)}\n`);
}

await main();
