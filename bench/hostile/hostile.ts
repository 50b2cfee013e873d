/**
 * `npm run test:hostile`: puts the built program in front of kills, damaged files, few handles,
 * little memory, hostile servers and hostile files, and writes bench/results/hostile.json.
 *
 *     npm run test:hostile -- [--seed N] [--part NAME]... [--short] [--out FOLDER]
 */
import { parseArgs } from 'node:util';
import { writeResult } from '../load/result-file.ts';
import { runParts } from './run-parts.ts';

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    part: { type: 'string', multiple: true },
    short: { type: 'boolean', default: false },
    out: { type: 'string', default: 'bench/out' },
  },
});
const seed = Number(values.seed);
const say = (line: string): void => console.log(line);
say(`seed ${String(seed)}`);
const parts = await runParts({ seed, isShort: values.short, only: values.part ?? [], say });
const failed = parts.reduce((sum, part) => sum + part.failed, 0);
say(writeResult(values.out, 'hostile', 'npm run test:hostile', { seed, parts, failed }));
say(failed === 0 ? 'all passed' : `${String(failed)} FAILED`);
process.exitCode = failed === 0 ? 0 : 1;
