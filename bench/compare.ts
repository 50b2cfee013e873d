/**
 * `node bench/compare.ts BEFORE.json AFTER.json`: two results of `npm run bench:cost` side by side,
 * as ratios. A difference within the spread of the runs is called noise.
 */
import { readFileSync } from 'node:fs';
import { compareCosts } from './cost/result.ts';
import type { CostResult } from './cost/result.ts';

const [before, after] = process.argv.slice(2);
if (before === undefined || after === undefined) {
  process.stderr.write('usage: node bench/compare.ts BEFORE.json AFTER.json\n');
  process.exit(2);
}
const read = (file: string): CostResult => JSON.parse(readFileSync(file, 'utf8')) as CostResult;
for (const { title, ratio, isNoise, bytes } of compareCosts(read(before), read(after))) {
  const verdict = isNoise ? 'noise' : ratio.median < 1 ? 'faster' : 'slower';
  const garbage = bytes === 0 ? 'same bytes' : `${bytes > 0 ? '+' : ''}${bytes.toFixed(1)} bytes`;
  process.stdout.write(
    `${title.padEnd(24)} ${ratio.median.toFixed(2)} ` +
      `[${ratio.low.toFixed(2)}-${ratio.high.toFixed(2)}] ${verdict.padEnd(7)} ${garbage}\n`,
  );
}
