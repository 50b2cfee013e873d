/**
 * `npm run bench`: runs the micro benches, one after another, each in a process of its own so that
 * none warms up or clutters another. Arguments choose files by a part of their name.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const folder = join(import.meta.dirname, 'micro');
const parts = process.argv.slice(2);
const files = readdirSync(folder)
  .filter((name) => name.endsWith('.bench.ts'))
  .filter((name) => parts.length === 0 || parts.some((part) => name.includes(part)))
  .sort();
if (files.length === 0) {
  process.stderr.write(`no bench in bench/micro matches ${parts.join(' ')}\n`);
  process.exitCode = 1;
}
for (const file of files) {
  process.stdout.write(`\n${file}\n`);
  const run = spawnSync(process.execPath, ['--expose-gc', join(folder, file)], {
    stdio: 'inherit',
  });
  if (run.status !== 0) process.exitCode = 1;
}
