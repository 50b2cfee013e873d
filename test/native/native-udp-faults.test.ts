/** A socket that is full or broken: nothing is lost when it is full, losses are counted. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { buildSanitized, missingForSanitizer, runSanitized } from './sanitized-build.ts';

interface Totals {
  readonly asked: number;
  readonly heard: number;
  readonly failed: number;
}

describe('native UDP with a faulty sendmmsg', { skip: missingForSanitizer() }, () => {
  let folder = '';
  let addon = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-sanitized-'));
    addon = await buildSanitized(folder);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  for (const kind of ['at-once', 'later'] as const) {
    test(`a full socket delays answers given ${kind}, and loses none`, async () => {
      const result = await runSanitized(addon, 'full', 'faults-run.ts', [kind]);
      assert.equal(result.code, 0, result.stderr);
      const totals = JSON.parse(result.stdout) as Totals;
      assert.deepEqual(totals, { asked: totals.asked, heard: totals.asked, failed: 0 });
    });

    test(`every answer given ${kind} that a broken socket drops is counted`, async () => {
      const result = await runSanitized(addon, 'drop', 'faults-run.ts', [kind]);
      assert.equal(result.code, 0, result.stderr);
      const { asked, heard, failed } = JSON.parse(result.stdout) as Totals;
      assert.equal(heard + failed, asked);
      assert.ok(failed > 0);
    });
  }
});
