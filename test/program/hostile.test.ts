/** The hostile test in its short form: a few cases of each part. All of it: npm run test:hostile. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { PARTS, runParts } from '../../bench/hostile/run-parts.ts';
import { BUILT_PROGRAM } from '../support/running-program.ts';
import { missingTools } from '../support/tools.ts';

const seed = Number(process.env['SLUICE_SEED'] ?? Date.now() % 1_000_000);
const isLinux = process.platform === 'linux';

/** What a part needs; for node:test's `skip`. */
function missing(part: string): string | false {
  if (!isLinux) return 'needs Linux: limits are set by its tools';
  if (!existsSync(BUILT_PROGRAM)) return 'needs the built program; run: npm run build';
  if (part === 'little memory' && process.getuid?.() !== 0) return 'needs root: a control group';
  return missingTools('prlimit', 'setpriv');
}

for (const { name, criterion } of PARTS) {
  test(`${name}: ${criterion}`, { skip: missing(name) }, async (t) => {
    t.diagnostic(`SLUICE_SEED=${String(seed)}`);
    const say = (line: string): void => t.diagnostic(line);
    const [part] = await runParts({ seed, isShort: true, only: [name], say });
    const failures = (part?.cases ?? []).filter(({ failure }) => failure !== '');
    assert.deepEqual(
      failures.map((one) => `${one.name}: ${one.failure}`),
      [],
    );
  });
}
