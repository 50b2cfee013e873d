/**
 * The kill test: proves that a machine gets its DNS back whatever dies. `node bench/kill/kill.ts
 * [--runs N] [--seed S] [--owner FLAVOUR] [--out FOLDER]`; needs root, and downloads the owners'
 * packages once.
 *
 * Every flavour gets its share of the runs in a sandbox of its own; the seed is printed first.
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build, isBuilt } from '../../tools/build.ts';
import { FLAVOURS, type Flavour } from '../../test/system-dns/support/machine.ts';
import { ownerBinaries } from '../../test/system-dns/support/owner-binaries.ts';
import { missingForSandbox, Sandbox } from '../../test/system-dns/support/sandbox.ts';
import { writeResult } from '../load/result-file.ts';
import type { RunResult } from './inside.ts';
import { summarise } from './outcome.ts';

const INSIDE = fileURLToPath(new URL('./inside.ts', import.meta.url));
const LANES = 2;

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '210' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    owner: { type: 'string' },
    out: { type: 'string' },
  },
});

async function runFlavour(flavour: Flavour, seed: number, count: number): Promise<RunResult[]> {
  const binaries = ownerBinaries();
  const layer = flavour === 'resolvconf' ? binaries.openresolv : binaries.services;
  const sandbox = await Sandbox.open(layer, true);
  try {
    const words = [process.execPath, INSIDE, flavour, sandbox.folder, String(seed), String(count)];
    const child = spawn('nsenter', sandbox.enter(words), { stdio: ['ignore', 'pipe', 'inherit'] });
    const results: RunResult[] = [];
    for await (const line of createInterface({ input: child.stdout })) {
      const result = JSON.parse(line, (key, value: unknown) =>
        key === 'resolvedMs' && value === null ? Infinity : value,
      ) as RunResult;
      results.push(result);
      const mark = result.failure === '' ? 'ok  ' : 'FAIL';
      const { victim, moment, by, resolvedMs, restoredMs, failure } = result;
      const times = `${String(resolvedMs)} ms, ${String(restoredMs ?? '-')} ms`;
      const text = `${mark} ${flavour} | ${victim} | ${moment} | ${by} | ${times}`;
      process.stdout.write(`${text} ${failure}\n`);
    }
    return results;
  } finally {
    await sandbox.close();
  }
}

const missing = missingForSandbox();
if (missing !== false) {
  process.stderr.write(`the kill test ${missing}\n`);
  process.exit(2);
}
if (!(await isBuilt())) await build((line) => process.stderr.write(`${line}\n`));
const flavours = FLAVOURS.filter((one) => values.owner === undefined || one === values.owner);
const seed = Number(values.seed);
const share = Math.ceil(Number(values.runs) / flavours.length);
process.stdout.write(
  `seed ${String(seed)}, ${String(share)} runs for each of ${flavours.join(', ')}\n`,
);
const results: RunResult[] = [];
const queue = flavours.map((flavour, index) => ({ flavour, seed: seed + index }));
await Promise.all(
  Array.from({ length: LANES }, async () => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      results.push(...(await runFlavour(next.flavour, next.seed, share)));
    }
  }),
);
const outcome = summarise(results, seed);
const { runs, failed, resolvedMsMost, restoredMsMost, nextStartMsMost } = outcome;
process.stdout.write(
  `${String(runs)} runs, ${String(failed)} failed; names found again after at most ` +
    `${String(resolvedMsMost)} ms, all as before after at most ${String(restoredMsMost)} ms, by the ` +
    `next start ${String(nextStartMsMost)} ms; seed ${String(seed)}\n`,
);
if (values.out !== undefined) {
  const path = writeResult(values.out, 'kill', 'npm run bench:kill', outcome);
  process.stdout.write(`written: ${path}\n`);
}
process.exit(failed === 0 && runs > 0 ? 0 : 1);
