/**
 * Fuzzes the UDP add-on under AddressSanitizer and UBSan, in a child process: see
 * test/native/fuzz-run.ts and client-fuzz-run.ts for what it does. FUZZ_SECONDS lengthens each run, FUZZ_SEED repeats one.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  buildSanitized,
  missingForSanitizer,
  runSanitized,
  type Faults,
} from '../native/sanitized-build.ts';

const SECONDS = process.env['FUZZ_SECONDS'] ?? '4';
const SEED = Number(process.env['FUZZ_SEED'] ?? Math.trunc(Math.random() * 2 ** 31) + 1);

describe('native UDP under sanitizers', { skip: missingForSanitizer() }, () => {
  let folder = '';
  let addon = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-sanitized-'));
    addon = await buildSanitized(folder);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  for (const [index, faults] of (['off', 'full', 'drop'] as Faults[]).entries()) {
    test(`random use with sendmmsg faults: ${faults}`, async (t) => {
      const seed = String(SEED + index);
      t.diagnostic(`FUZZ_SEED=${seed}`);
      const result = await runSanitized(addon, faults, 'fuzz-run.ts', [seed, SECONDS]);
      const text = `seed ${seed}: exit ${String(result.code ?? result.signal)}\n${result.stderr}`;
      assert.equal(result.code, 0, text);
      assert.doesNotMatch(result.stderr, /AddressSanitizer|runtime error/, text);
      const totals = JSON.parse(result.stdout.slice(3)) as Record<string, number>;
      t.diagnostic(JSON.stringify(totals));
      for (const name of ['sent', 'heard', 'exceptions', 'ended', 'opened']) {
        assert.ok((totals[name] as number) > 0, `${name} is 0: ${result.stdout}`);
      }
    });

    test(`random use of client sockets with sendmmsg faults: ${faults}`, async (t) => {
      const seed = String(SEED + 100 + index);
      t.diagnostic(`FUZZ_SEED=${seed}`);
      const result = await runSanitized(addon, faults, 'client-fuzz-run.ts', [seed, SECONDS]);
      const text = `seed ${seed}: exit ${String(result.code ?? result.signal)}\n${result.stderr}`;
      assert.equal(result.code, 0, text);
      assert.doesNotMatch(result.stderr, /AddressSanitizer|runtime error/, text);
      const totals = JSON.parse(result.stdout.slice(3)) as Record<string, number>;
      t.diagnostic(JSON.stringify(totals));
      for (const name of ['opened', 'sent', 'heard', 'broken', 'nonsense', 'ended']) {
        assert.ok((totals[name] as number) > 0, `${name} is 0: ${result.stdout}`);
      }
    });
  }
});
